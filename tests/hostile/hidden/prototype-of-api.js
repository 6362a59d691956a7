// expect: completed [null, null, null, null]
return [tools, MCP, API, namespaces].map((o) => Object.getPrototypeOf(o));
