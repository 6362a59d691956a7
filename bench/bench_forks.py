"""What a fork costs: of a suspended run with a call in flight, and of a world. Through the public API.

    python bench/bench_forks.py [--quick]      a JSON line per measurement

`p50_ms` is the time of `engine.fork`, `ratio` the fork's bytes in the store by the original's. A cell is one
exec in a world that holds little; `late` of the last tenth of a hundred, to be compared with `early`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from codemode import Engine, Waiting, tool

ROUNDS = 40 if "--quick" in sys.argv else 200
PROGRAM = "const held = { n: 1 }; const call = tools.hold({}); await yield_control(); return await call"
CONFIG = {"enabled": True, "sessionState": "keep"}


@tool
async def hold() -> int:
    """Waits for ever."""
    await asyncio.Event().wait()
    return 1


def tell(name: str, **found: float) -> None:
    print(json.dumps({"name": name} | {key: round(value, 3) for key, value in found.items()}))


async def measure(name: str, store: Path | None) -> None:
    async with Engine([hold], CONFIG, store=store, settings={"sessionSharePercent": 100}) as engine:
        run = await engine.exec(PROGRAM, session="run")
        assert isinstance(run, Waiting)
        taken, fork = list[float](), ""
        for _ in range(ROUNDS):
            began = time.perf_counter()
            fork = await engine.fork(run.run_id, settle={"1": 5}, session="run")
            taken.append((time.perf_counter() - began) * 1000)
        sizes = {one.run_id: one.bytes for one in await engine.runs("run")}
        ratio = sizes[fork] / sizes[run.run_id]
        tell(f"{name}: run", p50_ms=statistics.median(taken), bytes=sizes[fork], ratio=ratio)
        cells = list[float]()
        for at in range(100):
            began = time.perf_counter()
            await engine.exec(f"const v{at % 7} = [{at}]", session="world")
            cells.append((time.perf_counter() - began) * 1000)
        early, late = statistics.median(cells[5:15]), statistics.median(cells[-10:])
        world = await engine.world("world")
        assert world is not None
        tell(f"{name}: cells", early_ms=early, late_ms=late, bytes=world.bytes)
        taken.clear()
        for at in range(ROUNDS):
            began = time.perf_counter()
            await engine.fork(session="world", into=f"copy {at}")
            taken.append((time.perf_counter() - began) * 1000)
        tell(f"{name}: world", p50_ms=statistics.median(taken))


async def main() -> None:
    await measure("memory", None)
    with tempfile.TemporaryDirectory() as folder:
        await measure("SQLite", Path(folder) / "runs.sqlite")


if __name__ == "__main__":
    asyncio.run(main())
