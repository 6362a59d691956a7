"""MCP servers as a source of tools: connections, requests, and what servers send back."""
