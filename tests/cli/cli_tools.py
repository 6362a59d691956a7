"""Tools for the command line's tests, loaded by it with `--tools`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from codemode import CallContext, ToolError, tool


@tool
async def echo(value: Any = None) -> Any:
    """Gives back what it gets."""
    return value


@tool
def shout(text: str) -> str:
    """Prints, which is no output of a program."""
    print("a tool printed this")
    return text.upper()


@tool
async def fail(message: str = "refused") -> None:
    """Always fails."""
    raise ToolError(message)


@tool(requires_approval=True)
async def pay(amount: int) -> str:
    """Pays, if somebody says yes."""
    return f"paid {amount}"


@tool(idempotent=True)
async def until_there(path: str, context: CallContext) -> str:
    """Waits for a file."""
    context.update({"waits for": Path(path).name})
    while not await asyncio.to_thread(Path(path).exists):  # noqa: ASYNC110 - a file is no event
        await asyncio.sleep(0.005)
    return "there"


tools = [echo, shout, fail, pay, until_there]
no_tool = 7
