"""Bundles of runs (codemode/replay): keeps what was written down of a run that has ended, and hands it out.

A suspended run has its tape in its snapshot. That of an ended run is stored as a run is, under a scope that
no caller can have, as long as the run could wait, and not while the store is half full. Only an engine that
records values (`redact=False`) writes one; of other runs a bundle tells the calls, without values.
"""

from __future__ import annotations

import hashlib
import logging
from functools import lru_cache
from importlib.metadata import version
from weakref import WeakKeyDictionary

import msgspec
from codemode_snapshots import Ending, RunScope, SnapshotError, View
from msgspec import Raw

from codemode.catalog import Catalog
from codemode.config import CodeModeConfig
from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import same_caller
from codemode.contract.results import CodeModeResult, Completed, Failed
from codemode.contract.scope import ENGINES_OWN
from codemode.replay.bundle import (
    VERSION,
    Bundle,
    BundleRefused,
    Expected,
    KnownTool,
    PastCall,
    encode,
    read_bundle,
)
from codemode.replay.tape import NOTHING, Tape
from codemode.runs.frozen import Memory, encode_memory
from codemode.runs.run import Run
from codemode.runs.stored_runs import StoredRuns
from codemode.tools import Tool
from codemode.trajectory import Trajectory
from codemode.workers.supervisor import Supervisor

_log = logging.getLogger("codemode.engine")
_TAPE = f"{ENGINES_OWN}tape:"
NO_VALUES = "the engine records no values of runs; `Engine(redact=False)` and `codemode run --values` do"
_WORLD = "it ran in its session's world, and what that held before is not written down"
_GONE = "nothing was written down of it, or that is gone by now"


class ExportError(Exception):
    """There is no bundle of such a run. `code` is one of a failed result."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code: ErrorCode = code


class Exports:
    """Makes tapes and bundles; one per engine."""

    def __init__(
        self, config: CodeModeConfig, supervisor: Supervisor, stored: StoredRuns, *, keeps_values: bool
    ) -> None:
        self._config = config
        self._supervisor = supervisor
        self._stored = stored
        self._keeps_values = keeps_values

    def begin(self, run: Run, at_ms: int) -> None:
        """Gives a new run its tape, where values may be recorded."""
        if self._keeps_values and self._config.session_state == "none":
            active = run.active
            told = (active.program, active.language, self._supervisor.build_id, self._config.timeout_ms)
            active.record(Tape.new(*told, at_ms, known_tools(run.environment.catalog)))

    def go_on(self) -> Tape | None:
        """For a run that goes on: what was recorded of it is known later (`Active.record`)."""
        return Tape(NOTHING) if self._keeps_values else None

    async def keep(self, run: Run, result: CodeModeResult) -> None:
        """Call when a run has ended. What cannot be kept is not worth failing a run for."""
        tape = None if run.meter is None else run.active.tape
        if tape is None or not self._stored.is_roomy():
            return
        memory = Memory("", "javascript", True, True, b"", [], [], tape=encode(_bundle(run.id, tape, result)))
        ttl_ms = self._config.snapshot_ttl_seconds * 1000
        try:
            scope, state = _scope(run.id, run.scope), encode_memory(memory)
            build = self._supervisor.build_id
            await self._stored.save(build, _name(run.id), scope, ttl_ms, state, b"", None)
        except SnapshotError as error:
            _log.debug("the tape of run %s is not kept: %s", run.id, error)

    async def export(self, run_id: str, caller: RunScope, known: Trajectory | None) -> Bundle:
        """`known` is the run's trajectory. Raises ExportError and StoreUnavailable."""
        found = await self._stored.look(run_id, caller)
        if isinstance(found, View) and same_caller(found.label.scope, caller):
            memory = await self._stored.read(found)
            if memory is not None and memory.tape:
                return _bundle(run_id, Tape.thawed(memory.tape), None)
        view = await self._stored.look(_name(run_id), _scope(run_id, caller))
        memory = None if isinstance(view, Ending) else await self._stored.read(view)
        if memory is not None and memory.tape:
            try:
                return read_bundle(memory.tape)
            except BundleRefused as refused:  # of another version
                raise ExportError("invalid_input", f"The run cannot be exported: {refused}.") from None
        if known is None:
            raise ExportError("invalid_input", "There is no such run in this scope, or it is forgotten.")
        if known.status == "running":
            raise ExportError(
                "invalid_input", "The run is still running: export it when it waits or is over."
            )
        return self._without_values(known)

    def _without_values(self, known: Trajectory) -> Bundle:
        status = known.status if known.status in ("completed", "waiting") else "failed"
        why = _GONE if self._keeps_values else NO_VALUES
        why = _WORLD if self._keeps_values and self._config.session_state != "none" else why
        calls = tuple(PastCall(call.id, call.tool, call.status) for leg in known.calls for call in leg.calls)
        return Bundle(VERSION, _made_by(), known.run_id, Expected(status), None, why, calls)


_known: WeakKeyDictionary[Catalog, tuple[KnownTool, ...]] = WeakKeyDictionary()


def known_tools(catalog: Catalog) -> tuple[KnownTool, ...]:
    """Made once for a catalog: it is never changed, and runs share it."""
    if catalog not in _known:
        _known[catalog] = tuple(KnownTool(tool.id, _schema_hash(tool)) for tool in catalog.tools)
    return _known[catalog]


def _schema_hash(tool: Tool) -> str:
    told = msgspec.json.encode([tool.description, tool.parameters], order="deterministic")
    return hashlib.sha256(told).hexdigest()[:16]


def _bundle(run_id: str, tape: Tape, result: CodeModeResult | None) -> Bundle:
    match result:
        case Completed(raw_value=value):
            expected = Expected("completed", Raw(bytes(value)))
        case Failed(code=code, error=error):
            expected = Expected("failed", code=code, error=error)
        case _:
            expected = Expected("waiting")
    return Bundle(VERSION, _made_by(), run_id, expected, tape.recorded(), tape.cut)


@lru_cache(1)
def _made_by() -> str:
    return f"codemode {version('codemode')}"


def _name(run_id: str) -> str:
    return f"{run_id}.tape"


def _scope(run_id: str, run: RunScope) -> RunScope:
    return RunScope(run.agent, run.session, f"{_TAPE}{run.agent_run}"[:1000], run_id)
