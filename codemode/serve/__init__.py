"""The engine for other programs: as an MCP server with `exec` and `wait`, and as a backend over JSON-RPC."""
