"""An MCP server that tells in which trace it was called: `traceparent` of the request's `_meta`."""

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("meta")


@server.tool(structured_output=False)
def whence(context: Context) -> str:
    """The caller's span."""
    meta = context.request_context.meta or {}
    return str(meta.get("traceparent", "nowhere"))


@server.tool(structured_output=False)
def fail(secret: str) -> str:
    """Always fails, with what it was given."""
    raise ToolError(f"cannot use {secret}")


if __name__ == "__main__":
    server.run("stdio")
