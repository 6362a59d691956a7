"""Turns HTML into Markdown in a process of its own: pages are hostile, and reading one may take for ever.

The process is page_program.py; it is killed at its deadline, and bounds its own memory.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from codemode.tools import ToolError

_SECONDS = 10.0
_PROGRAM = str(Path(__file__).with_name("page_program.py"))


async def as_markdown(html: str, url: str) -> tuple[str, str]:
    """The title and the Markdown, with whole links. Raises ToolError for a page that cannot be read."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        _PROGRAM,
        url,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(_SECONDS):
            said, _ = await process.communicate(html.encode("utf-8", "replace"))
        title, text = json.loads(said)
    except (TimeoutError, ValueError):
        raise ToolError(
            'The page cannot be turned into Markdown; ask for it with format: "raw".', code="not_text"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return str(title), str(text)
