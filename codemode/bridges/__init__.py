"""Tools that live elsewhere: MCP servers, and how programs see them.

`mcp_*.py` alone talk to the MCP SDK, and load it with the first connection: an engine without MCP never does.
"""

from codemode.bridges.library import Library
from codemode.bridges.mcp_bridge import McpBridge
from codemode.bridges.questions import Questions, is_question
from codemode.bridges.servers import Server, read_servers

__all__ = ["Library", "McpBridge", "Questions", "Server", "is_question", "read_servers"]
