"""Minutes of mixed load on one durable engine: nothing grows, nothing gets slower, every run ends right.

    python -m tests.e2e.soak --minutes 30

Callers exec, wait, abort and forget runs; some loop for ever, some take all memory, workers are killed under
them. Samples are taken all along; the last third of them is compared with the first.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from codemode import Completed, Engine, Failed, Waiting, tool
from codemode.contract.results import CodeModeResult
from tests.harness.faults import size_of, workers_of
from tests.harness.leftovers import descendants
from tests.hostile.arena import echo, fail

CALLERS = 5
SAMPLE_SECONDS = 0.25
CONFIG = {"enabled": True, "timeoutMs": 1000, "memoryLimitBytes": 16 << 20, "snapshotTtlSeconds": 2}
_MIB = 1 << 20
# How much more of each there may be in the last third than in the first, by its median.
ROOM = {
    "memory": 24 * _MIB,
    "descriptors": 8,
    "processes": 4,
    "threads": 4,
    "tasks": 8,
    "runs": 12,
    "store": 4 * _MIB,
}
SLOWER = 4.0  # times, and the floor below which nobody can tell
_FLOOR_SECONDS = 0.05

Job = Callable[[Engine, str, random.Random], Awaitable[None]]


class Wrong(AssertionError):
    """What must never be so."""


@dataclass
class Report:
    """`latencies` are those of the plain job, with the time of each."""

    jobs: Counter[str] = field(default_factory=Counter[str])
    samples: list[dict[str, int]] = field(default_factory=list[dict[str, int]])
    latencies: list[float] = field(default_factory=list[float])

    def thirds(self, name: str) -> tuple[float, float]:
        found = [sample[name] for sample in self.samples]
        return _median_of_thirds(found)

    def check(self) -> None:
        """Raises Wrong for what has grown."""
        for name, room in ROOM.items():
            first, last = self.thirds(name)
            if last - first > room:
                raise Wrong(f"{name} grew from {first:.0f} to {last:.0f}")
        first, last = _median_of_thirds(self.latencies)
        if last > SLOWER * max(first, _FLOOR_SECONDS):
            raise Wrong(f"a plain exec took {first * 1000:.0f} ms and takes {last * 1000:.0f} ms")

    def __str__(self) -> str:
        lines = [f"{sum(self.jobs.values())} jobs: {dict(sorted(self.jobs.items()))}"]
        lines += [
            f"{name}: {first:.0f} -> {last:.0f}" for name in ROOM for first, last in [self.thirds(name)]
        ]
        first, last = _median_of_thirds(self.latencies)
        return "\n".join([*lines, f"plain exec: {first * 1000:.1f} -> {last * 1000:.1f} ms"])


def _median_of_thirds(found: list[int] | list[float]) -> tuple[float, float]:
    """Of the first third, without what is only loaded once, and of the last."""
    kept = found[len(found) // 10 :]
    third = max(1, len(kept) // 3)
    return statistics.median(kept[:third]), statistics.median(kept[-third:])


# ---- jobs --------------------------------------------------------------------------------------------------


@tool
async def slow(ms: int) -> int:
    """Takes its time."""
    await asyncio.sleep(ms / 1000)
    return ms


def expect(result: CodeModeResult, value: object = None, code: str | None = None) -> None:
    """This end, or that of a run whose worker was killed."""
    match result:
        case Completed() if code is None and result.value == value:
            return
        case Failed() if result.code == code:
            return
        case Failed(error=error) if "SIGKILL" in error or "status -9" in error:
            return
        case _:
            raise Wrong(f"expected {code or value}: {result}")


async def plain(made: Engine, session: str, dice: random.Random) -> None:
    number = dice.randrange(1000)
    expect(
        await made.exec(f"return (await tools.echo({{ value: {number} }})) + 1", session=session), number + 1
    )


async def typescript(made: Engine, session: str, dice: random.Random) -> None:
    program = "enum E { A = 2 } const x: number = E.A as any; return <number>x * 2"
    expect(await made.exec(program, "typescript", session=session), 4)


async def resumed(made: Engine, session: str, dice: random.Random) -> None:
    legs, size = dice.randrange(1, 5), dice.choice((10, 1000, 50_000))
    yields = f"for (let i = 0; i < {legs}; i++) await yield_control();"
    program = f"const held = 'x'.repeat({size}); {yields} return held.length"
    result = await made.exec(program, session=session)
    while isinstance(result, Waiting):
        result = await made.wait(result.run_id, session=session)
    expect(result, size)


async def overdue(made: Engine, session: str, dice: random.Random) -> None:
    """Its tool takes longer than a leg."""
    result = await made.exec("return await tools.slow({ ms: 1200 })", session=session)
    while isinstance(result, Waiting):
        result = await made.wait(result.run_id, session=session)
    expect(result, 1200)


async def aborted(made: Engine, session: str, dice: random.Random) -> None:
    result = await made.exec("void tools.slow({ ms: 5000 }); await yield_control()", session=session)
    if isinstance(result, Waiting):
        if not await made.abort(result.run_id, session=session):
            raise Wrong("a suspended run could not be aborted")
        expect(await made.wait(result.run_id, session=session), code="aborted")
    else:
        expect(result, code="aborted")


async def forgotten(made: Engine, session: str, dice: random.Random) -> None:
    """Expires by itself."""
    await made.exec("void tools.slow({ ms: 60000 }); await yield_control()", session=session)


async def endless(made: Engine, session: str, dice: random.Random) -> None:
    expect(await made.exec("for (;;);", session=session), code="timeout")


async def greedy(made: Engine, session: str, dice: random.Random) -> None:
    """All at once: bit by bit it takes so long on a busy machine that time may be over first."""
    program = "const a = []; for (;;) a.push(new Uint8Array(9 << 20))"
    expect(await made.exec(program, session=session), code="memory_limit_exceeded")


async def cancelled(made: Engine, session: str, dice: random.Random) -> None:
    task = asyncio.create_task(made.exec("return await tools.slow({ ms: 200 })", session=session))
    await asyncio.sleep(dice.random() / 50)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def crash(made: Engine, session: str, dice: random.Random) -> None:
    if pids := workers_of(made):
        with suppress(ProcessLookupError):
            os.kill(dice.choice(pids), signal.SIGKILL)


JOBS: dict[Job, int] = {
    plain: 30, resumed: 15, typescript: 5, overdue: 4, aborted: 5, forgotten: 3, endless: 2, greedy: 3,
    cancelled: 4, crash: 1,
}  # fmt: skip


# ---- load and samples --------------------------------------------------------------------------------------


async def soak(seconds: float, seed: int, store: Path) -> Report:
    """Raises Wrong as soon as a run ends as it must not, or if anything is left at the end."""
    report = Report()
    until = time.monotonic() + seconds
    settings = {"warmWorkers": 2, "maxWorkers": 4}
    async with Engine([echo, fail, slow], CONFIG, settings=settings, store=store) as made:

        async def caller(number: int) -> None:
            dice = random.Random(f"{seed} {number}")
            while time.monotonic() < until:
                job = dice.choices(list(JOBS), list(JOBS.values()))[0]
                began = time.monotonic()
                await job(made, f"s{number}", dice)
                report.jobs[job.__name__] += 1
                if job is plain:
                    report.latencies.append(time.monotonic() - began)

        async def sample() -> None:
            while time.monotonic() < until:
                report.samples.append(_sample(made, store))
                await asyncio.sleep(SAMPLE_SECONDS)

        async with asyncio.TaskGroup() as group:
            for number in range(CALLERS):
                group.create_task(caller(number))
            group.create_task(sample())
        await _drain(made)
    return report


def _sample(made: Engine, store: Path) -> dict[str, int]:
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(descendants(os.getpid())),
        "threads": threading.active_count(),
        "tasks": len(asyncio.all_tasks()),
        "runs": sum(made.stats()["runs"].values()),
        "store": size_of(store),
    }


async def _drain(made: Engine) -> None:
    """What was forgotten expires, and then there is nothing."""
    async with asyncio.timeout(60):
        while await made.runs() or made.stats()["runs"]:  # noqa: ASYNC110 - rows of a file set no events
            await asyncio.sleep(0.05)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = options.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = asyncio.run(soak(given.minutes * 60, given.seed, Path(folder) / "runs.sqlite"))
    print(report)
    report.check()
    return 0


if __name__ == "__main__":
    sys.exit(main())
