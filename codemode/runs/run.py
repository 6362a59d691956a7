"""A run: its state machine, what it remembers, and the host work it waits for.

The one place that says which states follow which. `freeze` puts everything that must survive a suspension
into bytes for the snapshot, and `thaw` takes it out again, in this process or another. What cannot survive
(tasks, timers, whoever waits) stays in the Run, which is small while it is suspended.
"""

from __future__ import annotations

import asyncio
import contextvars
import enum
import secrets
import time
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal

import msgspec
from codemode_runtime.shapes import Settlement
from codemode_snapshots import Claim, Scope

from codemode.config import Language
from codemode.contract.results import Output
from codemode.contract.telemetry import CallRecord, CallStatus
from codemode.executor import ApprovalRequest, Calling, join
from codemode.runs.caller_task import CallerTask
from codemode.runs.environment import Environment
from codemode.runs.meter import RunMeter, Tally
from codemode.tools import CallContext, Tool
from codemode.trajectory import Recording, Trace, TraceState


class RunState(enum.StrEnum):
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    ABORTED = "aborted"


_NEXT: dict[RunState, frozenset[RunState]] = {
    RunState.RUNNING: frozenset({RunState.WAITING, RunState.COMPLETED, RunState.FAILED, RunState.ABORTED}),
    RunState.WAITING: frozenset({RunState.RUNNING, RunState.FAILED, RunState.EXPIRED, RunState.ABORTED}),
}

WorkMethod = Literal["call", "search", "describe", "namespace", "mcp", "timer", "yield"]


class Work(msgspec.Struct, omit_defaults=True):
    """One thing the host will settle. `args` is the guest's JSON array of arguments."""

    id: int
    method: WorkMethod
    since_ms: int
    target: str = ""
    tool: str = ""  # catalog id
    name: str = ""
    args: bytes = b""
    idempotent: bool = False
    due_ms: int = 0
    approval: ApprovalRequest | None = None
    reason: str = ""  # of a yield


class _Memory(msgspec.Struct, array_like=True):
    """The state in a snapshot. New fields go at the end, with a default."""

    program: str
    language: Language
    exact_positions: bool
    returned: bool
    meter: bytes
    pending: list[Work]
    settled: list[tuple[int, bool, bytes]]  # happened before the capture, not yet delivered
    trace: TraceState | None = None
    # under which policy, and for whom, its tools run; a restart must not change either
    provider: str | None = None
    model: str | None = None
    caller: tuple[str, str, str, str] = ("", "", "", "")  # session key, sender, channel, sandbox
    allow: tuple[str, ...] | None = None


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Memory)
_SHAPES = Recording()
_NO_CALLER = CallContext()


def new_run_id() -> str:
    """144 random bits: knowing other ids helps nobody to guess one."""
    return "run_" + secrets.token_urlsafe(18)


def wall_ms() -> int:
    return int(time.time() * 1000)


class Run:
    """A run as this process knows it. `program` and `meter` are there while a leg runs."""

    __slots__ = (
        "aborted", "adoption", "allow", "began", "calls", "claim", "context", "environment",
        "exact_positions", "expires_ms", "host_context", "id", "idle_waits", "is_adopted", "is_foreign",
        "is_frozen", "is_left", "is_listening", "is_told", "language", "late", "leg", "meter", "model",
        "output", "own_tools", "pending", "program", "provider", "returned", "scope", "seq", "settled",
        "state", "stored_bytes", "tasks", "timers", "trace", "unrecorded", "variables", "waiter",
    )  # fmt: skip

    def __init__(self, run_id: str, scope: Scope, environment: Environment, meter: RunMeter) -> None:
        self.id = run_id
        self.scope = scope
        self.environment = environment
        self.state = RunState.RUNNING
        self.program = ""
        self.language: Language = "javascript"
        self.exact_positions = True
        self.returned = False
        self.meter: RunMeter | None = meter
        self.trace = Trace(run_id, _SHAPES)
        self.output: list[Output] = []  # new since the last result
        self.pending: dict[int, Work] = {}
        self.settled: list[Settlement] = []  # in the order they happened
        # tuples, because most suspended runs have none of these and there may be thousands of them
        self.unrecorded: tuple[Settlement, ...] = ()  # of those, not yet in a durable store
        self.late: tuple[tuple[str, CallStatus, float, int], ...] = ()  # calls that finished while frozen
        self.idle_waits = 0  # in which nothing settled, since it was frozen
        self.seq = 0
        self.calls: list[Calling] = []  # under way; few at once
        self.tasks: dict[int, asyncio.Task[None]] = {}  # what else is
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.waiter: asyncio.Future[None] | None = None
        self.leg: CallerTask | None = None
        self.is_frozen = False
        self.is_adopted = False  # a dead engine's: what it waits for is not here
        self.adoption: asyncio.Lock | None = None  # whoever takes it over does so alone
        self.is_foreign = False  # another engine's after all
        self.is_left = False  # it stays in the store for another engine
        self.is_listening = False  # a wait is under way that has not touched the snapshot, which lasts
        self.is_told = False  # its end is known to whoever listens
        self.claim: Claim | None = None
        self.stored_bytes = 0  # of its snapshot
        self.expires_ms = 0
        self.aborted: str | None = None  # why, if somebody asked for it
        self.began = time.perf_counter()
        self.provider: str | None = None  # as the policy was asked
        self.model: str | None = None
        self.allow: tuple[str, ...] | None = None  # the run's own allowlist, below the policy
        self.own_tools: tuple[Tool, ...] = ()
        self.host_context: CallContext | None = None
        self.context: CallContext | None = None  # the same, bound to this run
        self.variables: contextvars.Context | None = None  # of whoever started it

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.state} {len(self.pending)} pending>"

    def move(self, to: RunState) -> None:
        """The only way to change state; an ended run stays as it ended."""
        if to not in _NEXT.get(self.state, frozenset()):
            raise RuntimeError(f"a run cannot go from {self.state} to {to}")
        self.state = to

    @property
    def has_ended(self) -> bool:
        return self.state not in _NEXT

    def require_meter(self) -> RunMeter:
        """While a leg runs there is one."""
        assert self.meter is not None
        return self.meter

    def note_finished(self, call_id: str, status: CallStatus, ms: float, size: int) -> None:
        """For the ledger; while the run is frozen, for when it is thawed."""
        if self.meter is None or self.is_frozen:
            finished: tuple[str, CallStatus, float, int] = (call_id, status, ms, size)
            self.late = (*self.late, finished)
        else:
            self.meter.finish_call(call_id, status, ms, size)

    def freeze(self) -> bytes:
        """The state for a snapshot. From here on what settles is news for the next leg."""
        meter = self.require_meter()
        pending = [_kept(work) for work in self.pending.values()]
        settled = [(s.id, s.rejected, s.json) for s in self.settled]
        memory = _Memory(
            self.program, self.language, self.exact_positions, self.returned, meter.encode(), pending,
            settled, self.trace.freeze(), self.provider, self.model, self._caller(),
            self.allow,
        )  # fmt: skip
        self.is_frozen = True
        self.idle_waits = 0
        return zlib.compress(_encoder.encode(memory), 6)

    def unfreeze(self) -> None:
        """The snapshot could not be kept: what finished meanwhile is for this leg after all."""
        self.is_frozen = False
        self._catch_up()

    def shrink(self) -> None:
        """Drops what the snapshot has."""
        if self.meter is not None:
            self.trace.pack(self.meter.calls)
        self.program = ""
        self.meter = None
        self.context = None
        self.output = []

    def thaw(self, state: bytes, tally: Tally) -> _Memory:
        """Only for bytes out of an envelope of ours. Pending work is the caller's to compare."""
        memory = _decoder.decode(zlib.decompress(state))
        self.program, self.language = memory.program, memory.language
        self.exact_positions, self.returned = memory.exact_positions, memory.returned
        self.meter = RunMeter.resume(tally, memory.meter)
        self.meter.remember_waits(self.idle_waits)
        self.meter.remember_stored(self.stored_bytes)
        self.is_frozen = False
        self._catch_up()
        self.trace.thaw(memory.trace)
        self.provider, self.model, self.allow = memory.provider, memory.model, memory.allow
        if self.host_context is None:
            key, sender, channel, sandbox = memory.caller
            self.host_context = CallContext(session_key=key, sender=sender, channel=channel, sandbox=sandbox)
        return memory

    def _catch_up(self) -> None:
        meter = self.require_meter()
        for call_id, status, ms, size in self.late:
            meter.finish_call(call_id, status, ms, size)
        self.late = ()

    def call_context(self) -> CallContext:
        """What the host said about the caller, bound to this run; made once."""
        if self.context is None:
            given = self.host_context or _NO_CALLER
            self.context = replace(
                given, agent_id=self.scope.agent, session_id=self.scope.session, run_id=self.id
            )
        return self.context

    def _caller(self) -> tuple[str, str, str, str]:
        given = self.host_context or _NO_CALLER
        return given.session_key, given.sender, given.channel, given.sandbox

    def settle(self, settlement: Settlement) -> None:
        """Queues for the next delivery and wakes whoever waits for one."""
        work = self.pending.pop(settlement.id, None)
        if work is None:
            return  # settled before, or cleared by the program
        self.settled.append(settlement)
        if self.is_frozen and work.method not in ("timer", "yield"):
            self.unrecorded += (settlement,)
        self.wake()

    def take_settled(self) -> list[Settlement]:
        ready, self.settled = self.settled, []
        return ready

    def wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def news(self, until: float) -> bool:
        """Waits until something settles or asks for approval; False if the deadline came first.

        Whoever waits says when with `alarm_at` first: one alarm serves all the waits of a leg.
        """
        loop = asyncio.get_running_loop()
        if loop.time() >= until:
            return False
        waiter = self.waiter = loop.create_future()
        try:
            await waiter
        finally:
            self.waiter = None
        return bool(self.settled) or loop.time() < until

    @contextmanager
    def alarm_at(self, until: float) -> Generator[None]:
        alarm = asyncio.get_running_loop().call_at(until, self.wake)
        try:
            yield
        finally:
            alarm.cancel()

    def stop_work(self) -> None:
        """Cancels what still runs for this run, without waiting for it."""
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        for call in self.calls:
            call.stop()
        for task in self.tasks.values():
            if not task.cancelling():  # a second cancel would cut the first one's clean-up short
                task.cancel()

    async def cancel_work(self) -> None:
        """The same, and returns when it has stopped."""
        self.stop_work()
        calls, running = list(self.calls), list(self.tasks.values())
        if running:
            await asyncio.wait(running)
        if calls:
            await join(calls)
        self.tasks.clear()
        self.calls.clear()
        self.pending.clear()


def read_trace(state: bytes) -> tuple[TraceState | None, tuple[CallRecord, ...]]:
    """What happened until the snapshot, without going on with it. Only for bytes of our own envelopes."""
    memory = _decoder.decode(zlib.decompress(state))
    return memory.trace, RunMeter.resume(Tally(), memory.meter).calls


def _kept(work: Work) -> Work:
    """Arguments are only needed where the call may have to be started, or started again."""
    if work.idempotent or work.approval is not None:
        return work
    return msgspec.structs.replace(work, args=b"")
