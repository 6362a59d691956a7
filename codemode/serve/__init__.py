"""Offers the engine to other programs: as an MCP server with `exec` and `wait`, or over JSON-RPC."""
