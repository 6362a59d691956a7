"""The host work of one run: what is pending, what is running, and what has settled but is not delivered.

It belongs to its run and is small while nothing is under way. host_work.py starts and settles work; this
module only holds, counts, awaits and stops it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Generator, Iterable
from contextlib import contextmanager

from codemode_runtime.shapes import Settlement
from codemode_snapshots import Pending

from codemode import clock
from codemode.config import EngineSettings
from codemode.contract.results import PendingApproval, PendingCall, WaitReason
from codemode.contract.scope import UNSAID
from codemode.executor import Calling, join
from codemode.gate.heartbeat import Alarm
from codemode.gate.pending import Account, PendingBytes
from codemode.runs.work import Work, is_question

_PARKED = 0  # for its account: works have numbers above it, their results below
_CONTENT = 1 << 60  # no work has this number


class InFlight:
    """All work of a run; one per run. `tasks` are searches and recordings, which are not calls."""

    __slots__ = (
        "_is_due", "_told", "_waiter", "account", "asked", "calls", "elsewhere", "free", "inherited",
        "is_hinted", "line", "line_stands", "pending", "rows", "settled", "takes", "tasks", "timers",
        "unrecorded",
    )  # fmt: skip

    def __init__(self) -> None:
        self.pending: dict[int, Work] = {}
        self.settled: list[Settlement] = []  # in the order they happened
        self.inherited: frozenset[int] = frozenset()  # pending work that another engine began
        self.elsewhere: set[int] = set()  # pending calls that run on another engine
        self.rows: frozenset[int] = frozenset()  # calls that are in the store with the snapshot
        self.takes: dict[int, int] = {}  # calls that are in the store as this engine's, and their fences
        self.unrecorded: list[Settlement] = []  # settled here since the suspension, and not yet in the store
        self.asked: list[str] = []  # every approval that was asked for, by id, in order
        self.calls: list[Calling] = []  # under way; only a few at once
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.account: Account | None = None  # of the memory that all this takes
        self.line: deque[Work] = deque()  # calls beyond those that may run at once
        self.free = 0  # places that ended calls have left to the line
        self.line_stands = False  # nothing of it is started now
        self.is_hinted = False  # another engine may have changed the run
        self._told = 0  # of `asked`, how many a caller has been told of
        self._waiter: asyncio.Future[None] | None = None
        self._is_due = False  # the deadline of the leg, or of the wait, is over

    # ---- what there is -------------------------------------------------------------------------------------

    @property
    def count_of_calls(self) -> int:
        return sum(1 for work in self.pending.values() if work.is_call)

    # loops, not `any`: these are asked several times for each call, and a generator takes as long as a loop

    @property
    def has_approval(self) -> bool:
        for work in self.pending.values():  # noqa: SIM110
            if work.approval is not None:
                return True
        return False

    @property
    def has_yield(self) -> bool:
        for work in self.pending.values():  # noqa: SIM110
            if work.method == "yield":
                return True
        return False

    def asking(self, approval_id: str) -> Work | None:
        return next((work for work in self.pending.values() if work.is_asking(approval_id)), None)

    @property
    def has_new_question(self) -> bool:
        """Whether something is asked that no result has told a caller of."""
        return len(self.asked) > self._told and any(
            work.is_asking(name) for work in self.pending.values() for name in self.asked[self._told :]
        )

    def describe(self) -> tuple[PendingCall, ...]:
        """For a result: its caller then knows of all that is asked."""
        self._told = len(self.asked)
        return describe_work(self.pending.values())

    # ---- how it changes ------------------------------------------------------------------------------------

    def add(self, work: Work) -> None:
        self.pending[work.id] = work

    def put_in_line(self, work: Work) -> None:
        work.queue(True)
        self.line.append(work)

    @contextmanager
    def hold_line(self) -> Generator[None]:
        """No call of the line is started meanwhile by one that ends."""
        self.line_stands = True
        try:
            yield
        finally:
            self.line_stands = False

    def next_in_line(self) -> Work | None:
        """Takes the first off the line, into the place of a call that has ended."""
        if not self.line:
            self.free = 0
            return None
        self.free -= 1
        work = self.line.popleft()
        work.queue(False)
        return work

    def clear(self, work_id: int) -> None:
        """The program cleared a timer."""
        self.pending.pop(work_id, None)
        self._give(work_id)
        timer = self.timers.pop(work_id, None)
        if timer is not None:
            timer.cancel()

    def take_pending(self) -> list[Work]:
        """Takes all pending work; what settles later finds nothing to settle."""
        self.line.clear()
        pending, self.pending = self.pending, {}
        for work_id in pending:
            self._give(work_id)
        return list(pending.values())

    def note_asked(self, approval_id: str) -> None:
        """Each is noted once: an engine that takes the run over asks for the same again."""
        if approval_id not in self.asked:
            self.asked.append(approval_id)

    def load(self, pending: list[Work], settled: list[Settlement], asked: Iterable[str] = ()) -> None:
        """Takes in what a snapshot holds, in place of what was known here. Calls that run here go on."""
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        for name in asked:
            self.note_asked(name)
        self._told = len(self.asked)  # the result of the leg that ended with the snapshot told of them
        self.settled = list(settled)
        self.inherited = frozenset(work.id for work in pending) - self.takes.keys()
        self.pending = {work.id: work for work in pending}
        self.line = deque(work for work in pending if work.queued)
        self.elsewhere = set()

    @property
    def is_busy(self) -> bool:
        """Whether this engine does something for the run."""
        return bool(self.calls or self.tasks)

    def stored_calls(self) -> tuple[Pending, ...]:
        """The calls that the run waits for, for the store; this engine holds those that run here."""
        found: list[Pending] = []
        for work in self.pending.values():
            if work.is_call and not work.queued:
                asking = None if work.approval is None else work.approval.id
                is_held = work.approval is None or is_question(work.approval)
                found.append(Pending(str(work.id), work.idempotent, is_held, asking))
                if is_held and work.id not in self.elsewhere:
                    self.takes.setdefault(work.id, 1)
        self.rows = frozenset(int(call.call_id) for call in found)
        return tuple(found)

    def leave_to_others(self, work_id: int) -> None:
        """Another engine runs this call."""
        self.elsewhere.add(work_id)
        self.takes.pop(work_id, None)

    def take(self, work_id: int, take: int) -> None:
        """This engine runs the call from now on, under this fence."""
        self.elsewhere.discard(work_id)
        self.takes[work_id] = take

    def asked_here(self, work_id: int) -> None:
        """This engine has asked its hooks about work that another engine began."""
        self.inherited -= {work_id}

    def settle(self, settlement: Settlement) -> Work | None:
        """Queues it for the next delivery. None if the work was settled before, or the program cleared it."""
        work = self.pending.pop(settlement.id, None)
        self.elsewhere.discard(settlement.id)
        self._give(settlement.id)
        if work is not None:
            self.settled.append(settlement)
            self.wake()
        return work

    def give_back_yields(self) -> None:
        """Settles all yields: the caller is back, and the program goes on."""
        for work in [work for work in self.pending.values() if work.method == "yield"]:
            self.settle(Settlement(work.id))

    def take_settled(self) -> list[Settlement]:
        ready, self.settled = self.settled, []
        for settlement in ready:
            self._give(-settlement.id)
        return ready

    def keep(self, key: int, size: int, everybody: PendingBytes, session: str) -> str | None:
        """Counts what the host keeps, by the work it is for; says why it cannot be kept."""
        if self.account is None:
            self.account = Account(everybody, session)
        return self.account.take(key, size)

    def keep_inherited(
        self, recorded: Iterable[tuple[int, int]], everybody: PendingBytes, session: str
    ) -> str | None:
        """Counts what was loaded, and results that the store has; keeps nothing if it says why not."""
        sizes = {work.id: work.kept_bytes for work in self.pending.values() if work.is_call}
        sizes |= {-settled.id: len(settled.json) for settled in self.settled}
        sizes |= {-work_id: size for work_id, size in recorded}
        for key, size in sizes.items():
            refusal = self.keep(key, size, everybody, session) if size else None
            if refusal is not None:
                self.forget()
                return refusal
        return None

    def keep_parked(self, size: int, everybody: PendingBytes, session: str) -> bool:
        """Counts a guest that is kept in the host's memory; False if there is no room for it."""
        return self.keep(_PARKED, size, everybody, session) is None

    def give_parked(self) -> None:
        self._give(_PARKED)

    def keep_content(self, size: int, everybody: PendingBytes, session: str) -> str | None:
        """Counts all content of the run; says why it cannot be kept."""
        return self.keep(_CONTENT, size, everybody, session)

    def keep_result(self, work_id: int, size: int) -> str | None:
        """Counts a result that waits for the program; says why it cannot be kept."""
        return None if self.account is None else self.account.take(-work_id, size)

    def _give(self, key: int) -> None:
        if self.account is not None:
            self.account.give(key)

    # ---- waiting for it ------------------------------------------------------------------------------------

    def hint(self) -> None:
        """Another engine may have changed the run: a wait for news looks."""
        self.is_hinted = True
        self.wake()

    def take_hint(self) -> bool:
        was_hinted, self.is_hinted = self.is_hinted, False
        return was_hinted

    def take_unrecorded(self) -> list[Settlement]:
        news, self.unrecorded = self.unrecorded, []
        return news

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def news(self) -> bool:
        """Waits until something settles or asks for approval; False if the deadline came first.

        The caller sets the deadline with `alarm_at` first: one alarm serves all the waits of a leg.
        """
        if self._is_due:
            return False
        waiter = self._waiter = asyncio.get_running_loop().create_future()
        try:
            await waiter
        finally:
            self._waiter = None
        return bool(self.settled) or not self._is_due

    @contextmanager
    def alarm_at(self, until: float) -> Generator[None]:
        """Sets the deadline, in the loop's time; what the loop loses meanwhile is added to it."""
        self._is_due = False
        alarm = Alarm(until - asyncio.get_running_loop().time(), self._on_due)
        try:
            yield
        finally:
            alarm.cancel()

    def _on_due(self) -> None:
        self._is_due = True
        self.wake()

    # ---- ending it -----------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Cancels what is under way, without waiting for it."""
        for timer in self.timers.values():
            timer.cancel()
        self.timers.clear()
        for call in self.calls:
            call.stop()
        for task in self.tasks.values():
            if not task.cancelling():  # a second cancel would interrupt the clean-up of the first
                task.cancel()

    async def cancel(self) -> None:
        """Cancels what is under way and returns when it has stopped."""
        if self.calls or self.tasks or self.timers:
            self.stop()
            calls, running = list(self.calls), list(self.tasks.values())
            if running:
                await asyncio.wait(running)
            if calls:
                await join(calls)
            self.tasks.clear()
            self.calls.clear()
        self.forget()

    def forget(self) -> None:
        """Keeps nothing more of what is pending, and does not count it."""
        self.pending.clear()
        if self.account is not None:
            self.account.close()

    async def start_over(self) -> None:
        """Stops what runs here and forgets what is known; `load` begins anew."""
        await self.cancel()
        self.account = None
        self.settled.clear()
        self.unrecorded.clear()
        self.takes.clear()


def describe_work(works: Iterable[Work]) -> tuple[PendingCall, ...]:
    return tuple(
        PendingCall(
            str(work.id),
            "call" if work.method == "mcp" else work.method,
            int(clock.elapsed_ms(work.since_ms)),
            work.tool or None,
            PendingApproval(work.approval.id, work.approval.summary) if work.approval else None,
            work.reason or None,
        )
        for work in works
    )


def wait_reason(works: Iterable[Work]) -> WaitReason:
    """Why a suspended run with this work waits."""
    methods = {"approval" if work.approval is not None else work.method for work in works}
    if "approval" in methods:
        return "approval"
    return "yield" if "yield" in methods else "pending_tools"


def pending_bytes(settings: EngineSettings) -> PendingBytes:
    """The account of an engine with these settings."""
    return PendingBytes(
        settings.max_pending_bytes,
        settings.max_pending_total_bytes,
        settings.session_share_percent,
        UNSAID.session,
    )
