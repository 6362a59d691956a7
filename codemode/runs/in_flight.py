"""The host work of one run: what is pending, what is running, and what has settled but is not delivered.

It belongs to its run and is small while nothing is under way. host_work.py starts and settles work; this
module only holds, counts, awaits and stops it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Literal

import msgspec
from codemode_runtime.shapes import Settlement

from codemode import clock
from codemode.config import EngineSettings
from codemode.contract.results import PendingApproval, PendingCall, WaitReason
from codemode.contract.scope import UNSAID
from codemode.executor import ApprovalRequest, Calling, join
from codemode.gate.pending import Account, PendingBytes
from codemode.tools import Tool

WorkMethod = Literal["call", "search", "describe", "namespace", "mcp", "timer", "yield"]
_MAX_NAME = 80  # characters of a name that no tool has
_PARKED = 0  # for its account: works have numbers above it, their results below
_CALLS = ("call", "search", "describe", "namespace", "mcp")


class Work(msgspec.Struct, omit_defaults=True):
    """One thing that the host will settle. `args` is the guest's JSON array of arguments."""

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

    @property
    def is_call(self) -> bool:
        """False for timers and yields, which are in no ledger."""
        return self.method in _CALLS

    def identify(self, tool: Tool | None) -> None:
        """Notes which tool is called; without one, the name that the program used."""
        if tool is None:
            self.name = self.target[:_MAX_NAME]
        else:
            self.tool, self.name, self.idempotent = tool.id, tool.name, tool.hints.idempotent

    def drop_arguments(self) -> None:
        """Nobody will take them."""
        self.args = b""

    def ask(self, approval: ApprovalRequest) -> None:
        self.approval = approval

    def is_asking(self, approval_id: str) -> bool:
        return self.approval is not None and self.approval.id == approval_id

    def take_approval(self) -> ApprovalRequest | None:
        """Takes the question off the call, so that it is decided only once."""
        approval, self.approval = self.approval, None
        return approval

    def for_snapshot(self) -> Work:
        """Drops the arguments unless the call may have to be started, or started again."""
        if self.idempotent or self.approval is not None:
            return self
        return msgspec.structs.replace(self, args=b"")


class InFlight:
    """All work of a run; one per run. `tasks` are searches and recordings, which are not calls."""

    __slots__ = ("_waiter", "account", "calls", "inherited", "pending", "settled", "tasks", "timers")

    def __init__(self) -> None:
        self.pending: dict[int, Work] = {}
        self.settled: list[Settlement] = []  # in the order they happened
        self.inherited: frozenset[int] = frozenset()  # pending work that another engine began
        self.calls: list[Calling] = []  # under way; only a few at once
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.timers: dict[int, asyncio.TimerHandle] = {}
        self.account: Account | None = None  # of the memory that all this takes
        self._waiter: asyncio.Future[None] | None = None

    # ---- what there is -------------------------------------------------------------------------------------

    @property
    def count_of_calls(self) -> int:
        return sum(1 for work in self.pending.values() if work.is_call)

    @property
    def has_approval(self) -> bool:
        return any(work.approval is not None for work in self.pending.values())

    @property
    def has_yield(self) -> bool:
        return any(work.method == "yield" for work in self.pending.values())

    def asking(self, approval_id: str) -> Work | None:
        return next((work for work in self.pending.values() if work.is_asking(approval_id)), None)

    def describe(self) -> tuple[PendingCall, ...]:
        return describe_work(self.pending.values())

    # ---- how it changes ------------------------------------------------------------------------------------

    def add(self, work: Work) -> None:
        self.pending[work.id] = work

    def clear(self, work_id: int) -> None:
        """The program cleared a timer."""
        self.pending.pop(work_id, None)
        self._give(work_id)
        timer = self.timers.pop(work_id, None)
        if timer is not None:
            timer.cancel()

    def take_pending(self) -> list[Work]:
        """Takes all pending work; what settles later finds nothing to settle."""
        pending, self.pending = self.pending, {}
        for work_id in pending:
            self._give(work_id)
        return list(pending.values())

    def load(self, pending: list[Work], settled: list[Settlement]) -> None:
        """Takes in what the snapshot of another engine held."""
        self.settled.extend(settled)
        self.pending = {work.id: work for work in pending}
        self.inherited = frozenset(self.pending)

    def asked_here(self, work_id: int) -> None:
        """This engine has asked its hooks about work that another engine began."""
        self.inherited -= {work_id}

    def settle(self, settlement: Settlement) -> Work | None:
        """Queues it for the next delivery. None if the work was settled before, or the program cleared it."""
        work = self.pending.pop(settlement.id, None)
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

    def keep_parked(self, size: int, everybody: PendingBytes, session: str) -> bool:
        """Counts a guest that is kept in the host's memory; False if there is no room for it."""
        return self.keep(_PARKED, size, everybody, session) is None

    def give_parked(self) -> None:
        self._give(_PARKED)

    def keep_result(self, work_id: int, size: int) -> str | None:
        """Counts a result that waits for the program; says why it cannot be kept."""
        return None if self.account is None else self.account.take(-work_id, size)

    def _give(self, key: int) -> None:
        if self.account is not None:
            self.account.give(key)

    # ---- waiting for it ------------------------------------------------------------------------------------

    def wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def news(self, until: float) -> bool:
        """Waits until something settles or asks for approval; False if the deadline came first.

        The caller sets the alarm with `alarm_at` first: one alarm serves all the waits of a leg.
        """
        loop = asyncio.get_running_loop()
        if loop.time() >= until:
            return False
        waiter = self._waiter = loop.create_future()
        try:
            await waiter
        finally:
            self._waiter = None
        return bool(self.settled) or loop.time() < until

    @contextmanager
    def alarm_at(self, until: float) -> Generator[None]:
        alarm = asyncio.get_running_loop().call_at(until, self.wake)
        try:
            yield
        finally:
            alarm.cancel()

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
        self.stop()
        calls, running = list(self.calls), list(self.tasks.values())
        if running:
            await asyncio.wait(running)
        if calls:
            await join(calls)
        self.tasks.clear()
        self.calls.clear()
        self.pending.clear()
        if self.account is not None:
            self.account.close()


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
