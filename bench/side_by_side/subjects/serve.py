"""The loop that every Python subject runs: a JSON request per line in, a JSON reply per line out.

A subject knows how to run a program in a fresh VM, and perhaps how to suspend one; repeating, timing,
checking answers and holding many runs at once is done here, for all alike. serve.mjs is its twin for Node.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Request = dict[str, Any]
Columns = dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class Ran:
    """`inner_ms` leaves out making the VM, where the subject can tell them apart."""

    answer: Any
    inner_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """One suspension and its resumption. `snapshot` is its bytes, or their number where they stay inside."""

    answer: Any
    suspend_ms: float
    resume_ms: float
    snapshot: bytes | int


class Subject:
    """What a subject overrides; what it leaves alone is reported as something it does not have."""

    languages: tuple[str, ...] = ("javascript",)

    async def open(self) -> None: ...

    async def ready(self) -> None:
        """Before each measurement, not timed."""

    async def run(self, program: str, language: str) -> Ran:  # noqa: ARG002 - the shape of it
        raise Lacks("runs no programs")

    async def hold(self, program: str) -> Held:  # noqa: ARG002
        raise Lacks("has no snapshot of a program that waits")

    async def keep(self, program: str, count: int) -> None:  # noqa: ARG002
        raise Lacks("has no snapshot of a program that waits")

    async def limit(self, program: str, limit_ms: int) -> float:  # noqa: ARG002
        """Milliseconds from the start of an endless program until it has been stopped."""
        raise Lacks("has no time limit")


class Lacks(Exception):
    """The subject has no such thing: an empty cell in the table, not a failure."""


class WrongAnswer(Exception):
    pass


class Desk:
    """The host's tool. A negative number is never answered: such a program waits until its process ends."""

    def __init__(self) -> None:
        self.waiting = 0

    async def double(self, arguments: dict[str, int]) -> dict[str, int]:
        if arguments["i"] < 0:
            self.waiting += 1
            await asyncio.Event().wait()
        return {"value": arguments["i"] * 2}


desk = Desk()


def now_ms() -> float:
    return time.perf_counter() * 1000


def check(answer: Any, expected: Any) -> None:
    if answer != expected:
        raise WrongAnswer(f"answered {answer!r:.80}, expected {expected!r:.80}")


def serve(subject: Subject) -> None:
    """Answers until standard input ends, then leaves at once: what it holds is not worth a clean-up."""
    asyncio.run(_serve(subject))


async def _serve(subject: Subject) -> None:
    await subject.open()
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        reply = await answer(subject, json.loads(line))
        print(json.dumps(reply), flush=True)
    sys.stdout.flush()
    os._exit(0)  # inside the loop: some hold tasks that never end


async def answer(subject: Subject, request: Request) -> dict[str, Any]:
    try:
        return await _VERBS[request["verb"]](subject, request)
    except Lacks as lack:
        return {"lacks": str(lack)}
    except Exception as error:  # a subject that fails is a cell that says so
        return {"error": f"{type(error).__name__}: {error}"[:300]}


async def _run(subject: Subject, request: Request) -> dict[str, Any]:
    if request["language"] not in subject.languages:
        raise Lacks(f"runs no {request['language']}")

    async def once() -> dict[str, float]:
        await subject.ready()
        began = now_ms()
        ran = await subject.run(request["program"], request["language"])
        total = now_ms() - began
        check(ran.answer, request["expect"])
        return {"ms": total, "inner_ms": total if ran.inner_ms is None else ran.inner_ms}

    return {"columns": await _repeated(once, request)}


async def _hold(subject: Subject, request: Request) -> dict[str, Any]:
    packed: list[int] = []

    async def once() -> dict[str, float]:
        held = await subject.hold(request["program"])
        check(held.answer, request["expect"])
        times = {"suspend_ms": held.suspend_ms, "resume_ms": held.resume_ms}
        if isinstance(held.snapshot, int):
            return {**times, "bytes": held.snapshot}
        if not packed:  # once: compressing takes longer than what is measured
            packed.append(len(zlib.compress(held.snapshot, 1)))
        return {**times, "bytes": len(held.snapshot), "packed_bytes": packed[0]}

    return {"columns": await _repeated(once, request)}


async def _limit(subject: Subject, request: Request) -> dict[str, Any]:
    async def once() -> dict[str, float]:
        await subject.ready()
        return {"ms": await subject.limit(request["program"], request["limit_ms"])}

    return {"columns": await _repeated(once, request)}


async def _crowd(subject: Subject, request: Request) -> dict[str, Any]:
    """So many callers, each starting the next run when its last one has ended."""
    samples: list[float] = []
    await subject.ready()
    began = now_ms()
    end = began + request["seconds"] * 1000

    async def caller() -> None:
        while not samples or now_ms() < end:
            start = now_ms()
            check((await subject.run(request["program"], "javascript")).answer, request["expect"])
            samples.append(now_ms() - start)

    await asyncio.gather(*(caller() for _ in range(request["callers"])))
    return {"columns": {"ms": samples, "per_second": [len(samples) * 1000 / (now_ms() - began)]}}


async def _keep(subject: Subject, request: Request) -> dict[str, Any]:
    await subject.keep(request["program"], request["count"])
    gc.collect()
    return {"columns": {}}


async def _pend(subject: Subject, request: Request) -> dict[str, Any]:
    """Programs that stay alive, waiting for a tool, until this process ends."""
    wanted = desk.waiting + request["count"]
    started = (subject.run(request["program"], "javascript") for _ in range(request["count"]))
    _alive.extend(asyncio.ensure_future(run) for run in started)
    while desk.waiting < wanted:
        for task in _alive:
            if task.done():
                task.result()
        await asyncio.sleep(0.001)
    return {"columns": {}}


_alive: list[asyncio.Future[Ran]] = []


async def _repeated(once: Callable[[], Awaitable[dict[str, float]]], request: Request) -> Columns:
    """For about so long and at least so often; a subject so slow that this lasts too long gets fewer."""
    began = now_ms()
    first = await once()
    give_up = began + request["at_most_seconds"] * 1000
    rows = [] if request["warm_up"] and now_ms() < give_up else [first]
    gc.collect()
    gc.disable()
    end = now_ms() + request["seconds"] * 1000
    while not rows or (now_ms() < give_up and (len(rows) < request["least"] or now_ms() < end)):
        rows.append(await once())
    gc.enable()
    return {name: [row[name] for row in rows] for name in first}


_VERBS: dict[str, Callable[[Subject, Request], Awaitable[dict[str, Any]]]] = {
    "run": _run,
    "hold": _hold,
    "limit": _limit,
    "crowd": _crowd,
    "keep": _keep,
    "pend": _pend,
}
