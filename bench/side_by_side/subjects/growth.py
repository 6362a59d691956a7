"""How this engine's costs grow: with tools, suspended runs, live data, calls. Prints samples as JSON.

    python -m bench.side_by_side.subjects.growth tools|calls|heap|suspended [--quick]

Sizes are measured in turns, except suspended runs, which pile up: there the engine is measured as it fills.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from bench.side_by_side import programs
from bench.side_by_side.subjects.engine import ThroughWorkers, full
from bench.side_by_side.subjects.serve import check, now_ms
from codemode import Tool, Waiting, tool

QUICK = "--quick" in sys.argv
TOOLS = (10, 100, 1_000) if QUICK else (10, 100, 1_000, 10_000)
SUSPENDED = (10, 100, 1_000) if QUICK else (10, 100, 1_000, 10_000, 100_000)
HEAP_KIB = (0, 256, 1024, 4096) if QUICK else (0, 256, 1024, 4096, 16384, 32768)
CALLS = (1, 10, 100, 1_000) if QUICK else (1, 10, 100, 1_000, 10_000)
SAMPLES = 5 if QUICK else 30
REUSE = 1_000_000
FILL_SECONDS = 300
YIELDS = "const held = [1, 2, 3]; await yield_control(); return held.length"
Points = list[dict[str, Any]]


def catalog_of(size: int) -> list[Tool]:
    """Tools as a host has them: a description, a few parameters."""

    def numbered(number: int) -> Tool:
        async def work(customer: str, amount: int = 0, note: str = "") -> dict[str, str]:  # noqa: ARG001
            """Looks something up for a customer and notes what was found."""
            return {}

        return tool(name=f"tool_{number}")(work)

    return [numbered(number) for number in range(size)]


async def grow_tools() -> Points:
    subjects = {size: ThroughWorkers(1, catalog_of(size)) for size in TOOLS}
    samples: dict[int, list[float]] = {size: [] for size in TOOLS}
    for subject in subjects.values():
        await subject.open()
    for _ in range(SAMPLES + 2):
        for size, subject in subjects.items():
            samples[size].append(await timed_run(subject, programs.ONE_CALL))
    for subject in subjects.values():
        await subject.close()
    return [{"x": size, "exec_ms": found[2:]} for size, found in samples.items()]


async def grow_calls() -> Points:
    subject = ThroughWorkers(1)
    await subject.open()
    points: Points = []
    await timed_run(subject, programs.ONE_CALL)
    for calls in CALLS:
        repeats = max(2, min(SAMPLES, 3000 // calls))
        samples = [await timed_run(subject, programs.sequential(calls)) / calls for _ in range(repeats)]
        points.append({"x": calls, "ms_per_call": samples})
    await subject.close()
    return points


async def timed_run(subject: ThroughWorkers, program: programs.Program) -> float:
    await subject.ready()
    began = now_ms()
    ran = await subject.run(program.javascript, "javascript")
    took = now_ms() - began
    check(ran.answer, program.expect)
    return took


async def grow_heap() -> Points:
    subject = ThroughWorkers(1)
    await subject.open()
    points: Points = []
    for kib in HEAP_KIB:
        program = programs.hold_text(kib)
        held = [await subject.hold(program.javascript) for _ in range(3 if QUICK else 6)]
        for one in held:
            check(one.answer, program.expect)
        points.append(
            {
                "x": kib,
                "suspend_ms": [one.suspend_ms for one in held],
                "resume_ms": [one.resume_ms for one in held],
                "bytes": [one.snapshot for one in held],
            }
        )
    await subject.close()
    return points


async def grow_suspended() -> Points:
    """What one more suspension, its resumption and its memory cost beside so many others."""
    subject = ThroughWorkers(REUSE)
    await subject.open()
    for _ in range(20):  # so that everything is loaded that a suspended run needs
        await suspend_and_resume(subject)
    points: Points = []
    empty = resident_kib()
    count = 0
    give_up = now_ms() + FILL_SECONDS * 1000
    for size in SUSPENDED:
        while count < size and now_ms() < give_up:
            batch = min(8, size - count)
            results = await asyncio.gather(*(subject.engine.exec(YIELDS) for _ in range(batch)))
            assert all(isinstance(result, Waiting) for result in results), results
            count += batch
        if count < size:
            break  # a machine that is too slow shows fewer sizes
        await full(subject.engine)
        pairs = [await suspend_and_resume(subject) for _ in range(SAMPLES)]
        points.append(
            {
                "x": size,
                "suspend_ms": [pair[0] for pair in pairs],
                "resume_ms": [pair[1] for pair in pairs],
                # fewer than a thousand disappear in what the allocator takes at once
                "kib_per_run": [(resident_kib() - empty) / size] if size >= 1_000 else [],
            }
        )
    return points  # not closed: dropping them one by one is not the subject


async def suspend_and_resume(subject: ThroughWorkers) -> tuple[float, float]:
    run_id, suspend_ms = await subject.suspend(programs.HOLD_TINY.javascript)
    answer, resume_ms = await subject.resume(run_id)
    check(answer, programs.HOLD_TINY.expect)
    return suspend_ms, resume_ms


def resident_kib() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


SERIES = {"tools": grow_tools, "calls": grow_calls, "heap": grow_heap, "suspended": grow_suspended}


async def main() -> None:
    print(json.dumps(await SERIES[sys.argv[1]]()), flush=True)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
