"""The recorder hears once what happens in runs, and passes it on to all that keep it.

    meter       the ledger and the counts, in every result and in `engine.stats()`
    trace       the trajectory of the run
    event hub   listeners of `engine.events()`
    audit       the host's own handler, one event for each call
    bell        hooks of the host that hear of approvals
    debug log   lines with identifiers, codes, sizes and shapes
    spans       OpenTelemetry, for engines that were asked for it

There is one per engine. The parts of runs/ tell it what they did; no other module writes to those seven.
Nothing here can fail a run.
"""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from codemode_runtime import wire
from codemode_runtime.shapes import Settlement

from codemode import clock
from codemode.contract import events
from codemode.contract.error_codes import ErrorCode
from codemode.contract.results import (
    CodeModeResult,
    JsonOutput,
    Output,
    TextOutput,
    WaitReason,
    output_bytes,
)
from codemode.contract.telemetry import (
    ANSWERED_BY,
    CallEnd,
    CallMethod,
    CallStatus,
    LossyValue,
    Telemetry,
    utf8_bytes,
)
from codemode.executor import Audit, AuditEvent, CallUpdate
from codemode.executor.audit import tell_audit
from codemode.runs.approval_bell import SILENT, ApprovalBell
from codemode.runs.approval_recorder import ApprovalRecorder, debug
from codemode.runs.contents import shown_content, without_data
from codemode.runs.event_hub import EventHub
from codemode.runs.meter import CAPS, RunMeter, Tally
from codemode.runs.rejections import read_rejection
from codemode.runs.run import Run
from codemode.runs.trajectory_archive import TrajectoryArchive
from codemode.runs.work import Work
from codemode.trajectory.debug_log import note
from codemode.trajectory.trace import why_of

if TYPE_CHECKING:  # loads OpenTelemetry
    from codemode.otel.spans import Spans

_run_log = logging.getLogger("codemode.run")
_call_log = logging.getLogger("codemode.calls")
_snapshot_log = logging.getLogger("codemode.snapshots")
_METHODS: dict[str, CallMethod] = {"search": "search", "describe": "describe", "namespace": "namespace"}


class Recorder(ApprovalRecorder):
    """Records what happens in runs; one per engine. All parts that work on runs call it."""

    def __init__(
        self,
        tally: Tally,
        hub: EventHub,
        archive: TrajectoryArchive,
        audit: Audit | None,
        max_content_bytes: int,
        spans: Spans | None = None,
        bell: ApprovalBell = SILENT,
    ) -> None:
        self.tally = tally
        self._spans = spans
        self._max_content_bytes = max_content_bytes
        self.hub = hub
        self.archive = archive
        self._audit = audit
        self._bell = bell

    async def close(self) -> None:
        """Ends the events of all listeners, after hooks have heard of approvals."""
        await self._bell.close()
        self.hub.close()
        if self._spans is not None:
            self._spans.close()

    # ---- runs and legs -------------------------------------------------------------------------------------

    def refused(self, code: ErrorCode) -> None:
        """A call of exec or wait was refused before it had a run."""
        self.tally.add("results", code)

    def exec_started(self, run: Run, tool_call: str) -> None:
        """`tool_call` is the id of the model's call, empty if it has none."""
        active, environment, at_ms = run.active, run.environment, clock.wall_ms()
        active.meter.record_surface(("exec", "wait"), environment.facts, environment.tokens_saved)
        active.meter.begin_leg("exec")
        run.set_trace(self.archive.new_trace(run.id))
        run.trace.start(active.program, active.language, at_ms)
        run.trace.begin_leg(tool_call, at_ms)
        if _run_log.isEnabledFor(logging.DEBUG):
            size, tools = utf8_bytes(active.program), len(environment.catalog)
            note(_run_log, "run_started", run.id, language=active.language, bytes=size, tools=tools)
        if self._spans is not None:
            self._spans.exec_started(run, tool_call)
        self._publish_started(run, tool_call, at_ms)

    def search_program_started(self, run: Run, control: str, tool_call: str) -> None:
        """A program of Tool Search started, which the model knows as `control`. It has no trajectory."""
        run.active.meter.record_surface((control,), run.environment.facts, 0)
        self._publish_started(run, tool_call, clock.wall_ms())

    def _publish_started(self, run: Run, tool_call: str, at_ms: int) -> None:
        if self.hub.listeners:
            session, language = run.scope.session, run.active.language
            self.hub.publish(events.RunStarted(session, language, tool_call, run_id=run.id, at_ms=at_ms))

    def wait_started(self, run: Run, tool_call: str) -> None:
        """A wait began; the run may still be suspended, and may stay so."""
        run.trace.begin_leg(tool_call, clock.wall_ms())
        if self._spans is not None:
            self._spans.wait_started(run, tool_call)

    def wait_cancelled(self, run: Run) -> None:
        """The caller was cancelled before anything settled: the wait leaves no record."""
        run.trace.drop_open_leg()
        self.leg_cut_short(run)

    def leg_cut_short(self, run: Run, code: str = "cancelled") -> None:
        """The leg has no result: its caller was cancelled."""
        if self._spans is not None:
            self._spans.leg_cut_short(run, code)

    def leased(self, run: Run, pid: int | None, queue_us: int) -> None:
        run.active.meter.spend("queue", queue_us)
        if self._spans is not None:
            self._spans.leased(run)
        debug(_run_log, "leg_started", run.id, worker=pid)

    def parked(self, run: Run, size: int, us: int) -> None:
        """The leg let go of its worker while it waits; its guest is in the host's memory."""
        run.active.meter.park(us)
        debug(_run_log, "parked", run.id, bytes=size, us=us)

    def resumed(self, run: Run, settled: int) -> None:
        run.active.meter.begin_leg("wait")
        if self.hub.listeners:
            self.hub.publish(events.RunResumed(run_id=run.id, at_ms=clock.wall_ms(), settled=settled))
        if self._spans is not None:
            self._spans.resumed(run, settled)

    def waited_in_vain(self, run: Run) -> None:
        """A wait ended in which nothing settled: the tally counts it, and the run remembers it."""
        self.tally.add("counts", "wait")
        self.tally.add("results", "waiting")
        run.note_idle_wait()

    def wait_without_leg(self, code: ErrorCode) -> None:
        """A wait ended before its run could go on."""
        self.tally.add("counts", "wait")
        self.tally.add("results", code)

    def computed(self, run: Run, spent: wire.Spent, restored_bytes: int) -> None:
        """The worker computed until its guest was idle or had ended; `spent` is what it reports."""
        meter = run.active.meter
        meter.spend("run", spent.run_us)
        if spent.prepare_us:
            meter.spend("prepare", spent.prepare_us)
        if spent.restore_us:
            meter.spend("restore", spent.restore_us)
        if spent.restore_us and restored_bytes:  # 0: the guest was parked, which is no event of a snapshot
            meter.see_snapshot("restored", bytes=restored_bytes, us=spent.restore_us)
            run.trace.restore(spent.restore_us)
            debug(_snapshot_log, "restored", run.id, us=spent.restore_us)

    def output_added(self, run: Run, message: wire.GuestOutput | wire.Ignored) -> None:
        item: Output
        match message:
            case wire.Text(text, level, clipped):
                item = TextOutput(text, level, clipped)
                run.active.meter.transfer("output", utf8_bytes(text))
            case wire.Json(value):
                item = JsonOutput(value)
                run.active.meter.transfer("output", len(value))
            case wire.ContentShown(as_, name):
                item = shown_content(run.contents, as_, name, self._max_content_bytes)
                run.active.meter.transfer("output", output_bytes(item))
            case wire.Ignored(what):  # no item of its own: a note tells it
                run.active.meter.note_ignored(what)
                return
        run.active.output.append(item)
        if self.hub.listeners:
            told = without_data(item, message.id) if isinstance(message, wire.ContentShown) else item
            self.hub.publish(events.OutputAdded(run_id=run.id, at_ms=clock.wall_ms(), item=told))

    def leg_completed(
        self, run: Run, value_bytes: int, lossy: Sequence[LossyValue], hints: Sequence[str]
    ) -> Telemetry:
        meter = run.active.meter
        meter.transfer("value", value_bytes)
        meter.end_leg("completed")
        self.run_ended(run, None)
        return meter.telemetry(lossy, hints)

    def leg_failed(self, run: Run, code: ErrorCode, failed_call: str | None = None) -> Telemetry:
        meter = run.active.meter
        meter.abort_pending()
        meter.end_leg(code)
        if code in CAPS and self.hub.listeners:
            self.hub.publish(events.LimitHit(run_id=run.id, at_ms=clock.wall_ms(), code=code))
        self.run_ended(run, code)
        return meter.telemetry(failed_call=failed_call)

    def leg_ended(self, run: Run, result: CodeModeResult) -> CodeModeResult:
        """exec or wait returns this result; for the trajectory and the debug log."""
        self.archive.end_leg(run, result)
        if self._spans is not None:
            self._spans.leg_ended(run, result)
        if _run_log.isEnabledFor(logging.DEBUG):
            calls, why = len(result.telemetry.calls), why_of(result)
            note(_run_log, "leg_ended", run.id, status=result.status, why=why, calls=calls)
        return result

    def run_ended(self, run: Run, code: ErrorCode | None) -> None:
        """Call when a run ends; only the first call counts. `code` is None for a run that completed."""
        if not run.tell_end_once():
            return
        if _run_log.isEnabledFor(logging.DEBUG):
            note(_run_log, "run_ended", run.id, status=run.state.value)
        if self.hub.listeners:
            status = "completed" if code is None else "failed"
            self.hub.publish(
                events.RunFinished(run_id=run.id, at_ms=clock.wall_ms(), status=status, code=code)
            )

    def ended_outside_leg(self, run: Run, code: ErrorCode) -> None:
        """For a run that ends outside of a leg, or in a leg that was cut short."""
        self.archive.keep(run)
        self.leg_cut_short(run, code)
        self.run_ended(run, code)

    def loop_was_late(self, ms: float) -> None:
        """The event loop was held up: no run did it alone, so the event belongs to none."""
        if self.hub.listeners:
            self.hub.publish(events.LoopLate(run_id="", at_ms=clock.wall_ms(), ms=ms))

    def tools_changed(self, server: str, ids: Sequence[str]) -> None:
        """A server defines tools anew: runs that go on keep what they have, so it belongs to none."""
        if self.hub.listeners:
            at = clock.wall_ms()
            self.hub.publish(events.ToolsChanged(run_id="", at_ms=at, server=server, tools=tuple(ids)))

    # ---- snapshots -----------------------------------------------------------------------------------------

    def captured(self, run: Run, size: int, capture_us: int) -> None:
        meter = run.active.meter
        meter.spend("capture", capture_us)
        meter.see_snapshot("taken", bytes=size, us=capture_us)
        debug(_snapshot_log, "taken", run.id, bytes=size, us=capture_us)

    def freezing(
        self, run: Run, reason: WaitReason, output: tuple[Output, ...], size: int, capture_us: int
    ) -> None:
        """Call before the run is frozen: its snapshot has to know how its leg ended."""
        meter = run.active.meter
        meter.end_leg("waiting")
        self.set_elapsed(run, meter)
        run.trace.suspend(reason, output, size, capture_us, clock.wall_ms())
        if self._spans is not None:
            self._spans.suspending(run, reason, size)

    def set_elapsed(self, run: Run, meter: RunMeter) -> None:
        """Tells the ledger how long the calls under way have taken so far."""
        for work in run.in_flight.pending.values():
            meter.set_elapsed(str(work.id), clock.elapsed_ms(work.since_ms))

    def stored(self, run: Run, size: int, store_us: int) -> Telemetry:
        meter = run.active.meter
        meter.spend("store", store_us)
        meter.see_snapshot("stored", bytes=size, us=store_us)
        return meter.telemetry()

    def not_stored(self, run: Run) -> None:
        run.active.meter.undo_waiting()

    def suspended(self, run: Run, reason: WaitReason, size: int) -> None:
        if self.hub.listeners:
            self.hub.publish(
                events.RunSuspended(run_id=run.id, at_ms=clock.wall_ms(), reason=reason, bytes=size)
            )

    def snapshot_dropped(self, run: Run | None) -> None:
        if run is not None and run.meter is not None:
            run.meter.see_snapshot("dropped")
        else:
            self.tally.add("snapshots", "dropped")

    def snapshots_expired(self, count: int) -> None:
        if count:
            self.tally.add("snapshots", "expired", count)

    # ---- calls ---------------------------------------------------------------------------------------------

    def call_started(self, run: Run, work: Work, arguments: list[Any] | None) -> None:
        """`arguments` are those of the work, decoded; None if they are too large for that."""
        method = _METHODS.get(work.method, "call")
        run.active.meter.start_call(
            str(work.id), tool=work.tool, name=work.name, method=method, bytes_in=len(work.args)
        )
        shape = run.trace.begin_call(work.id, work.tool, work.args, arguments, work.since_ms)
        if _call_log.isEnabledFor(logging.DEBUG):
            note(_call_log, "call_started", run.id, call=work.id, tool=work.tool, input=shape)
        if self.hub.listeners:
            call = {"call_id": str(work.id), "tool": work.tool, "name": work.name}
            self.hub.publish(events.CallStarted(run_id=run.id, at_ms=work.since_ms, method=method, **call))
        if self._spans is not None:
            self._spans.call_started(run, work)

    def variables(self, run: Run, work: Work) -> contextvars.Context | None:
        """The context variables with which the call's tool runs: those of the latest exec or wait."""
        given = run.origin.variables
        return given if self._spans is None else self._spans.variables(run, work, given)

    def call_finished(
        self,
        run: Run,
        work: Work,
        status: CallStatus,
        settlement: Settlement,
        meta: dict[str, Any] | None = None,
    ) -> None:
        """`meta` is what the tool adds. A settlement that failed holds it too, and outlives its engine."""
        data, size = settlement.json, len(settlement.json)
        error, said = read_rejection(data) if settlement.rejected else (None, None)
        end = CallEnd(str(work.id), status, clock.elapsed_ms(work.since_ms), size, error, meta or said)
        run.trace.finish_call(work.id, work.tool, data, error, str((meta or {}).get(ANSWERED_BY, "")))
        if _call_log.isEnabledFor(logging.DEBUG):
            code = error.code if error else ""
            told = {"call": work.id, "tool": work.tool, "status": status, "code": code, "bytes": size}
            note(_call_log, "call_ended", run.id, **told)
        if self._spans is not None:
            self._spans.call_finished(run, work, status, error and error.code, size, data)
        self._call_ended(run, work, end)

    def call_aborted(self, run: Run, work: Work) -> None:
        """The run is over, and this call ends with it."""
        if work.approval is not None:
            self.approval_closed(run, work, work.approval)
        if self._spans is not None:
            self._spans.call_finished(run, work, "aborted", "aborted", 0)
        self._call_ended(run, work, CallEnd(str(work.id), "aborted", clock.elapsed_ms(work.since_ms), 0))

    def _call_ended(self, run: Run, work: Work, end: CallEnd) -> None:
        run.note_finished(end)
        if self.hub.listeners:
            call = {"call_id": end.id, "tool": work.tool, "name": work.name}
            self.hub.publish(
                events.CallFinished(
                    run_id=run.id, at_ms=clock.wall_ms(), status=end.status, ms=end.ms, **call
                )
            )

    def call_updated(self, update: CallUpdate) -> None:
        """A running tool reports progress; the executor calls this."""
        if self.hub.listeners:
            self.hub.publish(
                events.CallUpdated(
                    run_id=update.run_id,
                    at_ms=clock.wall_ms(),
                    call_id=update.call_id,
                    tool=update.tool_id,
                    progress=update.progress,
                )
            )

    async def call_audited(self, event: AuditEvent) -> None:
        """The executor awaits this, so that a call is on record before its result is delivered."""
        await tell_audit(self._audit, event)

    @property
    def is_audited(self) -> bool:
        return self._audit is not None
