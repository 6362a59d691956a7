"""A real engine for tests, with tools that the test settles itself.

A `Desk` holds calls until the test answers them, and remembers what was asked and cancelled: in which order
things happen is decided by the test and not by a clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from codemode import Completed, Engine, Failed, ToolError, Waiting, tool
from codemode.contract.error_codes import ErrorCode
from codemode.contract.results import CodeModeResult, JsonOutput, Output, TextOutput
from codemode.tools import Tool
from tests.harness.loops import until


@dataclass
class Desk:
    """`await tools.hold({name})` waits here until `answer` or `fail`."""

    started: list[str] = field(default_factory=list[str])
    cancelled: list[str] = field(default_factory=list[str])
    joined: list[str] = field(default_factory=list[str])  # those of `cancelled` that had time to clean up
    held: dict[str, asyncio.Future[Any]] = field(default_factory=dict[str, "asyncio.Future[Any]"])

    @property
    def tools(self) -> tuple[Tool, ...]:
        @tool
        async def hold(name: str) -> Any:
            """Waits until somebody answers."""
            return await self._hold(name)

        @tool(idempotent=True)
        async def hold_again(name: str) -> Any:
            """The same, and may run twice."""
            return await self._hold(name)

        return (hold, hold_again, echo, fail, pay)

    async def _hold(self, name: str) -> Any:
        self.started.append(name)
        self.held[name] = asyncio.get_running_loop().create_future()
        try:
            return await self.held[name]
        except asyncio.CancelledError:
            self.cancelled.append(name)
            await asyncio.sleep(0)  # cleaning up takes a turn of the loop: whoever cancels has to wait for it
            self.joined.append(name)
            raise

    async def asked(self, *names: str) -> None:
        """Returns when calls with these names are held."""
        await until(lambda: all(name in self.started for name in names))

    def answer(self, name: str, value: Any = None) -> None:
        self.held[name].set_result(name if value is None else value)

    def fail(self, name: str, message: str) -> None:
        self.held[name].set_exception(ToolError(message))


@tool
async def echo(value: Any = None) -> Any:
    """Gives back what it gets."""
    return value


@tool
async def fail(message: str = "refused") -> None:
    """Always fails."""
    raise ToolError(message, data={"asked": message})


@tool(requires_approval=True)
async def pay(amount: int) -> str:
    """Pays, if somebody says yes."""
    return f"paid {amount}"


@asynccontextmanager
async def engine(
    tools: Iterable[Any] | None = None,
    config: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    **options: Any,
) -> AsyncGenerator[Engine]:
    """Enabled, one worker warm; long enough a budget that only tests about time meet it."""
    given = {"enabled": True, "timeoutMs": 20_000, **(config or {})}
    offered = (echo, fail, pay) if tools is None else tools
    async with Engine(offered, given, settings={"warmWorkers": 1, **(settings or {})}, **options) as made:
        yield made


async def slept(made: Engine, ms: int) -> None:
    """Returns when a program has slept so long: timers set before, and due before, have rung."""
    result = await made.exec(f"await new Promise((wake) => setTimeout(wake, {ms}))", session="sleeper")
    while isinstance(result, Waiting):
        result = await made.wait(result.run_id, session="sleeper")
    assert value_of(result) is None


def value_of(result: CodeModeResult) -> Any:
    assert isinstance(result, Completed), result
    return result.value


def failure_of(result: CodeModeResult, code: ErrorCode) -> Failed:
    assert isinstance(result, Failed), result
    assert result.code == code, result
    return result


def waiting(result: CodeModeResult, reason: str | None = None) -> Waiting:
    assert isinstance(result, Waiting), result
    assert reason in (None, result.reason), result
    return result


def texts(result: CodeModeResult) -> list[Any]:
    """Output in short: the text, the value of what came through json(), the item itself of other content."""
    return [shown(item) for item in result.output]


def shown(item: Output) -> Any:
    match item:
        case TextOutput(text):
            return text
        case JsonOutput():
            return item.value
        case _:
            return item


def statuses(result: CodeModeResult) -> list[tuple[str, str]]:
    """The ledger in short."""
    return [(call.name, call.status) for call in result.telemetry.calls]
