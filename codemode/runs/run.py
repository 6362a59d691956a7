"""A run: one program's life, as this process knows it.

Only this module assigns to a run's fields; other modules call its methods. phases.py says which phase may
follow which. Freezing a run makes bytes of it (frozen.py), and stored_runs.py stores them.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from dataclasses import replace
from typing import Any

import msgspec
from codemode_runtime.shapes import Settlement
from codemode_snapshots import NO_VALUE, Claim, RunScope

from codemode.config import Language
from codemode.contract.telemetry import CallEnd
from codemode.otel.story import Story
from codemode.runs.caller_task import CallerTask
from codemode.runs.contents import Contents
from codemode.runs.environment import Environment
from codemode.runs.frozen import Memory, freeze_memory
from codemode.runs.in_flight import InFlight
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.movable import Movable
from codemode.runs.phases import (
    ENDS,
    NEXT,
    STATES,
    Active,
    Adoptable,
    Ended,
    Origin,
    Phase,
    Running,
    RunState,
    Suspended,
    new_run_id,
)
from codemode.tools import CallContext, Tool
from codemode.trajectory import Recording, Trace

_SHAPES = Recording()


class Run:
    """One run. `started` or `adopted` makes it."""

    __slots__ = (
        "_active", "_claim", "_context", "_expires_ms", "_is_listening", "_is_requested", "_is_told",
        "_late", "_number", "_opening", "_phase", "_stop_keeps", "_stop_reason", "began", "build",
        "caller_task", "contents", "environment", "id", "in_flight", "is_lost", "origin", "scope", "story",
        "trace",
    )  # fmt: skip

    def __init__(
        self,
        run_id: str,
        scope: RunScope,
        environment: Environment,
        origin: Origin,
        phase: Phase,
        trace: Trace,
    ) -> None:
        self.id = run_id
        self.scope = scope
        self.environment = environment
        self.origin = origin
        self.trace = trace
        self.in_flight = InFlight()
        self.contents = Contents()
        self.story: Story | None = None
        self.began = time.perf_counter()
        self.caller_task: CallerTask | None = None  # the task that leads its leg now
        self._phase: Phase = phase
        self._active: Active | None = None
        self._late: tuple[CallEnd, ...] = ()  # calls that finished while it was suspended
        self._claim: Claim | None = None
        self._expires_ms = 0
        self.build = ""  # of the guest image that it began in; "" until it is known
        self._number = -1
        self._opening: asyncio.Lock | None = None
        self._stop_reason: str | None = None
        self._stop_keeps = self._is_listening = self._is_told = self._is_requested = self.is_lost = False
        self._context: CallContext | None = None

    @classmethod
    def started(
        cls, scope: RunScope, environment: Environment, origin: Origin, tally: Tally, run_id: str = ""
    ) -> Run:
        """A new run under a new id. `set_program` gives it its program, once hooks have seen that."""
        run_id = run_id or new_run_id()
        run = cls(run_id, scope, environment, origin, Running(), Trace(run_id, _SHAPES))
        run._active = Active("", "javascript", RunMeter(tally))
        return run

    @classmethod
    def adopted(
        cls,
        run_id: str,
        scope: RunScope,
        environment: Environment,
        tools: tuple[Tool, ...],
        expires_ms: int,
        trace: Trace,
    ) -> Run:
        """A run in the store. `take_over` reads for whom it runs; only then are its tools decided."""
        run = cls(run_id, scope, environment, Origin(tools=tools), Adoptable(), trace)
        run._expires_ms = expires_ms
        return run

    def __repr__(self) -> str:
        return f"<Run {self.id} {self.state} {len(self.in_flight.pending)} pending>"

    # ---- what it is ----------------------------------------------------------------------------------------

    @property
    def phase(self) -> Phase:
        return self._phase

    @property
    def state(self) -> RunState:
        phase = self._phase
        return phase.how if isinstance(phase, Ended) else STATES[type(phase)]

    @property
    def has_ended(self) -> bool:
        return isinstance(self._phase, Ended)

    @property
    def is_suspended(self) -> bool:
        return isinstance(self._phase, Suspended)

    @property
    def is_stored(self) -> bool:
        """Suspended, and its snapshot is in the store."""
        return isinstance(self._phase, Suspended) and self._phase.is_stored

    @property
    def is_adoptable(self) -> bool:
        """It is in the store for anybody, and it may be opened here already."""
        return isinstance(self._phase, Adoptable)

    @property
    def is_unopened(self) -> bool:  # and what its snapshot holds is not known here
        return isinstance(self._phase, Adoptable) and self._active is None

    @property
    def active(self) -> Active:
        """What the leg works with; only while a leg works on the run, and just after."""
        assert self._active is not None, "no leg works on this run"
        return self._active

    @property
    def meter(self) -> RunMeter | None:
        """The ledger and the counts; None while they are only in the snapshot."""
        return None if self._active is None else self._active.meter

    @property
    def late(self) -> tuple[CallEnd, ...]:
        return self._late

    @property
    def claim(self) -> Claim | None:
        """The right to write its snapshot, while this process holds it."""
        return self._claim

    @property
    def number(self) -> int:
        """Of the claim that made its snapshot, known here, or -1. After any but the next, others had it."""
        return self._number

    @property
    def opening(self) -> asyncio.Lock:
        """So that one caller at a time reads or claims it out of the store."""
        self._opening = self._opening or asyncio.Lock()
        return self._opening

    def set_build(self, build: str) -> None:
        self.build = "" if build == NO_VALUE else build

    @property
    def expires_ms(self) -> int:
        return self._expires_ms

    # ---- phases --------------------------------------------------------------------------------------------

    def _enter(self, phase: Phase) -> None:
        """Only this changes the phase."""
        allowed = type(phase) in NEXT[type(self._phase)]
        if isinstance(phase, Ended):
            allowed = allowed and phase.how in ENDS[type(self._phase)]
        if not allowed:
            wanted = phase.how if isinstance(phase, Ended) else type(phase).__name__
            raise RuntimeError(f"a run cannot go from {type(self._phase).__name__} to {wanted}")
        self._phase = phase

    def freeze(self) -> bytes:
        """Suspends the run and returns its state for a snapshot. What settles later is for the next leg."""
        state = freeze_memory(self)
        self._enter(Suspended())
        return state

    def stored(self, size: int, expires_ms: int, build: str) -> None:
        """The snapshot is written: drops what the snapshot holds."""
        phase = self._phase
        assert isinstance(phase, Suspended), "only a suspended run is stored"
        phase.is_stored, phase.stored_bytes, self._expires_ms = True, size, expires_ms
        self._number = 0 if self._claim is None else self._claim.number
        self.build = build
        self.trace.pack(self.active.meter.calls)
        self._active = self._claim = self._context = None

    def unfreeze(self) -> None:
        """The snapshot could not be written: calls that finished meanwhile belong to this leg after all."""
        self._enter(Running())
        self.in_flight.take_unrecorded()
        self._catch_up(self.active.meter)

    def take_over(self, memory: Memory, tally: Tally) -> None:
        """Opens a run out of the store. It stays Adoptable until it resumes or rests."""
        assert isinstance(self._phase, Adoptable), "only what is in the store for anybody is taken over"
        key, sender, channel, sandbox = memory.caller
        context = CallContext(session_key=key, sender=sender, channel=channel, sandbox=sandbox)
        self.origin = msgspec.structs.replace(
            self.origin, provider=memory.provider, model=memory.model, allow=memory.allow, context=context
        )
        pending = {str(work.id) for work in memory.pending}  # what is not is in its ledger already
        self._late = tuple(end for end in self._late if end.id in pending)
        self._open(memory, RunMeter.resume(tally, memory.meter))
        self.in_flight.load(memory.pending, memory.settlements(), memory.asked)
        self.contents.load(memory.contents, memory.shown_content)

    def rest(self, number: int, expires_ms: int) -> None:
        """Suspends a run that was taken over, unchanged: its snapshot is that of claim `number`."""
        self._enter(Suspended(is_stored=True))
        self.trace.pack(self.active.meter.calls)
        self._number, self._expires_ms = number, expires_ms
        self._active = self._claim = self._context = None

    def renumber(self, number: int) -> None:  # it was claimed and released here, and is as it was
        self._number = number

    def resume(self, memory: Memory | None, tally: Tally) -> None:
        """Makes it Running. `memory` is what its snapshot holds; None if it was taken over before."""
        if memory is not None:
            self._open(memory, self._meter_of(memory, tally))
        self._late = ()  # its meter has them
        self._enter(Running())

    def _meter_of(self, memory: Memory, tally: Tally) -> RunMeter:
        """The snapshot's own, with what has happened to the snapshot since."""
        meter = RunMeter.resume(tally, memory.meter)
        if isinstance(self._phase, Suspended):
            meter.remember_waits(self._phase.idle_waits)
            meter.remember_stored(self._phase.stored_bytes)
        return meter

    def _open(self, memory: Memory, meter: RunMeter) -> None:
        active = self._active = Active(memory.program, memory.language, meter)
        active.remember(memory.returned, memory.named_tools, memory.world, memory.checkpoints, memory.tape)
        self._catch_up(meter)
        self.trace.thaw(memory.trace)
        self.story = memory.story or self.story

    def _catch_up(self, meter: RunMeter) -> None:
        for end in self._late:
            meter.finish_call(end)
        self._late = ()

    def let_go(self) -> None:
        """Leaves the run in the store as it is, for an engine that can open it; keeps nothing of it here."""
        if not isinstance(self._phase, Adoptable):
            self._enter(Adoptable())
        if self._active is not None:
            self.trace.pack(self._active.meter.calls)
        self._active = self._claim = None
        self._number = -1

    def end(self, how: RunState) -> None:
        self._enter(Ended(how))

    # ---- what happens to it --------------------------------------------------------------------------------

    def set_program(self, program: str, language: Language) -> None:
        self.active.program, self.active.language = program, language

    def set_environment(self, environment: Environment) -> None:
        self.environment = environment

    def set_trace(self, trace: Trace) -> None:
        self.trace = trace

    def tell_story(self, story: Story) -> None:
        self.story = story

    def carry(self, variables: contextvars.Context) -> None:  # of the latest caller: the first may be gone
        self.origin = msgspec.structs.replace(self.origin, variables=variables)

    def hold(self, claim: Claim) -> None:
        self._claim = claim

    def reserve(self, claim: Claim) -> None:  # for a request that may be sent again
        self._claim, self._is_requested = claim, True

    @property
    def was_requested(self) -> bool:
        return self._is_requested

    def lose(self) -> None:  # to another engine: what comes of it here does not count
        self.is_lost = True

    def take_claim(self) -> Claim | None:
        claim, self._claim = self._claim, None
        return claim

    def note_finished(self, end: CallEnd) -> None:
        """Tells the ledger of a call's end; while the run is suspended, keeps that until it goes on."""
        if self._active is None or isinstance(self._phase, Suspended | Adoptable):
            self._late = (*self._late, end)  # also of one that is only looked at, and then rests as it was
        if self._active is not None and not isinstance(self._phase, Suspended):
            self._active.meter.finish_call(end)

    def note_idle_wait(self) -> None:
        if isinstance(self._phase, Suspended):
            self._phase.idle_waits += 1

    def look(self, memory: Memory, tally: Tally) -> RunMeter:
        """The ledger and the counts of a suspended run as they are now; the run stays as it is."""
        meter = self._meter_of(memory, tally)
        for end in self._late:
            meter.finish_call(end)
        return meter

    def settle(self, settlement: Settlement) -> None:
        """Queues the settlement for the next delivery and wakes a leg that waits for one."""
        flight, phase = self.in_flight, self._phase
        work = flight.settle(settlement)
        if isinstance(phase, Running | Ended):
            return
        if work is not None and work.is_call and isinstance(phase, Suspended):
            phase.settled_calls += 1
        if settlement.id in flight.takes:
            flight.unrecorded.append(settlement)

    def call_context(self) -> CallContext:
        """What the host said about the caller, with this run's ids; made once for a leg."""
        if self._context is None:
            self._context = replace(
                self.origin.context,
                agent_id=self.scope.agent,
                session_id=self.scope.session,
                run_id=self.id,
                contents=self.contents,
            )
        return self._context

    # ---- its leg, and how others end it --------------------------------------------------------------------

    def expect_leg(self, leg: Movable[Any]) -> None:
        """Notes that `leg` will be led next, and not by the whole of the caller's task."""
        self.caller_task = CallerTask(leg)

    def begin_lead(self) -> CallerTask:
        """The task that leads a leg calls this first, so that others can stop it, and `end_lead` last."""
        task = self.caller_task = self.caller_task or CallerTask.running()
        return task

    def end_lead(self, task: CallerTask) -> None:
        self.caller_task = None
        task.end()

    def listen(self, is_listening: bool) -> None:
        """While True it waits and has not touched the snapshot: it can be left, and nothing is lost."""
        self._is_listening = is_listening

    @property
    def is_listening(self) -> bool:
        return self._is_listening

    def stop(self, reason: str, *, keeps: bool = False) -> None:
        """Notes why its leg has to end. `keeps`: the run itself stays in the store for another engine."""
        self._stop_reason, self._stop_keeps = reason, keeps

    @property
    def stop_reason(self) -> str | None:
        return self._stop_reason

    @property
    def is_left(self) -> bool:
        """The engine is being closed, and the run stays in the store."""
        return self._stop_keeps

    def tell_end_once(self) -> bool:  # True for the first call only, in whatever way the run ends
        is_first, self._is_told = not self._is_told, True
        return is_first
