"""A worker that answers and is gone: the answer counts, in whichever order the host hears of the two."""

from __future__ import annotations

import asyncio
import socket

from codemode_runtime import orders, wire
from codemode_runtime.frames import encode_frame
from codemode_runtime.shapes import Limits
from msgspec import Raw

from codemode.workers.busy_wait import Processors
from codemode.workers.errors import SupervisorError, WorkerLost
from codemode.workers.worker import Worker


class Owner:
    """What a pool is to its workers; remembers who has gone."""

    def __init__(self) -> None:
        self.exited: list[int | None] = []

    def worker_is_ready(self, worker: Worker) -> None: ...
    def worker_is_free(self, worker: Worker, reusable: bool) -> None: ...
    def kill_worker(self, worker: Worker) -> None: ...

    def worker_has_exited(self, worker: Worker, status: int | None) -> None:
        self.exited.append(status)


class NoDescriptor:
    offer = orders.Offer()

    def lookup(self, kind: object, key: str) -> bytes | None: ...


async def outcome_of(last_words: bytes) -> wire.Outcome | SupervisorError:
    """Of a worker that sends this and ends, and whose end the host hears of first."""
    owner = Owner()
    ours, theirs = socket.socketpair()
    worker = Worker(1, ours, owner, legs=1, grace_ms=20_000, memory_bytes=64 << 20, processors=Processors())
    worker.lend()
    leg = asyncio.create_task(worker.start("for (;;);", "javascript", Limits(), 100, NoDescriptor()))
    await asyncio.sleep(0)  # the request is on its way
    theirs.sendall(last_words)
    theirs.close()
    worker.exited(0)  # before the loop has looked at the socket
    try:
        return await leg
    except SupervisorError as error:
        return error
    finally:
        worker.release()
        assert owner.exited == [0]


async def test_the_answer_of_a_worker_that_ended_at_once_is_not_lost() -> None:
    said = wire.Interrupted(Raw(b'[{"type":"text","text":"so far"}]'))
    outcome = await outcome_of(encode_frame(wire.encode(said)))
    assert isinstance(outcome, wire.Interrupted)
    assert outcome.messages == (wire.Text("so far"),)


async def test_half_an_answer_is_none() -> None:
    said = wire.Interrupted(Raw(b"[]"))
    outcome = await outcome_of(encode_frame(wire.encode(said))[:-1])
    assert isinstance(outcome, WorkerLost)


async def test_a_worker_that_sends_more_output_than_its_program_may_make_is_not_believed() -> None:
    """Counted as the guest counts, to the byte: `\\u000c` and `\\f` are one sign, which takes two bytes."""
    allowed = Limits().output_bytes - len('{"type":"text","text":"\\f"}')
    for size, kind in ((allowed, wire.Idle), (allowed + 1, SupervisorError)):
        sent = Raw(b'[{"type":"text","text":"\\u000c%s"}]' % (b"x" * size))
        said = wire.Idle(sent, False, 1, 0, 0)
        outcome = await outcome_of(encode_frame(wire.encode(said)))
        assert isinstance(outcome, kind)
