"""What a run costs the host itself: its CPU time, the functions it calls and the files it enters.

    python bench/bench_host_cost.py [--quick]      a JSON line per work, then a table

Workers are used again, so that no process is started. `cpu` is the host's CPU time from exec or wait to its
result, with the looking for quick answers that a host with several processors does. `own` is the same on one
processor, where the host sleeps until the worker answers: what the engine's own code takes. `functions` and
`files` count what Python code of ours is entered there. Times are milliseconds, 25th percentiles, so that the
load of other programs hardly shows.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

from codemode import Completed, Engine, Waiting, tool

QUICK = "--quick" in sys.argv
ROUNDS = 60 if QUICK else 600
PINNED = "--pinned"  # this process is the one on one processor
CONFIG = {"enabled": True, "timeoutMs": 60_000}
REUSE = {"workerReuse": 1_000_000}
GOALS = {"one call cpu_ms": 0.35, "100 calls cpu_ms": 9.0}
PROGRAMS = {
    "1 + 1": "return 1 + 1",
    "one call": "return (await tools.double({ i: 1 })).value",
    "100 calls": "let n = 0; for (let i = 0; i < 100; i++) n += (await tools.double({ i })).value; return n",
}
RESUMED = "const call = tools.hold({}); await yield_control(); return call"
_PACKAGES = ("/codemode/", "/codemode_runtime/", "/codemode_snapshots/")

Report = dict[str, float]
Step = Callable[[], Awaitable[Any]]
held: list[asyncio.Future[int]] = []


@tool
async def double(i: int) -> dict[str, int]:
    """Twice the number."""
    return {"value": 2 * i}


@tool
async def hold() -> int:
    """Answers when the benchmark says so."""
    held.append(asyncio.get_running_loop().create_future())
    return await held[-1]


async def suspended(engine: Engine) -> str:
    """A run that waits for `wait` alone: its call has settled."""
    result = await engine.exec(RESUMED)
    assert isinstance(result, Waiting), result
    while not held:  # noqa: ASYNC110 - the call begins in one of the next turns
        await asyncio.sleep(0)
    held.pop().set_result(1)
    for _ in range(5):
        await asyncio.sleep(0)
    return result.run_id


async def prepared(engine: Engine, work: str) -> Step:
    """The step that is measured."""
    if work in PROGRAMS:
        return lambda: engine.exec(PROGRAMS[work])
    run_id = await suspended(engine)
    return lambda: engine.wait(run_id)


async def cpu_ms(engine: Engine, work: str, rounds: int) -> float:
    spent: list[float] = []
    for _ in range(rounds + 10):
        step = await prepared(engine, work)
        began = time.process_time()
        result = await step()
        spent.append(time.process_time() - began)
        assert isinstance(result, Completed), result
    return round(sorted(spent[10:])[rounds // 4] * 1000, 3)


async def entered(engine: Engine, work: str) -> tuple[int, int]:
    """How many calls of functions of ours one step makes, and in how many files."""
    step, files, calls = await prepared(engine, work), set[str](), 0

    def note(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        if event == "call" and any(name in frame.f_code.co_filename for name in _PACKAGES):
            files.add(frame.f_code.co_filename)
            calls += 1

    sys.setprofile(note)
    await step()
    sys.setprofile(None)
    return calls, len(files)


async def measure() -> dict[str, Report]:
    found: dict[str, Report] = {}
    async with Engine([double, hold], CONFIG, settings=REUSE) as engine:
        for work in (*PROGRAMS, "resume"):
            ms = await cpu_ms(engine, work, ROUNDS // 10 if work == "100 calls" else ROUNDS)
            if PINNED in sys.argv:
                functions, files = await entered(engine, work)
                found[work] = {"own_ms": ms, "functions": functions, "files": files}
            else:
                found[work] = {"cpu_ms": ms}
    return found


def on_one_processor() -> dict[str, Report]:
    command = [sys.executable, __file__, PINNED, *(["--quick"] if QUICK else [])]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    if PINNED in sys.argv:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        print(json.dumps(asyncio.run(measure())))
        return
    found, alone = asyncio.run(measure()), on_one_processor()
    reports = {work: found[work] | alone[work] for work in found}
    for work, report in reports.items():
        print(json.dumps({"work": work, **report}))
    print(f"\n{'':10}{'cpu ms':>9}{'own ms':>9}{'functions':>11}{'files':>7}")
    for work, row in reports.items():
        goal = GOALS.get(f"{work} cpu_ms")
        wanted = "" if goal is None else f"   goal: cpu at most {goal:g} ms"
        print(
            f"{work:10}{row['cpu_ms']:9.3f}{row['own_ms']:9.3f}{row['functions']:11.0f}{row['files']:7.0f}{wanted}"
        )


if __name__ == "__main__":
    main()
