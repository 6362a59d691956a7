"""What a run costs on its way through supervisor, zygote and confined worker.

    python bench/bench_supervisor.py            a JSON line per measurement, then a table

Numbers are milliseconds unless named otherwise. "warm" waits until the pool is full before each run, as a
host with pauses between runs would see it; "concurrent" does not wait and so shows what refilling costs.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from codemode_runtime import orders, wire
from codemode_runtime.shapes import Limits, Lookup, Settlement

from codemode.config import EngineSettings
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor

Report = dict[str, float | int | None]
ROUNDS = 200
COLD_ROUNDS = 5
TARGETS = {
    "warm single-use p50": 1.0,
    "warm reused p50": 0.5,
    "100 sequential calls p50": 12.0,
    "import codemode": 60.0,
    "cold start, cached p50": 350.0,
    "100 ms timeout, loop p50": 130.0,
    "100 ms timeout, native loop p50": 130.0,
}
COLD = """
import time; began = time.perf_counter()
import codemode
imported = time.perf_counter()
import asyncio, sys
from pathlib import Path
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor
from bench.bench_supervisor import one_plus_one
async def main():
    async with Supervisor(WorkerSettings(cache=Path(sys.argv[1]))) as supervisor:
        await one_plus_one(supervisor)
        print(imported - began, time.perf_counter() - began)
asyncio.run(main())
"""


class NoTools:
    offer = orders.Offer()

    def lookup(self, kind: Lookup, key: str) -> bytes | None:  # noqa: ARG002 - the protocol's shape
        return None


async def one_plus_one(supervisor: Supervisor) -> None:
    with await supervisor.lease() as worker:
        outcome = await worker.start("return 1+1", "javascript", Limits(), 10_000, NoTools())
    assert isinstance(outcome, wire.Done)


async def hundred_calls(supervisor: Supervisor) -> None:
    program = "for (let i = 0; i < 100; i++) await tools.call('x', i); return 1"
    with await supervisor.lease() as worker:
        outcome = await worker.start(program, "javascript", Limits(), 10_000, NoTools())
        while isinstance(outcome, wire.Idle):
            calls = (message for message in outcome.messages if isinstance(message, wire.Call))
            outcome = await worker.deliver([Settlement(call.id, b"1") for call in calls])
    assert isinstance(outcome, wire.Done)


async def endless(supervisor: Supervisor, program: str) -> None:
    with await supervisor.lease() as worker:
        outcome = await worker.start(program, "javascript", Limits(), 100, NoTools())
    assert isinstance(outcome, wire.Interrupted)


async def timed(action: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await action()
    return (time.perf_counter() - began) * 1000


async def repeated(supervisor: Supervisor, action: Callable[[], Awaitable[None]], rounds: int) -> list[float]:
    samples: list[float] = []
    for _ in range(rounds):
        await full(supervisor)
        samples.append(await timed(action))
    return samples


def is_full(supervisor: Supervisor) -> bool:
    """Workers wait, and none is being made."""
    found = supervisor.stats()
    return not found.starting and found.warm >= supervisor.settings.engine.warm_workers


async def full(supervisor: Supervisor) -> None:
    while not is_full(supervisor):  # noqa: ASYNC110 - forks finish elsewhere
        await asyncio.sleep(0.002)


async def concurrent(supervisor: Supervisor, callers: int, rounds: int) -> tuple[list[float], float]:
    samples: list[float] = []

    async def caller() -> None:
        for _ in range(rounds // callers):
            sample = await timed(lambda: one_plus_one(supervisor))
            samples.append(sample)

    await full(supervisor)
    began = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return samples, len(samples) / (time.perf_counter() - began)


async def measure_warm() -> None:
    async with Supervisor() as supervisor:
        show("warm single-use", await repeated(supervisor, lambda: one_plus_one(supervisor), ROUNDS))
        show("100 sequential calls", await repeated(supervisor, lambda: hundred_calls(supervisor), 20))
        for name, program in (
            ("loop", "for (;;);"),
            ("native loop", "Array.prototype.reverse.call({length: 2 ** 40})"),
        ):
            samples = await repeated(supervisor, lambda program=program: endless(supervisor, program), 10)
            show(f"100 ms timeout, {name}", samples)
        for callers in (1, 2, 8, 32):
            samples, per_second = await concurrent(supervisor, callers, ROUNDS)
            show(f"concurrent, {callers} callers", samples, runs_per_second=round(per_second))
        await full(supervisor)
        show_memory(supervisor)
    async with Supervisor(WorkerSettings(EngineSettings(worker_reuse=1_000_000))) as supervisor:
        show("warm reused", await repeated(supervisor, lambda: one_plus_one(supervisor), ROUNDS))
        samples, per_second = await concurrent(supervisor, 8, 4 * ROUNDS)
        show("concurrent reused, 8 callers", samples, runs_per_second=round(per_second))


def measure_costs() -> None:
    """Processor time of a run by process, and memory, as the side by side benchmark tells them."""
    command = [sys.executable, "-m", "bench.side_by_side.subjects.costs", "--quick"]
    project = Path(__file__).resolve().parent.parent
    output = subprocess.run(command, cwd=project, capture_output=True, check=True, text=True).stdout
    emit("a run with one call, by process", json.loads(output))


def measure_cold() -> None:
    imports: list[float] = []
    for name, keep in (("cached", True), ("compiling", False)):
        samples: list[float] = []
        with tempfile.TemporaryDirectory() as folder:
            for number in range(COLD_ROUNDS + 1 if keep else 2):
                cache = Path(folder) / ("kept" if keep else str(number))
                imported, total = cold_start(cache)
                imports.append(imported)
                if number or not keep:  # the first with a kept cache fills it
                    samples.append(total)
        show(f"cold start, {name}", samples)
    emit("import codemode", {"ms": round(sorted(imports)[len(imports) // 2], 1)})


def cold_start(cache: Path) -> tuple[float, float]:
    script = f"import sys; sys.path[:] = {sys.path!r}\n{COLD}"
    command = [sys.executable, "-c", script, str(cache)]
    output = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    imported, total = (float(word) * 1000 for word in output.split())
    return imported, total


def show_memory(supervisor: Supervisor) -> None:
    (zygote,) = supervisor.stats().zygotes
    children = Path(f"/proc/{zygote.pid}/task/{zygote.pid}/children").read_text().split()
    workers = [pss_kib(int(pid)) for pid in children]
    known = [size for size in workers if size is not None]
    emit(
        "memory",
        {"zygote_pss_kib": pss_kib(zygote.pid or 0), "worker_pss_kib": sum(known) // max(len(known), 1)},
    )


def pss_kib(pid: int) -> int | None:
    """None if it is gone, or without the right to look: workers are closed to other processes."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, PermissionError, ProcessLookupError):
        return None
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


results: list[tuple[str, Report]] = []


def show(name: str, samples: list[float], **more: float) -> None:
    ordered = sorted(samples)
    p50, p99 = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    emit(
        name,
        {"p50": round(p50, 3), "p99": round(p99, 3), "min": round(ordered[0], 3), "n": len(samples), **more},
    )


def emit(name: str, report: Report) -> None:
    results.append((name, report))
    print(json.dumps({"name": name, **report}), flush=True)


def print_table() -> None:
    print()
    for name, report in results:
        numbers = "  ".join(f"{key} {value}" for key, value in report.items())
        reached = report.get("p50", report.get("ms"))
        target = TARGETS.get(f"{name} p50", TARGETS.get(name))
        verdict = (
            ""
            if target is None or reached is None
            else f"  (target {target}: {'ok' if reached <= target else 'MISSED'})"
        )
        print(f"{name:32s} {numbers}{verdict}")


if __name__ == "__main__":
    asyncio.run(measure_warm())
    measure_costs()
    measure_cold()
    print_table()
