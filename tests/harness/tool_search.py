"""A scripted model before Tool Search: it sees what a provider would send, and calls what it was shown.

`reach` does what a model does in each mode to get from a wish to a tool, with names and ids taken from what
it was told, and never from what the test knows.
"""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from codemode_runtime import native

from codemode import Engine
from codemode.executor import AfterToolCall, BeforeToolCall
from codemode.surface import render_tools
from codemode.tool_search import Answer, PreparedSearch
from codemode.tools import CallContext, Tool, ToolHints
from codemode.tools.definition import Source
from tests.harness.tool_samples import takes

MODES = ("code", "tools", "directory")


@dataclass
class Log:
    """Tools that remember their calls, and hooks that remember what they saw."""

    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list[tuple[str, dict[str, Any]]])
    contexts: list[CallContext] = field(default_factory=list[CallContext])
    before: list[tuple[str, str, dict[str, Any]]] = field(
        default_factory=list[tuple[str, str, dict[str, Any]]]
    )
    after: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def tool(
        self,
        name: str,
        description: str = "",
        *,
        source: Source = "plugin",
        owner: str = "acme",
        hints: ToolHints | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> Tool:
        async def work(arguments: dict[str, Any], context: CallContext) -> Any:
            self.ran.append((name, arguments))
            self.contexts.append(context)
            return {"did": name, **arguments}

        return Tool(
            name,
            description or f"Does {name}.",
            parameters or takes("subject", count={"type": "integer"}),
            work,
            source=source,
            owner="core" if source == "openclaw" else owner,
            hints=hints or ToolHints(),
        )

    def before_tool_call(self, event: BeforeToolCall) -> None:
        if event.tool_kind == "tool":
            self.before.append((event.tool, event.tool_id, event.arguments))

    def after_tool_call(self, event: AfterToolCall) -> None:
        if event.tool_kind == "tool":
            self.after.append((event.tool, event.result.status))


def catalog_of_300(log: Log) -> list[Tool]:
    """Descriptions and schemas of the size that tools have."""
    verbs = ("create", "list", "update", "delete", "archive", "export")
    things = [f"record_{number:02}" for number in range(50)]
    return [
        log.tool(
            f"{verb}_{thing}",
            f"Use this to {verb} one {thing.replace('_', ' ')} of the account that the user is signed in to.",
            source=("plugin", "mcp")[at % 2],
            owner="crm" if at % 2 == 0 else "github",
        )
        for at, (verb, thing) in enumerate((verb, thing) for verb in verbs for thing in things)
    ]


def damage_runtime(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on zygotes find a guest image that has a wrong byte, and no machine code of a sound one."""
    copy = folder / "image"
    shutil.copytree(native.FOLDER, copy)
    image = copy / "guest.wasm"
    data = bytearray(image.read_bytes())
    data[len(data) // 2] ^= 1
    image.write_bytes(data)
    monkeypatch.setattr(native, "FOLDER", copy)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))


def lose_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no zygote can be started."""
    monkeypatch.setattr(native, "FOLDER", Path("/nowhere"))


def payload(prepared: PreparedSearch) -> dict[str, Any]:
    """What goes to a provider."""
    messages = [{"role": "system", "content": prepared.directory}] if prepared.directory else []
    return {"messages": messages, "tools": render_tools(prepared.visible, "openai")}


async def reach(prepared: PreparedSearch, wish: str, arguments: dict[str, Any]) -> Answer:
    """From a wish to the tool, in the way of the mode that is in force."""
    match prepared.mode:
        case None:
            named = [tool.name for tool in prepared.visible if wish.replace(" ", "_") == tool.name]
            return await prepared.call(named[0], arguments)
        case "tools":
            found = (await prepared.call("tool_search", {"query": wish, "limit": 3})).value
            described = (await prepared.call("tool_describe", {"id": found[0]["id"]})).value
            return await prepared.call("tool_call", {"id": described["id"], "args": arguments})
        case "directory":
            line = next(line for line in prepared.directory.splitlines() if wish.replace(" ", "_") in line)
            return await prepared.call(line.removeprefix("- ").partition(":")[0], arguments)
        case "code":
            program = (
                f"const [hit] = await openclaw.tools.search({wish!r}, {{ limit: 3 }});\n"
                "const tool = await openclaw.tools.describe(hit.id);\n"
                f"return await openclaw.tools.call(tool.id, {arguments!r});"
            )
            return await prepared.call("tool_search_code", {"code": program})


async def end_by(how: str, engine: Engine, running: asyncio.Task[Any]) -> Any:
    """Ends what runs for session s1 from outside, and the engine with it; what its caller gets."""
    match how:
        case "close":
            await engine.close()
        case "abort_session":
            assert await engine.abort_session("s1") == 1
        case _:
            running.cancel()
    [answer] = await asyncio.gather(running, return_exceptions=True)
    await engine.close()
    return answer


async def call(prepared: PreparedSearch, target: str, arguments: dict[str, Any] | None = None) -> Answer:
    """A tool by name or id, in the way of the mode."""
    if prepared.mode == "code":
        program = f"return await openclaw.tools.call({target!r}, {arguments or {}!r})"
        return await prepared.call("tool_search_code", {"code": program})
    return await prepared.call("tool_call", {"id": target, "args": arguments or {}})


def told(answer: Answer) -> str:
    """What the model reads, whatever the mode adds to it."""
    assert answer.error is not None, answer
    return answer.error.message
