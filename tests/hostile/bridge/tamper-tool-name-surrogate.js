// expect: completed null
return tools["\ud800"] ?? null;
