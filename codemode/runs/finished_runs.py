"""The history of an engine: finished runs, kept in its store within a number, bytes and an age.

A run is noted when it ends and written a moment later, many at once, so that no result waits for it. What is
kept is the packed trace, redacted as trajectories are, sealed under the run's scope; beside it stands what a
list shows. An engine that dies in that moment loses the last few; nothing depends on them.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from codemode_snapshots import (
    MemoryPast,
    PastBounds,
    PastQuery,
    PastRun,
    PastRuns,
    RunScope,
    StoreUnavailable,
)

from codemode.config import EngineSettings
from codemode.contract.inputs import same_caller
from codemode.contract.telemetry import CallEnd
from codemode.runs.stored_runs import StoredRuns
from codemode.trajectory.export import build
from codemode.trajectory.shapes import RunStatus, Trajectory
from codemode.trajectory.stored_trace import Packed
from codemode.trajectory.trace import Trace, unpacked

_log = logging.getLogger("codemode.history")

T = TypeVar("T")
_SOON_SECONDS = 0.05
_MAX_UNWRITTEN = 10_000
_MAX_WORDS = 2_000  # characters
_MAX_PROGRAM = 1_000  # of them
_MAX_TOOLS = 20


class _Remembered(msgspec.Struct, array_like=True):
    """New fields go at the end, with a default."""

    status: RunStatus
    trace: bytes
    late: tuple[CallEnd, ...] = ()


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Remembered)


class FinishedRuns:
    """Remembers the finished runs of one engine, and finds those of all engines on its store."""

    def __init__(self, stored: StoredRuns, settings: EngineSettings, settle: Callable[[], None]) -> None:
        """`settle` notes what has ended and is not noted yet."""
        self._stored = stored
        age_ms = settings.history_seconds * 1000
        self.bounds = PastBounds(settings.history_runs, settings.history_bytes, age_ms)
        self._unwritten: list[tuple[str, RunScope, RunStatus, bytes, tuple[CallEnd, ...]]] = []
        self._own = MemoryPast()
        self._settle = settle
        self._soon: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(
        self, run_id: str, scope: RunScope, status: RunStatus, trace: Trace, late: tuple[CallEnd, ...]
    ) -> None:
        """The run is over. Costs next to nothing: the trace is packed already, and read again later."""
        if not self.bounds.max_runs or not trace.size:
            return
        if len(self._unwritten) >= _MAX_UNWRITTEN:  # the store does not keep up
            del self._unwritten[0]
        self._unwritten.append((run_id, scope, status, trace.packed, late))
        if self._soon is None and self._writing is None:
            self._soon = asyncio.get_running_loop().call_later(_SOON_SECONDS, self._begin)

    def _begin(self) -> None:
        self._soon = None
        self._writing = asyncio.create_task(self._write(), name="codemode history")

    async def _write(self) -> None:
        try:
            while self._unwritten:
                batch, self._unwritten = self._unwritten[:500], self._unwritten[500:]
                records = [self._record(*one) for one in batch]
                await self._ask(lambda past, new=records: past.add(new, self.bounds))
        except StoreUnavailable as error:
            _log.warning("finished runs could not be remembered: %s", error)
        except Exception:
            _log.exception("finished runs could not be remembered")
        finally:
            self._writing = None

    async def flush(self) -> None:
        """Writes what is noted; before the store is closed, and before it is read."""
        self._settle()
        if self._soon is not None:
            self._soon.cancel()
            self._begin()
        if self._writing is not None:
            await asyncio.shield(self._writing)

    # ---- looking back --------------------------------------------------------------------------------------

    async def find(self, query: PastQuery, limit: int) -> list[PastRun]:
        await self.flush()
        return await self._ask(lambda past: past.find(query, limit))

    async def totals(self, query: PastQuery) -> tuple[int, int]:
        return await self._ask(lambda past: past.totals(query))

    async def scope_of(self, run_id: str) -> RunScope | None:
        await self.flush()
        found = await self._ask(lambda past: past.get(run_id))
        return None if found is None else found.scope

    async def trajectory(self, run_id: str, caller: RunScope) -> Trajectory | None:
        """None for a caller outside the run's scope, and for a record that cannot be believed."""
        await self.flush()
        found = await self._ask(lambda past: past.get(run_id))
        if found is None or not same_caller(found.scope, caller):
            return None
        opened = self._stored.seals.open_named("past", _names(run_id, found.scope), found.body)
        try:
            body = None if opened is None else _decoder.decode(opened)
            packed = None if body is None else unpacked(body.trace)
        except (msgspec.MsgspecError, zlib.error):
            _log.warning("what is remembered of run %s is of another version", run_id)
            return None
        return None if body is None else build(run_id, found.scope, body.status, packed, body.late)

    async def _ask(self, action: Callable[[PastRuns], T]) -> T:
        """The store's history; an engine on a store that has none keeps one itself."""
        return await self._stored.peek(lambda store: action(getattr(store, "past", self._own)))

    def _record(
        self, run_id: str, scope: RunScope, status: RunStatus, trace: bytes, late: tuple[CallEnd, ...]
    ) -> PastRun:
        packed = unpacked(trace)
        state, last = packed.state, packed.state.legs[-1] if packed.state.legs else None
        code = last.why if last is not None and last.status == "failed" else ""
        code = {"expired": "snapshot_expired", "aborted": "aborted"}.get(status, code)
        tools = tuple(dict.fromkeys(row[1] for row in packed.ledger if row[1]))
        body = _encoder.encode(_Remembered(status, trace, late))
        return PastRun(
            run_id,
            scope,
            status,
            code,
            state.language,
            state.started_ms,
            state.started_ms + max(state.ended, 0),
            len(state.legs) + state.dropped_legs,
            len(packed.ledger) + sum(leg.more_calls for leg in state.legs),
            tuple(tool.replace("\n", " ") for tool in tools[:_MAX_TOOLS]),
            _words(run_id, scope, code, packed),
            self._stored.seals.seal_part("past", _names(run_id, scope), body),
        )


def words_of(*texts: str) -> str:
    """What a search looks through."""
    joined = " ".join(text for text in texts if text)[:_MAX_WORDS]
    clean = joined.replace("\0", " ").encode("utf-8", "replace").decode()
    return f" {' '.join(clean.lower().split())} "


def _words(run_id: str, scope: RunScope, code: str, packed: Packed) -> str:
    state = packed.state
    # without an id the program chose the name, which may then hold any data
    rows = [row for row in packed.ledger if row[1] or state.redaction != "shape"]
    tools = dict.fromkeys(name for row in rows for name in row[1:3])
    program: Any = msgspec.json.decode(state.recorded["p"]) if "p" in state.recorded else ""
    text = program[:_MAX_PROGRAM] if isinstance(program, str) else ""
    return words_of(run_id, scope.agent, scope.session, code, state.language, *tools, text)


def _names(run_id: str, scope: RunScope) -> tuple[str, ...]:
    return run_id, scope.agent, scope.session, scope.agent_run
