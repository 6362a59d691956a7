"""Relatives of the programs that held up the loop, generated: nasty shapes of arguments, in many sizes."""

from __future__ import annotations

import asyncio
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode import Engine, tool
from tests.harness.loop_meter import MOST_UNITS, LoopMeter, measured

_ITEMS = (
    "[]",
    "{}",
    "7",
    "0.5",
    "'a'",
    "'é'",
    "null",
    "{ k: 1 }",
    "[[], {}]",
    "'[{,:'",
    "'\\\\\"'",
    "{ a: { b: [] } }",
)
SHAPES = st.one_of(
    st.builds("new Array({1}).fill({0})".format, st.sampled_from(_ITEMS), st.integers(1_000, 400_000)),
    st.builds(
        "'{0}'.repeat({1})".format,
        st.sampled_from(["[{", ",", ":", "x", "\\n", "я", '\\"']),
        st.integers(1, 4_000_000),
    ),
    st.builds(
        "Object.fromEntries(Array.from({{ length: {1} }}, (_, at) => ['k' + at, {0}]))".format,
        st.sampled_from(_ITEMS),
        st.integers(1_000, 120_000),
    ),
    st.builds(
        (
            "Array.from({{ length: {1} }},"
            " () => {{ let v = {0}; for (let d = 0; d < 150; d++) v = [v]; return v }})"
        ).format,
        st.sampled_from(_ITEMS),
        st.integers(1, 1_000),
    ),
)


@tool
async def anything(a: Any = None) -> int:
    """Takes anything."""
    return 1


@tool
async def numbers(a: list[int]) -> int:
    """Takes numbers."""
    return len(a)


@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(SHAPES, min_size=3, max_size=3), st.sampled_from(["anything", "numbers", "nobody"]))
def test_no_shape_of_arguments_makes_a_turn_of_the_loop_long(shapes: list[str], name: str) -> None:
    async def scenario(meter: LoopMeter) -> set[int]:
        config = {"enabled": True, "timeoutMs": 1_000, "memoryLimitBytes": 256 << 20}
        async with Engine([anything, numbers], config, settings={"warmWorkers": 2}) as engine:
            await engine.exec("return await tools.anything()")
            meter.begin()
            made = ", ".join(f"tools.call('{name}', {{ a: {shape} }})" for shape in shapes)
            program = f"for (;;) await Promise.allSettled([{made}])"
            hostile = asyncio.create_task(engine.exec(program, session="hostile"))
            found: set[Any] = set()
            while not hostile.done():
                result = await engine.exec("return await tools.anything()", session="other")
                found.add(result.to_dict().get("value"))
        return found

    found, worst, _ = measured(scenario)
    assert found == {1}
    assert worst < MOST_UNITS
