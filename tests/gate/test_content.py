"""Content that a program hoards: many handles of one large picture cost the host that picture once."""

from __future__ import annotations

import random
from typing import Any

from codemode import Engine, Image, Waiting, tool
from tests.harness.loop_meter import MOST_UNITS, LoopMeter, measured

_PICTURE = random.Random(3).randbytes(7 << 20)  # it does not get smaller when it is packed


@tool
async def look() -> Image:
    """A large picture, the same each time."""
    return Image(_PICTURE)


def test_hundreds_of_handles_of_one_picture_neither_hold_up_the_loop_nor_fill_the_memory() -> None:
    program = """
    const seen = [];
    for (let n = 0; n < 200; n += 1) seen.push(await tools.look({}));
    await yield_control("later");"""

    async def scenario(meter: LoopMeter) -> Any:
        async with Engine([look], {"enabled": True, "timeoutMs": 20_000}) as engine:
            await engine.exec("return (await tools.look({})).bytes")
            meter.begin()
            return await engine.exec(program)

    found, worst, grown = measured(scenario)
    assert isinstance(found, Waiting)
    assert worst < MOST_UNITS
    assert grown < 10 * len(_PICTURE)  # in the run, and in its state on the way to the store
