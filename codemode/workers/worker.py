"""The host's end of one worker, which the engine holds while it runs one leg of a run.

    with await supervisor.lease(session=..., flavour=...) as worker:
        outcome = await worker.start(...)          # or worker.send_resume(...), then await worker.outcome()
        while isinstance(outcome, wire.Idle): ...  # do what the guest asks for, then
            outcome = await worker.deliver(...)    # or await worker.capture(...), to resume it elsewhere

Everything a worker says is untrusted: at the first deviation it is killed and its leg fails. The worker keeps
the deadline itself; the clock here is for a worker that does not obey. Cancelling an await kills the worker.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence

from codemode_runtime import batches, orders, wire
from codemode_runtime.frames import Data, Frame, FrameRefused, frame_parts
from codemode_runtime.language import Language
from codemode_runtime.shapes import MAX_OUTPUT_ITEMS, Layer, Limits, Lookup, Settlement, pack_settlements

from codemode.gate.heartbeat import Alarm
from codemode.workers import gathering
from codemode.workers.busy_wait import BusyWait, Processors
from codemode.workers.channel import Channel
from codemode.workers.checks import Checks
from codemode.workers.errors import Aborted, ProtocolViolation, SupervisorError, WorkerLost
from codemode.workers.kept import Service, Tenant
from codemode.workers.parties import UNHEARD, RunDescriptor, TapeSink, WorkerOwner

# For captures: the guest computes nothing then, so no budget bounds them.
_PATIENCE_SECONDS = 30.0
_CLOSE_SECONDS = 0.001
_ATTEND = frame_parts(orders.encode(orders.Attend()))
_DELIVER = orders.encode(orders.Deliver())
_RECORD = frame_parts(orders.encode(orders.TapeReads()))
_RESET = frame_parts(orders.encode(orders.Reset()))
_MAX_CODE = 64 << 20  # bytes that a compiler makes of a program, at most


class Worker:
    """Takes one request at a time. `release` ends the lease and must be called; leaving `with` does it."""

    def __init__(
        self,
        token: int,
        connection: socket.socket,
        owner: WorkerOwner,
        *,
        legs: int,
        grace_ms: int,
        memory_bytes: int,
        processors: Processors,
        checks: Checks | None = None,
    ) -> None:
        self.token = token
        self.pid: int | None = None
        self.refusal = ""  # why the system gave it no process
        self.layers: tuple[Layer, ...] = ()
        self.is_leased = False
        self.was_killed = False
        self.was_dismissed = False  # told to end; whether it obeys or is killed says nothing of a crash
        self.session = ""  # whose leg it runs
        self.tenant: Tenant | None = None  # who alone may have its further legs
        self._service = Service(legs)
        self._owner = owner
        self._grace = grace_ms / 1000
        self._memory_bytes = memory_bytes
        self._checks = checks  # None: it checks what it is given itself
        self.checker: Worker | None = None  # it checks the text of this worker's leg, and dies with it
        self._loop = asyncio.get_running_loop()
        self._channel = Channel(connection, self._on_frame, self._on_end)
        self._busy_wait = BusyWait(processors)
        self._reply: asyncio.Future[tuple[wire.FromWorker, Data]] | None = None
        self._descriptor: RunDescriptor | None = None
        self._tape: TapeSink = UNHEARD
        self._world: Data = b""  # in which the leg's program starts
        self._alarm: Alarm | None = None  # for the leg's deadline, or for one deliver after it
        self._deadline = self._late = 0.0  # of the leg, and by how much a late delivery may move it
        self._is_computing = False
        self._max_tail = self._output_left = self._items_left = 0
        self._is_starting, self._is_suspect = True, False
        self._fault: SupervisorError | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = "starting" if self._is_starting else "leased" if self.is_leased else "ready"
        return f"<Worker {self.token} pid {self.pid} {state if self._fault is None else 'lost'}>"

    @property
    def is_usable(self) -> bool:
        """Asks the socket too: it knows of a worker killed a moment ago, before the zygote has told."""
        return self._fault is None and not self._channel.is_deserted()

    @property
    def output_left(self) -> int:
        """Bytes of output that the leg may still write."""
        return self._output_left

    async def start(
        self,
        program: str,
        language: Language,
        limits: Limits,
        budget_ms: int,
        descriptor: RunDescriptor,
        late_ms: int = 0,
        world: Data | None = None,
    ) -> wire.Outcome:
        """Runs the program to its first outcome. The budget is for the leg, from when the worker gets it;
        after a delivery near its end the guest may compute for `late_ms`. `world`: what programs before it
        have left, empty for the first; with None what it declares is its own."""
        self._begin(descriptor, limits)
        self._tape.opened("start", (), limits, descriptor.offer)
        keeps, self._world = world is not None, world or b""
        start = orders.StartLeg(program, language, limits, budget_ms, descriptor.offer, late_ms, keeps=keeps)
        return await (self.run_text(start) if self._checks is None else self._checks.run(start, self))

    async def try_text(self, start: orders.StartLeg) -> wire.Outcome | wire.Doubtful:
        """Runs a text that nobody has checked, if it can only be JavaScript."""
        self._open(frame_parts(orders.encode(start), self._world), start.budget_ms, start.late_ms)
        answer, tail = await self._computed()
        if isinstance(answer, wire.Doubtful):
            return answer
        return await self._taken(answer, tail)

    async def run_text(self, start: orders.StartLeg) -> wire.Outcome:
        """Runs a text that was checked, or that its worker checks."""
        self._open(frame_parts(orders.encode(start), self._world), start.budget_ms, start.late_ms)
        return await self.outcome()

    async def check(
        self, program: str, language: Language, budget_ms: int
    ) -> tuple[wire.Checked | wire.Refused | wire.Interrupted[wire.GuestMessages], str]:
        """For a checker: its verdict, and the code to run if the text is a program."""
        self._channel.reader.max_tail = _MAX_CODE
        self._open(frame_parts(orders.encode(orders.CheckText(program, language, budget_ms))), budget_ms, 0)
        self._is_computing = True
        answer, code = await self._answer()
        if not isinstance(answer, gathering.CHECKED):
            raise self._break(ProtocolViolation("the checker answered with something else"))
        try:
            return answer, bytes(code).decode()
        except UnicodeDecodeError:
            raise self._break(ProtocolViolation("the checker's code is no text")) from None

    def record(self, tape: TapeSink | None, order: list[Data] = _RECORD) -> None:
        """From the leg's next request on `tape` hears of all of them; None: nobody does. `order` says whether
        the guest reads clocks and randomness as they are, or as they were (orders.TapeReads)."""
        self._tape = tape or UNHEARD
        if tape is not None and self._fault is None:
            self._channel.send(order)

    def attend(self) -> None:
        """Wakes the worker for a request that follows at once: waking takes as long as preparing it."""
        if self._fault is None:
            self._busy_wait.wake(lambda: self._channel.send(_ATTEND), self.pid)

    def send_resume(
        self,
        delta: Data,
        settlements: Sequence[Settlement],
        limits: Limits,
        budget_ms: int,
        descriptor: RunDescriptor,
        late_ms: int = 0,
    ) -> None:
        """Has the worker restore a captured guest and deliver settlements; `outcome` waits for the result, so
        that the caller can prepare itself while the worker works."""
        self._begin(descriptor, limits)
        self._tape.opened("resume", settlements, limits, descriptor.offer)
        packed = pack_settlements(settlements)
        resume = orders.ResumeLeg(limits, budget_ms, descriptor.offer, len(packed), late_ms)
        self._open(frame_parts(orders.encode(resume), delta, packed), budget_ms, late_ms)

    async def deliver(self, settlements: Sequence[Settlement]) -> wire.Outcome:
        """Settles work that an idle guest waits for, in this order."""
        self._tape.delivered(settlements)
        now = self._loop.time()
        if self._alarm is None or now + self._late > self._deadline:
            self._stop_alarm()
            left = min(now, self._deadline) + self._late - now
            self._alarm = Alarm(max(left, 0) + self._grace, self._on_overdue)
        self._send(frame_parts(_DELIVER, pack_settlements(settlements)))
        return await self.outcome()

    async def capture(self, max_bytes: int, *, at_rest: bool = False) -> tuple[wire.Captured, Data]:
        """The delta of an idle guest, which can go on afterwards; empty if it would exceed `max_bytes`. With
        `at_rest` that of a guest whose program is done, for another to `start` in."""
        self._channel.reader.max_tail = max_bytes
        patience = Alarm(_PATIENCE_SECONDS, lambda: self._break(WorkerLost(None)))
        try:
            self._send(frame_parts(orders.encode(orders.Capture(max_bytes, at_rest))))
            message, delta = await self._answer()
        finally:
            patience.cancel()
        self._channel.reader.max_tail = self._max_tail
        if not isinstance(message, wire.Captured):
            raise self._break(ProtocolViolation("the worker answered a capture with something else"))
        self._tape.captured(message)
        return message, delta

    def release(self) -> None:
        """Ends the lease. Kills a worker that is still computing."""
        if not self.is_leased:
            return
        self.is_leased = False
        self._descriptor, self._tape, self._world = None, UNHEARD, b""
        self._stop_alarm()
        if self._reply is not None:
            self._busy_wait.end()
            self._break(Aborted("the lease ended while the guest computed"))
        reusable = self._service.end(self._loop.time()) and self.is_usable and not self._is_suspect
        # later, so that the task that waits for the outcome does not wait for a process to wake or to end
        if reusable:
            self._is_starting = True
            self._loop.call_later(0, self._channel.send, _RESET)
        else:
            self._loop.call_later(_CLOSE_SECONDS, self._channel.close)
        self._owner.worker_is_free(self, reusable)

    def kill(self, reason: str = "the run was aborted") -> None:
        """May be called at any moment; a task that awaits an outcome gets Aborted."""
        self._break(Aborted(reason))

    def refuse(self, why: str) -> SupervisorError:
        """Kills the worker because its guest said what no guest says. Returns the error to raise."""
        return self._break(ProtocolViolation(why))

    def retire(self) -> None:
        """The pool calls this for a worker that is no longer needed: it ends when its socket closes."""
        self._channel.close()

    def lend(self, tenant: Tenant | None = None, *, is_last: bool = False) -> None:
        """The pool calls this when it leases the worker."""
        self.is_leased, self.tenant = True, tenant
        self._service.begin(self._loop.time(), is_last)

    def exited(self, status: int | None) -> None:
        """The zygote calls this when the process is gone."""
        if self._fault is None:
            # its last message may still be in the socket: a watchdog answers and at once ends the process
            self._channel.drain()
            self._fault = self._fault or WorkerLost(status)
        self._channel.close()
        self._stop_alarm()
        self._fail_reply()
        self._owner.worker_has_exited(self, status)

    def _begin(self, descriptor: RunDescriptor, limits: Limits) -> None:
        if limits.memory_bytes > self._memory_bytes:
            raise ValueError(f"a heap of {limits.memory_bytes} bytes: workers have {self._memory_bytes}")
        self._descriptor = descriptor
        self._max_tail = self._channel.reader.max_tail = gathering.largest_batch(limits)
        self._output_left, self._items_left = limits.output_bytes, MAX_OUTPUT_ITEMS

    def _open(self, request: list[Data], budget_ms: int, late_ms: int) -> None:
        """Sends the first request of a leg, then sets the alarm, while the worker already works."""
        self._stop_alarm()
        self._send(request, opens=True)
        self._deadline, self._late = self._loop.time() + budget_ms / 1000, late_ms / 1000
        self._alarm = Alarm((budget_ms + late_ms) / 1000 + self._grace, self._on_overdue)

    async def outcome(self) -> wire.Outcome:
        """Waits for the outcome of the request that was sent."""
        return await self._taken(*await self._computed())

    async def _computed(self) -> tuple[wire.FromWorker, Data]:
        self._is_computing = True
        answer = await self._answer()
        self._is_computing = False
        return answer

    async def _taken(self, outcome: wire.FromWorker, tail: Data) -> wire.Outcome:
        """Checks what the worker says against what a program may do."""
        if not isinstance(outcome, gathering.OUTCOMES):
            raise self._break(ProtocolViolation("the worker answered with no outcome"))
        if tail:
            outcome = await self._gathered(outcome, tail)
        self._is_suspect = isinstance(outcome, gathering.SUSPECT)
        size, items = gathering.output_of(outcome)
        self._output_left -= size
        self._items_left -= items
        if len(getattr(outcome, "messages", ())) > batches.MAX_MESSAGES:
            raise self._break(ProtocolViolation("the worker sent more messages at once than it may"))
        if self._output_left < 0 or self._items_left < 0:
            raise self._break(ProtocolViolation("the worker sent more output than a program may make"))
        self._tape.answered(outcome)
        return outcome

    async def _gathered(self, outcome: wire.Outcome, tail: Data) -> wire.Outcome:
        try:
            return await gathering.gather(outcome, tail, self.session)
        except FrameRefused as refused:
            raise self._break(ProtocolViolation(str(refused))) from None
        except asyncio.CancelledError:
            self._break(Aborted("the caller was cancelled"))
            raise

    def _send(self, request: list[Data], *, opens: bool = False) -> None:
        if self._fault is not None:
            raise self._fault
        assert self.is_leased
        assert self._reply is None, "one request at a time"
        self._reply = self._loop.create_future()
        self._busy_wait.begin(lambda: self._channel.send(request), self.pid, opens=opens)

    async def _answer(self) -> tuple[wire.FromWorker, Data]:
        reply = self._reply
        assert reply is not None, "nothing was asked"
        try:
            while self._busy_wait.should_spin:
                self._channel.look()
                if reply.done():
                    break
                await asyncio.sleep(0)
            return await reply
        except asyncio.CancelledError:
            self._break(Aborted("the caller was cancelled"))
            raise
        finally:
            self._reply = None
            self._busy_wait.end()

    def _on_overdue(self) -> None:
        """The worker missed its deadline by more than the grace: kills it and answers in its place."""
        self._alarm = None
        if self._is_computing and self._reply is not None and not self._reply.done():
            self._reply.set_result((gathering.OVERDUE, b""))
            self._break(Aborted("the worker did not stop at its deadline"))

    def _on_frame(self, frame: Frame) -> None:
        try:
            message = wire.decode_from_worker(frame.head)
        except FrameRefused as refused:
            self._break(ProtocolViolation(str(refused)))
            return
        match message:
            case wire.Ready(layers) if self._is_starting:
                self._is_starting = False
                self.layers = layers or self.layers
                self._owner.worker_is_ready(self)
            case wire.LookupRequest(kind, key) if self._reply is not None and self._descriptor is not None:
                if self._channel.is_behind:  # a guest waits for each answer
                    self._break(ProtocolViolation("the worker asked again without reading the answer"))
                    return
                self._answer_lookup(self._descriptor, Lookup(kind), key)
            case wire.Ready() | wire.LookupRequest():
                self._break(ProtocolViolation("the worker spoke out of turn"))
            case _ if self._reply is None or self._reply.done():
                self._break(ProtocolViolation("the worker answered without being asked"))
            case _:
                self._reply.set_result((message, frame.tail))

    def _answer_lookup(self, descriptor: RunDescriptor, kind: Lookup, key: str) -> None:
        try:
            found = descriptor.lookup(kind, key)
            self._tape.looked_up(kind, key, found)
            frame = frame_parts(orders.encode(orders.LookupAnswer(found is not None)), found or b"")
        except Exception as error:  # the engine's own descriptor failed: the leg fails with that error
            if self._reply is not None:
                gathering.fail(self._reply, error)
            self._break(Aborted("the run descriptor failed"))
            return
        self._channel.send(frame)

    def _on_end(self, refused: FrameRefused | None) -> None:
        if refused is not None:
            self._break(ProtocolViolation(str(refused)))
        else:
            # the zygote will say how it ended; a worker that only closed its socket has to end too
            self._owner.kill_worker(self)

    def _break(self, fault: SupervisorError) -> SupervisorError:
        if self._fault is None:
            self._fault = fault
            self.was_killed = True
            self._channel.close()
            self._owner.kill_worker(self)
            self._fail_reply()
            if self.checker is not None:
                self.checker.kill(str(fault))
        return self._fault

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _fail_reply(self) -> None:
        if self._reply is not None and not self._reply.done():
            assert self._fault is not None
            gathering.fail(self._reply, self._fault)
