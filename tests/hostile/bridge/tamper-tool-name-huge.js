// expect: completed null
return tools["x".repeat(1e6)] ?? null;
