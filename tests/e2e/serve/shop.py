"""Tools for served engines. What they print must not reach stdout, which belongs to the protocol."""

import asyncio
import os
import subprocess
from pathlib import Path

from codemode import tool

print("the module of the tools is loaded")


@tool(requires_approval=True)
async def pay(amount: int) -> str:
    """Pays."""
    return f"paid {amount}"


@tool
async def shout(text: str) -> str:
    """Prints in every way there is."""
    print(text, flush=True)
    os.write(1, text.encode())
    subprocess.run(["echo", text], check=True)  # noqa: ASYNC221 - a moment
    return text.upper()


@tool
async def hold(path: str) -> str:
    """Waits for a file; says in files beside it that it was asked, and that it was cancelled."""
    Path(f"{path}.asked").touch()  # noqa: ASYNC240 - a test's own small files
    try:
        while not Path(path).exists():  # noqa: ASYNC110, ASYNC240 - likewise: what is waited for is a file
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        Path(f"{path}.cancelled").touch()  # noqa: ASYNC240 - likewise
        raise
    return Path(path).read_text()  # noqa: ASYNC240 - likewise
