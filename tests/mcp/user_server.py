"""An MCP server that many users share, for tests: `user_server.py [port]`, else stdio.

It repeats the secret that it is given, as careless servers do: in results, in errors and on stderr.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("users")


def secret_of(context: Context) -> str:
    request: Any = context.request_context.request
    return (
        os.environ.get("USER_KEY", "none")
        if request is None
        else request.headers.get("authorization", "none")
    )


@server.tool(structured_output=False)
async def whoami(context: Context) -> str:
    """Says who calls, and with what."""
    said = f"pid {os.getpid()} has {secret_of(context)}"
    print(said, file=sys.stderr, flush=True)
    return said


@server.tool(structured_output=False)
async def refuse(context: Context) -> str:
    """Fails, and says with what."""
    raise ToolError(f"not with {secret_of(context)}")


def pays(words: str) -> Callable[[str], str]:
    def pay(amount: str) -> str:
        return f"{words} {amount}"

    return pay


@server.tool()
async def redefine(words: str, context: Context) -> str:
    """Describes `pay` otherwise from now on."""
    server.remove_tool("pay")
    server.add_tool(pays(words), name="pay", description=words)
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return words


server.add_tool(pays("paid"), name="pay", description="Pays.")

if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
