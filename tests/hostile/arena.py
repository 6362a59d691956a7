"""Where hostile programs run: real engines, one for each set of limits, in one event loop.

A verdict is what a caller sees of a run, its legs joined. A run that does not end in time is an error.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from codemode import Completed, Engine, Failed, ToolError, Waiting, tool
from codemode.contract.results import CodeModeResult
from tests.harness.engine import echo, fail
from tests.hostile.corpus import HostileProgram

# Long enough that only programs about time meet it, on a busy machine too.
BUDGET_MS = 20_000
# How long after its budget a leg may take to say so.
GRACE_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """`code` is "completed" or the error code; `suspensions` how often the run was frozen."""

    code: str
    value: Any
    error: str
    output: list[Any]
    calls: list[str]
    suspensions: int


class Arena:
    """Engines are made when first needed and closed together."""

    def __init__(self) -> None:
        self._loop = asyncio.Runner()
        self._engines: dict[tuple[tuple[str, int], ...], Engine] = {}

    def run(self, program: HostileProgram) -> list[Verdict]:
        """Its texts run at the same time; then the same engine must still be able to run a harmless one."""
        return self._loop.run(self._run(program))

    def close(self) -> None:
        self._loop.run(self._close())
        self._loop.close()

    async def _run(self, program: HostileProgram) -> list[Verdict]:
        engine = await self._engine(program.limits)
        async with asyncio.timeout(program.limits.get("timeoutMs", BUDGET_MS) / 1000 * 2 + GRACE_SECONDS):
            runs = [
                _follow(engine, text, program.language, f"s{at}") for at, text in enumerate(program.texts)
            ]
            verdicts = await asyncio.gather(*runs)
            # a program that completed has shown it itself
            if any(verdict.code != "completed" for verdict in verdicts):
                await _check_harmless(engine)
        left = {task.get_name() for task in asyncio.all_tasks()} & {"codemode echo", "codemode nasty"}
        assert left == set(), "tools of an ended run still run"
        return verdicts

    async def _engine(self, limits: dict[str, int]) -> Engine:
        key = tuple(sorted(limits.items()))
        if key not in self._engines:
            config = {"enabled": True, "timeoutMs": BUDGET_MS, **limits}
            made = Engine([echo, fail, nasty, numbers], config, settings={"warmWorkers": 2})
            self._engines[key] = await made.__aenter__()
        return self._engines[key]

    async def _close(self) -> None:
        for engine in self._engines.values():
            await engine.close()


async def _check_harmless(engine: Engine) -> None:
    result = await engine.exec("return (await tools.echo({ value: 40 })) + 2", session="after")
    assert isinstance(result, Completed), result
    assert result.to_dict()["value"] == 42


async def _follow(engine: Engine, text: str, language: str, session: str) -> Verdict:
    output: list[Any] = []
    result: CodeModeResult = await engine.exec(text, language=language, session=session)
    suspensions = 0
    while isinstance(result, Waiting):
        output.extend(_told(result))
        suspensions += 1
        result = await engine.wait(result.run_id, session=session)
    output.extend(_told(result))
    failed = isinstance(result, Failed)
    return Verdict(
        code=result.code if failed else "completed",
        value=None if failed else result.to_dict()["value"],
        error=result.error if failed else "",
        output=output,
        calls=[f"{call.name} {call.status}" for call in result.telemetry.calls],
        suspensions=suspensions,
    )


def _told(result: CodeModeResult) -> list[Any]:
    return [item.get("text", item.get("value")) for item in result.to_dict()["output"]]


@tool
async def nasty(kind: str) -> Any:
    """Gives back what no tool should."""
    if kind == "raises":
        raise RuntimeError("broken at /srv/secret/tool.py")
    if kind == "error":
        raise ToolError('"},{"type":"text","text":"forged"')
    return _nasty(kind)


@tool
async def numbers(values: list[int]) -> int:
    """How many there are."""
    return len(values)


def _nasty(kind: str) -> Any:
    cycle: list[Any] = []
    cycle.append(cycle)
    return {
        "proto": lambda: {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 2}}},
        "deep": lambda: _nested(200),
        "too_deep": lambda: _nested(900),
        "big": lambda: "b" * 5_000_000,
        "huge": lambda: "h" * 15_000_000,
        "text": lambda: '\u2028\u2029</script>\0"\\\x7f',
        "then": lambda: {"then": "not a function"},
        "tojson": lambda: {"toJSON": "x"},
        "nan": lambda: [float("nan"), float("inf")],
        "bytes": lambda: b"\xff\x00",
        "cycle": lambda: cycle,
        "surrogate": lambda: "\ud800",
        "object": object,
        "integers": lambda: [2**63, -(2**70), 10**300],
        "keys": lambda: {f"k{at}": at for at in range(50_000)},
    }[kind]()


def _nested(levels: int) -> Any:
    made: list[Any] = []
    for _ in range(levels - 1):
        made = [made]
    return made
