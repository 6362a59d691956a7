"""The engine as an MCP server, over standard input and output or HTTP."""
