"""What a host says, as bytes, to a real confined worker: it answers, or its process ends by itself.

The host is trusted, so a worker need not understand rubbish; but it must not hang with it, nor be ended by a
signal, and its zygote must go on making workers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from random import Random

from codemode_runtime import orders
from codemode_runtime.frames import encode_frame
from codemode_runtime.shapes import Limits, Settlement, pack_settlements
from msgspec import Raw

from codemode.config import EngineSettings
from codemode.workers.errors import Aborted, ProtocolViolation, WorkerLost
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker
from tests.fuzz.mutation import change_bytes, rubbish
from tests.fuzz.runner import Subject
from tests.harness.loops import until
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.workers import Offering, value_of

_BUDGET_MS = 200
_SETTLED = pack_settlements([Settlement(1, b'{"a": 1}'), Settlement(2, b'{"message": "no"}', rejected=True)])


@cache
def samples() -> tuple[bytes, ...]:
    limits, offer = Limits(), orders.Offer(False, True, (orders.OfferedAnswer(1, "echo", Raw(b'"id"')),))
    program = "const r = await tools.call('echo', 1); return [r, await tools.call('x')]"
    return tuple(
        orders.encode(order)
        for order in (
            orders.StartLeg(program, "javascript", limits, _BUDGET_MS, offer),
            orders.StartLeg("return 1 as any", "typescript", limits, _BUDGET_MS, offer),
            orders.ResumeLeg(limits, _BUDGET_MS, offer, len(_SETTLED)),
            orders.Deliver(),
            orders.Capture(1 << 20),
            orders.Reset(),
            orders.LookupAnswer(True),
        )
    )


class WorkerOrders:
    """An input is what a host writes to the socket of one fresh worker."""

    def __init__(self, loop: asyncio.Runner, supervisor: Supervisor) -> None:
        self._loop = loop
        self._supervisor = supervisor

    def make(self, dice: Random) -> bytes:
        stream: list[bytes] = [encode_frame(samples()[0])] if dice.random() < 0.5 else []
        for _ in range(dice.randrange(1, 4)):
            head = dice.choice(samples())
            if dice.random() < 0.7:
                head = change_bytes(dice, head, samples())
            tail = dice.choice((b"", _SETTLED, change_bytes(dice, _SETTLED, [_SETTLED]), rubbish(dice)))
            stream.append(encode_frame(head, tail))
        data = b"".join(stream)
        return change_bytes(dice, data, stream) if dice.random() < 0.3 else data

    def check(self, data: bytes) -> None:
        self._loop.run(self._check(data))

    async def _check(self, data: bytes) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            with await self._supervisor.lease() as worker:
                status = await _say(worker, data)
            # a status is there if it ended by itself: a worker that fails does so with a traceback
            assert status is None or status >= 0, f"the worker was ended by signal {-status}"
            assert await value_of(self._supervisor, "return 6 * 7") == 42


async def _say(worker: Worker, data: bytes) -> int | None:
    """Sends the bytes, then asks for something proper; the exit status if the worker has not survived."""
    channel = worker._channel  # pyright: ignore[reportPrivateUsage] - to break the rules of frames
    await until(lambda: worker.pid)
    channel.send([data])
    try:
        await worker.start("return 1", "javascript", Limits(), _BUDGET_MS, Offering())
    except WorkerLost as lost:
        return lost.status
    except (ProtocolViolation, Aborted):
        return None
    return None


@contextmanager
def worker_orders() -> Generator[Subject]:
    with asyncio.Runner() as loop:
        supervisor = loop.run(_open())
        try:
            yield WorkerOrders(loop, supervisor)
        finally:
            loop.run(supervisor.close())


async def _open() -> Supervisor:
    supervisor = Supervisor(WorkerSettings(EngineSettings(warm_workers=2), grace_ms=100))
    await supervisor.start()
    return supervisor
