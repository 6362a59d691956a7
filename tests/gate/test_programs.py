"""Programs that attack the host's loop and memory: no turn is long, memory has a bound, and a neighbour's
runs are right."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from codemode import BeforeToolCall, Completed, Engine, tool
from tests.harness.engine import value_of
from tests.harness.loop_meter import MOST_UNITS, LoopMeter, measured

_MANY = 10_000


@tool
async def anything(a: Any = None) -> int:
    """Takes anything."""
    return 1


@tool(requires_approval=True)
async def approved(a: Any = None) -> int:
    """Takes anything, if somebody says yes."""
    return 1


@tool
async def strict(a: int) -> int:
    """Takes a number."""
    return a


@dataclass
class Point:
    x: int = 0


@tool
async def closed(a: Point) -> int:
    """Takes a point."""
    return a.x


KEYS = "const a = {{}}; for (let i = 0; i < {}; i++) a['k' + i] = i;"
LISTS = "const a = new Array(249e3).fill([]);"
PROGRAMS = {
    "lists": f"{LISTS} for (;;) await Promise.all(Array.from({{length: 16}}, () => tools.anything({{ a }})))",
    "lists to nobody": f"{LISTS} for (;;) await Promise.allSettled(Array.from({{length: 16}},"
    " () => tools.call('nobody', { a })))",
    "lists to a search": f"{LISTS} for (;;) await Promise.allSettled(Array.from({{length: 16}},"
    " () => tools.search('x', { a })))",
    "brackets in a string": "const a = '[{'.repeat(6e6); for (;;) await tools.anything({ a })",
    "quotes in a string": "const a = '\\\"[,'.repeat(3e6); for (;;) await tools.anything({ a })"
    ".catch(() => 1)",
    "objects": "const a = Array.from({length: 249e3}, () => ({ x: 1, y: 2, z: 3 }));"
    " for (;;) await tools.anything({ a }).catch(() => 1)",
    "unknown keys": f"{KEYS.format(124_990)} for (;;) await tools.anything(a).catch(() => 1)",
    "more unknown keys": f"{KEYS.format(300_000)} for (;;) await tools.anything(a).catch(() => 1)",
    "unknown keys below": f"{KEYS.format(124_000)} for (;;) await tools.closed({{ a }}).catch(() => 1)",
    "numbers": "const a = new Array(3e6).fill(7); for (;;) await tools.anything({ a }).catch(() => 1)",
    "a wrong text": "const a = 'x'.repeat(15e6); for (;;) await tools.strict({ a }).catch(() => 1)",
    "wrong": "const a = new Array(120e3).fill('x'); for (;;) await tools.strict({ a }).catch(() => 1)",
    "approvals": f"{LISTS} await Promise.all(Array.from({{length: 16}}, () => tools.approved({{ a }})))",
    "timers": "for (;;) { for (let i = 0; i < 9000; i++) clearTimeout(setTimeout(() => 1));"
    " await tools.anything() }",
    "names": "for (;;) await tools.call('x'.repeat(15e6)).catch(() => 1)",
    "newlines": "\n" * 900_000 + "for (;;) { try { await tools.anything() } finally { nothing } }",
}


@pytest.mark.guarantee("no-program-holds-up-the-loop")
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_program_holds_up_the_loop_and_a_neighbour_has_its_results(name: str) -> None:
    async def scenario(meter: LoopMeter) -> list[Any]:
        config = {"enabled": True, "timeoutMs": 2_000, "memoryLimitBytes": 256 << 20}
        async with Engine(
            [anything, approved, closed, strict], config, settings={"warmWorkers": 2}
        ) as engine:
            await engine.exec("return await tools.anything()")
            meter.begin()
            hostile = asyncio.create_task(engine.exec(PROGRAMS[name], session="hostile"))
            found: list[Any] = []
            while not hostile.done():
                found.append(value_of(await engine.exec("return await tools.anything()", session="other")))
            assert not isinstance(await hostile, Completed)
        return found

    found, worst, _ = measured(scenario)
    assert set(found) == {1}
    assert worst < MOST_UNITS


class Looker:
    """Looks at every call, twice over."""

    def __init__(self) -> None:
        self.seen: set[int] = set()

    def before_tool_call(self, event: BeforeToolCall) -> None:
        """Spoils its own copy."""
        given = event.arguments.pop("a", None)
        self.seen.add(len(given) if isinstance(given, list | str) else 0)  # pyright: ignore[reportUnknownArgumentType] - of any items


def test_hooks_are_given_copies_of_large_arguments_without_holding_up_the_loop() -> None:
    first, second = Looker(), Looker()

    async def scenario(meter: LoopMeter) -> Any:
        async with Engine([anything], {"enabled": True}, hooks=[first, second]) as engine:
            await engine.exec("return await tools.anything()")
            meter.begin()
            program = f"{LISTS} return await Promise.all([1, 2].map(() => tools.anything({{ a }})))"
            return value_of(await engine.exec(program))

    found, worst, _ = measured(scenario)
    assert found == [1, 1]
    assert first.seen == second.seen == {0, 249_000}
    assert worst < MOST_UNITS


def test_misspelt_calls_over_ten_thousand_tools_do_not_hold_up_the_loop() -> None:
    async def scenario(meter: LoopMeter) -> str:
        many = [_named(f"tool_{at:05}_of_many") for at in range(_MANY)]
        async with Engine(many, {"enabled": True}, settings={"warmWorkers": 1}) as engine:
            await engine.exec("return 1")
            meter.begin()
            program = """const made = await Promise.allSettled(
                Array.from({ length: 16 }, (_, at) => tools.call(`tol_0${at}000_of_mny`)));
                return made.map((one) => one.reason.message).join()"""
            return value_of(await engine.exec(program))

    found, worst, _ = measured(scenario)
    assert found.count("Nearest: ") == 16
    assert worst < MOST_UNITS


def _named(name: str) -> Any:
    @tool(name=name)
    async def one() -> int:
        """One of many."""
        return 1

    return one
