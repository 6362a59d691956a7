// expect: completed []
return [tools, MCP, API, namespaces, text, tools.echo, ALL_TOOLS].flatMap((o) => Object.getOwnPropertySymbols(o)).map(String);
