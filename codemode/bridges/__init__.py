"""Tools that live elsewhere: MCP servers, and how programs see them.

`mcp_*.py` alone talk to the MCP SDK, and load it with the first connection: an engine without MCP never does,
and loads little of this package either. So nothing is imported here.
"""
