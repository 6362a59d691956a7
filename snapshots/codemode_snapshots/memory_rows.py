"""What a run store in memory is made of: its rows, its feed, and what only needs a row to be answered."""

import time
from collections.abc import Callable, Iterable

import msgspec

from codemode_snapshots.label import Label, RunScope
from codemode_snapshots.records import CallView, Ending, ExecRequest, Pending, Settled, Snapshot, View
from codemode_snapshots.run_store import Changed

RequestKey = tuple[str, str, str, str]


class CallRow(msgspec.Struct):
    call_id: str
    idempotent: bool
    held_by: str | None
    take: int = 1
    asking: str | None = None
    request: bytes | None = None
    decision: bytes | None = None
    outcome: bytes | None = None
    settled: int | None = None

    @property
    def size(self) -> int:
        return sum(len(part) for part in (self.request, self.decision, self.outcome) if part is not None)


class RunRow(msgspec.Struct):
    label: Label
    snapshot: Snapshot | None = None
    number: int = 0
    claimed_by: str | None = None
    claimed_at_ms: int = 0
    is_touched: bool = False
    calls: dict[str, CallRow] = {}
    request: RequestKey | None = None
    digest: bytes | None = None
    size: int = 0  # of the snapshot and of all its calls

    @property
    def settled(self) -> int:
        return sum(call.settled is not None for call in self.calls.values())


class KeptRow(msgspec.Struct):
    ending: Ending
    until_ms: int
    request: RequestKey | None


class MemoryFeed:
    def __init__(self, node: str, changed: Changed, feeds: list["MemoryFeed"]) -> None:
        self._node = node
        self._changed = changed
        self._feeds = feeds
        self._watched: set[str] = set()

    def watch(self, run_id: str, *, soon: bool = False) -> None:  # noqa: ARG002 - always at once
        self._watched.add(run_id)

    def forget(self, run_id: str) -> None:
        self._watched.discard(run_id)

    def hint(self, run_id: str, by: str) -> None:
        if by != self._node and run_id in self._watched:
            self._changed((run_id,))

    def close(self) -> None:
        self._watched.clear()
        if self in self._feeds:
            self._feeds.remove(self)


def new_call(call: Pending, node: str) -> CallRow:
    return CallRow(call.call_id, call.idempotent, node if call.is_held else None, asking=call.asking)


def decisions_of(calls: Iterable[CallRow], node: str) -> tuple[tuple[str, bytes], ...]:
    """What was decided for the unsettled calls that this node holds."""
    return tuple(
        (call.call_id, call.decision)
        for call in calls
        if call.held_by == node and call.outcome is None and call.decision is not None
    )


def is_in(scope: RunScope, agent: str | None, session: str | None) -> bool:
    return agent in (None, scope.agent) and session in (None, scope.session)


def counts_of(calls: Iterable[CallRow]) -> tuple[int, int]:
    """How many have settled, and how many ask."""
    own = list(calls)
    settled = sum(call.outcome is not None for call in own)
    return settled, sum(call.asking is not None and call.outcome is None for call in own)


def settled_of(calls: Iterable[CallRow]) -> tuple[Settled, ...]:
    ready = sorted((call.settled, call) for call in calls if call.settled is not None)
    return tuple(Settled(call.call_id, call.take, call.outcome or b"") for _, call in ready)


def calls_of(run: RunRow, is_dead: Callable[[str | None], bool]) -> tuple[CallView, ...]:
    return tuple(
        CallView(
            call.call_id,
            call.held_by,
            call.take,
            call.idempotent,
            call.asking,
            call.request,
            call.decision,
            call.settled,
            call.outcome is None and is_dead(call.held_by),
        )
        for call in run.calls.values()
    )


def view_of(run: RunRow, holder: str | None, is_dead: Callable[[str | None], bool]) -> View:
    state, answer = (None, None) if run.snapshot is None else (run.snapshot.state, run.snapshot.answer)
    calls = calls_of(run, is_dead)
    return View(run.label, run.size, run.number, holder, state, calls, answer, run.digest)


def is_of(run: RunScope, caller: RunScope) -> bool:
    return (run.agent, run.session, run.agent_run) == (caller.agent, caller.session, caller.agent_run)


def request_key(request: ExecRequest) -> RequestKey:
    scope = request.scope
    return scope.agent, scope.session, scope.agent_run, request.request_id


def wall_ms() -> int:
    return int(time.time() * 1000)
