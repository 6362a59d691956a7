// expect: completed true
return Array.isArray(await tools.search("echo ".repeat(20000)));
