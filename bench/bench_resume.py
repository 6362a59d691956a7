"""What it costs to go on with a suspended run, through the public API and a confined worker.

    python bench/bench_resume.py [--quick]      a JSON line per measurement, then a table

A program holds some data, has a call in flight and yields; its VM is dropped. Once the call has settled,
`wait` is timed from the stored bytes to the final value, with a worker ready, as a host with pauses sees it.
Data are random hexadecimal strings. Numbers are milliseconds unless named otherwise.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from codemode import Completed, Engine, Tool, Waiting, tool

Report = dict[str, float | int]
QUICK = "--quick" in sys.argv
KIB = 1 << 10
SIZES = {"tiny": (0, 300), "1 MB": (1024, 40), "8 MB": (8192, 12)}  # strings of 1 KiB, rounds
CONFIG = {"enabled": True, "timeoutMs": 60_000}
MANY = 1_000 if QUICK else 10_000
TARGETS = {
    "tiny, memory, single-use p50": 1.2,
    "tiny, memory, reuse p50": 0.7,
    "tiny, memory, single-use stored_bytes": 4.5 * KIB,
    "10000 suspended, yield disk_mb": 60.0,
    "10000 suspended, yield host_mb": 50.0,
    "10000 suspended, a call in flight disk_mb": 60.0,
    "10000 suspended, a call in flight host_mb": 50.0,
}
PROGRAM = """
const held = [];
for (let i = 0; i < KB; i++) {
  const numbers = crypto.getRandomValues(new Uint32Array(128));
  held.push(Array.from(numbers, (n) => n.toString(16).padStart(8, "0")).join(""));
}
const call = tools.hold({});
await yield_control();
return [await call, held.length];
"""
CHILD = """
import asyncio, sys
sys.path[:] = PATHS
from bench import bench_resume
asyncio.run(getattr(bench_resume, sys.argv[1])(*sys.argv[2:]))
"""


class Gate:
    """The call in flight: settles when the bench says so."""

    def __init__(self) -> None:
        self._calls: list[asyncio.Future[int]] = []

    @property
    def tool(self) -> Tool:
        @tool
        async def hold() -> int:
            """Waits for the bench."""
            self._calls.append(asyncio.get_running_loop().create_future())
            return await self._calls[-1]

        return hold

    async def settle(self) -> None:
        while not self._calls:  # noqa: ASYNC110 - the call starts in a task of the engine's
            await asyncio.sleep(0)
        self._calls.pop().set_result(1)
        for _ in range(5):
            await asyncio.sleep(0)  # until the engine has heard of it


@asynccontextmanager
async def opened(gate: Gate, store: Path | None = None, **settings: Any) -> AsyncGenerator[Engine]:
    async with Engine([gate.tool], CONFIG, settings=settings, store=store) as engine:
        yield engine


def is_ready(engine: Engine) -> bool:
    """Workers wait, and none is being made: with pauses between runs that is so."""
    workers = engine.stats()["workers"]
    return not workers["starting"] and workers["warm"] >= engine.settings.warm_workers


async def ready(engine: Engine) -> None:
    while not is_ready(engine):  # noqa: ASYNC110 - forks elsewhere
        await asyncio.sleep(0.002)


async def suspend(engine: Engine, program: str) -> Waiting:
    result = await engine.exec(program)
    assert isinstance(result, Waiting), result
    return result


async def resumed(engine: Engine, run_id: str) -> float:
    began = time.perf_counter()
    result = await engine.wait(run_id)
    spent = (time.perf_counter() - began) * 1000
    assert isinstance(result, Completed), result
    return spent


async def measure_wait(name: str, strings: int, rounds: int, store: Path | None, reuse: int) -> None:
    gate = Gate()
    program = PROGRAM.replace("KB", str(strings))
    samples: list[float] = []
    stored = delta = capture_us = 0
    async with opened(gate, store, workerReuse=reuse) as engine:
        for number in range(rounds + 3):
            await ready(engine)
            waiting = await suspend(engine, program)
            await gate.settle()
            (found,) = await engine.runs()
            stored = found["bytes"]
            await ready(engine)
            spent = await resumed(engine, waiting.run_id)
            if number >= 3:
                samples.append(spent)
            assert waiting.telemetry.snapshot is not None
            delta, capture_us = waiting.telemetry.snapshot.bytes, waiting.telemetry.snapshot.capture_us
    show(name, samples, stored_bytes=stored, delta_bytes=delta, capture_us=capture_us)


async def measure_waits() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for size, (strings, rounds) in SIZES.items():
            for kind in ("memory", "sqlite"):
                for use, reuse in (("single-use", 1), ("reuse", 1_000_000)):
                    store = Path(folder) / f"{strings}-{reuse}.sqlite" if kind == "sqlite" else None
                    count = max(5, rounds // 10) if QUICK else rounds
                    await measure_wait(f"{size}, {kind}, {use}", strings, count, store, reuse)


def measure_restarts() -> None:
    """A new process on the file of one that died: the engine's start, then the first wait."""
    for size, (strings, _) in SIZES.items():
        starts: list[float] = []
        waits: list[float] = []
        for _ in range(3 if QUICK else 10):
            with tempfile.TemporaryDirectory() as folder:
                store = str(Path(folder) / "runs.sqlite")
                run_id = child("suspend_and_die", store, str(strings))
                start, spent = child("start_and_resume", store, run_id).split()
                starts.append(float(start))
                waits.append(float(spent))
        show(f"{size}, restart: engine start", starts)
        show(f"{size}, restart: first wait", waits)


async def suspend_and_die(store: str, strings: str) -> None:
    async with opened(Gate(), Path(store)) as engine:
        print(
            (await suspend(engine, PROGRAM.replace("KB", strings).replace("await call", "1"))).run_id,
            flush=True,
        )
        os._exit(0)


async def start_and_resume(store: str, run_id: str) -> None:
    began = time.perf_counter()
    async with opened(Gate(), Path(store)) as engine:
        started = (time.perf_counter() - began) * 1000
        # its call was interrupted and nobody awaits it: the run fails at its end
        began = time.perf_counter()
        result = await engine.wait(run_id)
        print(started, (time.perf_counter() - began) * 1000, flush=True)
        assert not isinstance(result, Waiting), result


async def hold_many(store: str, program: str, runs: str) -> None:
    """In a process of its own: what many suspended runs take on disk and in the host."""
    count = int(runs)
    async with opened(Gate(), Path(store), maxSuspendedRuns=count) as engine:
        for _ in range(20):  # so that everything is loaded that a suspended run needs
            await engine.abort((await suspend(engine, program)).run_id)
        idle = resident_kib()
        began = time.perf_counter()
        for _ in range(0, count, 8):
            await asyncio.gather(*(suspend(engine, program) for _ in range(8)))
        seconds = time.perf_counter() - began
        held = resident_kib() - idle
        disk = sum(path.stat().st_size for path in Path(store).parent.iterdir())
        sample = (await engine.runs())[0]["bytes"]
        numbers = {"disk_mb": disk / 1e6, "host_mb": held / 1000, "stored_bytes": sample}
        print(json.dumps(numbers | {"runs_per_second": count / seconds}), flush=True)
        os._exit(0)  # ending them one by one is not the subject


def measure_many() -> None:
    programs = {"yield": "await yield_control()", "a call in flight": "tools.hold({}); await yield_control()"}
    for name, program in programs.items():
        with tempfile.TemporaryDirectory() as folder:
            found = json.loads(child("hold_many", str(Path(folder) / "runs.sqlite"), program, str(MANY)))
        emit(f"{MANY} suspended, {name}", {key: round(value, 1) for key, value in found.items()})


def child(what: str, *arguments: str) -> str:
    script = CHILD.replace("PATHS", repr([str(Path(__file__).parents[1]), *sys.path]))
    command = [sys.executable, "-c", script, what, *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def resident_kib() -> int:
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


results: list[tuple[str, Report]] = []


def show(name: str, samples: list[float], **more: float) -> None:
    ordered = sorted(samples)
    p50, p99 = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    numbers = {"p50": round(p50, 3), "p99": round(p99, 3), "min": round(ordered[0], 3)}
    emit(name, {**numbers, "n": len(ordered), **more})


def emit(name: str, report: Report) -> None:
    results.append((name, report))
    print(json.dumps({"name": name, **report}), flush=True)


def print_table() -> None:
    print()
    for name, report in results:
        numbers = "  ".join(f"{key} {value}" for key, value in report.items())
        targets = [(key, TARGETS.get(f"{name} {key}")) for key in report]
        verdicts = [
            f"{key} target {target:g}: {'ok' if report[key] <= target else 'MISSED'}"
            for key, target in targets
            if target is not None
        ]
        print(f"{name:34s} {numbers}{'  (' + '; '.join(verdicts) + ')' if verdicts else ''}")


if __name__ == "__main__":
    asyncio.run(measure_waits())
    measure_restarts()
    measure_many()
    print_table()
