"""What a run costs in processor time and memory, by process. Prints a JSON object; Linux only.

    python -m bench.side_by_side.subjects.costs [--quick]

Processor time is told by the kernel, so it depends less than other times on what else the machine does. A
zygote's children are counted together when they have ended, and one by one while they live.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path

from bench.side_by_side.subjects.engine import CALLS, CONFIG, WHO, Gate, full, offered
from codemode import Completed, Engine

QUICK = "--quick" in sys.argv
RUNS = 300 if QUICK else 3000
ALONE = 100 if QUICK else 600
CALLERS = 8
PROGRAM = f"{CALLS}return (await tool({{ i: 1 }})).value"
_TICK_MS = 1000 / os.sysconf("SC_CLK_TCK")
WAYS: dict[str, int | str] = {"single-use": 1, "within a session": "session", "workerReuse": 1_000_000}


def times_ms(pid: int) -> tuple[float, float]:
    """Processor time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, children = (int(fields[11]) + int(fields[12])), (int(fields[13]) + int(fields[14]))
    return own * _TICK_MS, children * _TICK_MS


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, task.read_text().split())
    return found


def workers_ms(zygote: int) -> float:
    """Of all its workers, dead or alive."""
    spent = times_ms(zygote)[1]
    for pid in children_of(zygote):
        try:
            spent += times_ms(pid)[0]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile, and is counted with the dead next time
    return spent


def pss_kib(pid: int) -> float:
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(float(row.split()[1]) for row in rows if row.startswith("Pss:"))


async def ran(engine: Engine) -> None:
    result = await engine.exec(PROGRAM, scope=WHO)
    assert isinstance(result, Completed), result


async def crowd(engine: Engine, runs: int) -> None:
    left = runs

    async def caller() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await ran(engine)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def of_a_way(name: str, reuse: int | str) -> dict[str, float]:
    async with Engine(offered(Gate()), CONFIG, settings={"workerReuse": reuse}) as engine:
        await crowd(engine, 50)
        await full(engine)
        zygote = engine.stats().workers.zygotes[0].pid
        assert zygote is not None
        before = time.process_time(), times_ms(zygote)[0], workers_ms(zygote)
        await crowd(engine, RUNS)
        host = time.process_time() - before[0]
        await full(engine)
        found = {
            f"host, {name}": host * 1000 / RUNS,
            f"zygote, {name}": (times_ms(zygote)[0] - before[1]) / RUNS,
            f"worker, {name}": (workers_ms(zygote) - before[2]) / RUNS,
        }
        if name == "single-use":
            with contextlib.suppress(PermissionError):  # workers are closed to all but root
                found["memory of a zygote, KiB"] = pss_kib(zygote)
                found["memory of a warm worker, KiB"] = pss_kib(children_of(zygote)[-1])
        return found


async def host_alone() -> float:
    """Of one caller whose workers are used again."""
    spent: list[float] = []
    async with Engine(offered(Gate()), CONFIG, settings={"workerReuse": 1_000_000}) as engine:
        for _ in range(ALONE + 20):
            began = time.process_time()
            await ran(engine)
            spent.append(time.process_time() - began)
    return sorted(spent[20:])[ALONE // 4] * 1000


async def measure() -> dict[str, float]:
    found = {"host, one call": await host_alone()}
    for name, reuse in WAYS.items():
        found |= await of_a_way(name, reuse)
    return {name: round(value, 3) for name, value in found.items()}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure())))
