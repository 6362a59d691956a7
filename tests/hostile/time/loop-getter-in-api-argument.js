// expect: failed timeout
// with: timeoutMs=100
return await MCP.$api({ get schema() { for (;;); } });
