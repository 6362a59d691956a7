// expect: completed [true, true, true, true, true, true, true]
return [tools.call, tools.echo, text, json, API.list, MCP.$api, setTimeout].map(Object.isFrozen);
