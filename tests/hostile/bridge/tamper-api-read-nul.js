// expect: completed "TypeError"
return await API.read("mcp/index.d.ts\0").catch((e) => e.name);
