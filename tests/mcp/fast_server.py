"""An MCP server made with the SDK's own framework, for tests: `fast_server.py [port]`, else stdio.

`hold` waits for a file to appear: the test decides when a slow call is done.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import Context, Elicit, ElicitationResult, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer("fast")


class Point(BaseModel):
    x: float
    y: float
    kind: Literal["plain", "marked"] = "plain"


class Consent(BaseModel):
    sure: bool


@server.tool()
def add(a: int, b: Annotated[int, Field(description="The other one. */ return 1")] = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def make_point(x: float, y: float, tags: list[Literal["a", "b"]] | None = None) -> Point:
    """A result with a declared type."""
    return Point(x=x, y=y, kind="marked" if tags else "plain")


@server.tool(structured_output=False)
def plain(text: str) -> str:
    """A result without one."""
    return text


@server.tool()
def fail(message: str) -> str:
    """Always fails."""
    raise ToolError(message)


@server.tool(structured_output=False)
async def hold(path: str) -> str:
    """Returns when the file is there."""
    return await _held(path)


@server.tool(structured_output=False, annotations=ToolAnnotations(idempotent_hint=True))
async def hold_again(path: str) -> str:
    """The same, and may run twice."""
    return await _held(path)


async def _held(path: str) -> str:
    Path(f"{path}.asked").touch()  # noqa: ASYNC240 - a test's own small files
    while not Path(path).exists():  # noqa: ASYNC110, ASYNC240 - likewise: what is waited for is a file
        await asyncio.sleep(0.005)
    return Path(path).read_text()  # noqa: ASYNC240 - likewise


@server.tool()
async def count(to: int, context: Context) -> int:
    """Reports progress."""
    for step in range(to):
        await context.report_progress(step + 1, to, f"step {step + 1}")
    return to


def ask_consent(what: str) -> Elicit[Consent]:
    return Elicit(f"Delete {what}?", Consent)


@server.tool()
def delete(what: str, consent: Annotated[ElicitationResult[Consent], Resolve(ask_consent)]) -> str:
    """Asks before it does it."""
    return f"{what}: {consent.action}"


@server.tool()
async def grow(name: str, context: Context) -> str:
    """One tool more."""
    server.add_tool(lambda: name, name=name, description="A new one.")
    await context.notify_tools_changed()
    await context.session.send_tool_list_changed()
    return name


@server.tool(structured_output=False)
def environment() -> str:
    """The names of its environment variables."""
    return " ".join(sorted(os.environ))


@server.resource("memo://one")
def memo() -> str:
    return "the first memo"


@server.prompt()
def greet(name: str) -> str:
    """Says hello."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run("stdio")
