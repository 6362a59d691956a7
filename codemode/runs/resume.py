"""Going on with a suspended run: wait for news, claim the snapshot, compare its memory with what is here.

A run that this engine suspended has its calls still running here. One that a dead engine left behind is
adopted: what it waited for is settled by the rules of the contract. Whatever cannot go on becomes a result.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time

import msgspec
from codemode_runtime.shapes import Settlement
from codemode_snapshots import (
    EnvelopeRefused,
    NotClaimed,
    NotHeld,
    Owner,
    RunMeta,
    SnapshotError,
    StoreFull,
    StoreUnavailable,
)

from codemode.config import ConfigError
from codemode.contract.inputs import InputRefused, unknown_run
from codemode.contract.results import CodeModeResult, Failed, Waiting, failed
from codemode.executor import Decision
from codemode.runs.admission import Admission
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.leg import Leg, Services, explain_worker
from codemode.runs.meter import Tally
from codemode.runs.run import Run, RunState, Work, read_trace
from codemode.runs.stored_runs import ClaimedRun, now_ms
from codemode.workers.errors import SupervisorError
from codemode.workers.worker import Worker

_log = logging.getLogger("codemode.engine")
_ENDS = {"snapshot_expired": RunState.EXPIRED, "aborted": RunState.ABORTED}
_HELD = "This run belongs to another engine that is still running; ask that one."
_LEAST_BUDGET_MS = 100  # for a program whose call settled at the end of the waiting


class Resumer:
    """The `wait` half of an engine."""

    def __init__(self, services: Services, admission: Admission, tally: Tally) -> None:
        self._services = services
        self._admission = admission
        self._stored = services.stored
        self._work = services.work
        self._tally = tally

    async def resume(self, run: Run) -> CodeModeResult:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._services.config.timeout_ms / 1000
        opened: ClaimedRun | Failed | None = None
        if run.is_adopted:
            opened = await self._take_over_alone(run)
            if isinstance(opened, Failed):
                return opened
        self._work.give_back_yields(run)
        if not run.settled:
            if opened is not None and (unkept := await self._keep(run, opened)) is not None:
                return unkept
            if not await self._news(run, deadline):
                return await self._still_waiting(run)
            opened = None
        # a worker before the claim: while it waits for one, and if there is none, the run is as it was
        queued = time.perf_counter_ns()
        try:
            worker = await self._lease(run, opened)
        except SupervisorError as error:
            if opened is not None and (unkept := await self._keep(run, opened)) is not None:
                return unkept
            explained = explain_worker(error)
            return failed(explained.code, explained.text)
        queue_us = (time.perf_counter_ns() - queued) // 1000
        with worker:
            is_thawed = opened is not None
            if opened is None:
                if not self._stored.is_durable:  # which would take longer than waking
                    worker.attend()
                opened = await self._open(run)
                if isinstance(opened, Failed):
                    return opened
            # one budget for waiting and running, but waiting for a worker is not the program's fault
            remaining = int((deadline - loop.time()) * 1000) + queue_us // 1000
            leg = Leg(self._services, run, max(remaining, _LEAST_BUDGET_MS))
            run.claim = opened.claim
            lost: SupervisorError | None = None
            try:
                leg.send(worker, opened.delta, run.take_settled())
            except SupervisorError as error:
                lost = error
            if not is_thawed:  # while the worker restores the program
                run.thaw(opened.state, self._tally)
            run.require_meter().begin_leg("wait")
            run.require_meter().spend("queue", queue_us)
            run.move(RunState.RUNNING)
            return await leg.resume(worker) if lost is None else await leg.fail(explain_worker(lost))

    async def _lease(self, run: Run, opened: ClaimedRun | None) -> Worker:
        """An engine that is closed meanwhile leaves the run in the store: nothing of it runs yet."""
        run.is_listening = self._stored.is_durable
        try:
            return await self._services.supervisor.lease(session=run.scope.session)
        except asyncio.CancelledError:
            if run.is_left and opened is not None:
                await finish_despite_cancel(self._keep(run, opened))
            raise
        finally:
            run.is_listening = False

    async def adopt(self, run: Run) -> Failed | None:
        """Takes over what a dead engine left, without going on with it: somebody wants to decide first."""
        assert run.adoption is not None, "not a dead engine's"
        async with run.adoption:
            if not run.is_adopted:  # somebody was quicker
                return None
            opened = await self._take_over(run)
            if isinstance(opened, Failed):
                return opened
            unkept = await self._keep(run, opened)
            run.is_adopted = unkept is not None
            return unkept

    async def _take_over_alone(self, run: Run) -> ClaimedRun | Failed | None:
        """None if somebody who had to decide was quicker: then it is ours, and suspended."""
        assert run.adoption is not None, "not a dead engine's"
        async with run.adoption:
            if not run.is_adopted:
                return None
            opened = await self._take_over(run)
            run.is_adopted = isinstance(opened, Failed)
            return opened

    async def _news(self, run: Run, deadline: float) -> bool:
        """Something has settled. An approval that is asked for meanwhile is not news for the program."""
        run.is_listening = self._stored.is_durable
        try:
            with run.alarm_at(deadline):
                while not run.settled:
                    if not await run.news(deadline) or run.has_ended:
                        return False
        finally:
            run.is_listening = False
        return True

    async def _open(self, run: Run) -> ClaimedRun | Failed:
        """Claims the snapshot, so that nobody else resumes it, and opens it."""
        build_id = self._services.supervisor.build_id
        if not build_id:  # then nothing here can tell whether it fits
            return failed("runtime_unavailable", "No worker has started, so the run cannot be restored here.")
        saved_by: Owner | None = None
        try:
            if run.claim is not None:
                await self._stored.release(run.claim)
                run.claim = None
            if run.is_adopted:  # else it is ours, and nobody takes it from an engine that lives
                meta = await self._stored.find(run.id)
                if not isinstance(meta, RunMeta):
                    return await self._gone(run, _lost(run) if meta is None else ended(meta.ending))
                if self._stored.is_held(meta):
                    run.is_foreign = True
                    return failed("invalid_input", _HELD)
                saved_by = meta.saved_by  # so that of two who take it over one is too late
            opened = await self._stored.claim(build_id, run.id, run.scope, saved_by=saved_by)
        except EnvelopeRefused as error:
            return await self._refused(run, error)
        except (StoreUnavailable, NotHeld) as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if isinstance(opened, NotClaimed):
            if opened.why == "busy":
                run.is_foreign = True
                return failed("invalid_input", "This run is being resumed already; wait for that result.")
            if opened.why == "expired":  # told once, it stays so, whatever the clock does next
                await self._remember(run)
                with contextlib.suppress(StoreUnavailable):
                    await self._stored.end(run.id, leave="expired")
            return await self._gone(run, _lost(run) if opened.why == "unknown" else ended(opened.why))
        return opened

    async def _refused(self, run: Run, error: EnvelopeRefused) -> Failed:
        text = f"The suspended program cannot be restored: {error}"
        match error.reason:
            case "expired":
                return await self._gone(run, ended("expired"))
            case "too_large" | "wrong_key" | "wrong_build" | "wrong_version":
                run.is_foreign = True  # it stays as it is, for an engine that can open it
                is_large = error.reason == "too_large"
                return failed("snapshot_limit_exceeded" if is_large else "snapshot_restore_failed", text)
            case _:
                return await self._gone(run, failed("snapshot_restore_failed", text))

    async def _remember(self, run: Run) -> None:
        """What a run has done that ends unopened; one that was suspended here has that at hand."""
        if run.trace.look(()) is None:
            build_id = self._services.supervisor.build_id
            with contextlib.suppress(StoreUnavailable):
                state = await self._stored.peek(build_id, run.id, run.scope)
                if state is not None:
                    stored, calls = read_trace(state)
                    run.trace.thaw(stored)
                    run.trace.pack(calls)

    async def _gone(self, run: Run, result: Failed) -> Failed:
        if not run.has_ended:
            run.move(_ENDS.get(result.code, RunState.FAILED))
            self._services.end_outside_leg(run, result.code)
        await run.cancel_work()
        return result

    async def _take_over(self, run: Run) -> ClaimedRun | Failed:
        """After a restart: what settled is delivered; calls that were in flight end as interrupted, or run
        again with the same key if their tool is idempotent; timers go on, approvals are still asked for."""
        opened = await self._open(run)
        if isinstance(opened, Failed):
            return opened
        memory = run.thaw(opened.state, self._tally)
        try:
            self._admission.resolve_again(run)
        except (InputRefused, ConfigError) as refused:
            run.is_foreign = True  # it stays as it is, for an engine that has what it needs
            await self._stored.release(opened.claim)
            code = refused.code if isinstance(refused, InputRefused) else "invalid_config"
            return failed(code, str(refused))
        run.is_foreign = False
        run.seq = max((s.seq for s in opened.settlements), default=0)
        run.settled.extend(Settlement(id, json, rejected) for id, rejected, json in memory.settled)
        run.pending = {work.id: work for work in memory.pending}
        decisions = {s.call_id: s.payload for s in opened.settlements if s.kind == "decision"}
        for recorded in opened.settlements:
            work = run.pending.get(int(recorded.call_id)) if recorded.kind == "call" else None
            if work is not None:
                settled = Settlement(work.id, recorded.payload[1:], recorded.payload[:1] == b"\1")
                self._work.settle_recorded(run, work, settled)
        for work in list(run.pending.values()):
            self._continue(run, work, decisions.get(str(work.id)))
        return opened

    def _continue(self, run: Run, work: Work, decision: bytes | None) -> None:
        nested = self._work
        if work.method == "timer":
            nested.arm_timer(run, work)
        elif work.method == "yield":
            pass  # settled when the caller waits
        elif work.approval is not None:
            if decision is not None:
                self._continue_decided(run, work, msgspec.json.decode(decision, type=Decision))
        elif work.idempotent:
            nested.start_again(run, work)
        else:
            nested.interrupt(run, work)

    def _continue_decided(self, run: Run, work: Work, decision: Decision) -> None:
        """An approved call may have run before the engine died: only an idempotent one runs again."""
        approval, work.approval = work.approval, None
        if approval is not None and (work.idempotent or not decision.approved):
            self._work.decide(run, work, approval, decision)
        else:
            self._work.interrupt(run, work)

    async def _keep(self, run: Run, opened: ClaimedRun) -> Failed | None:
        """Saves what was taken over as ours; until now its snapshot says that nobody living has it.

        Where that fails the run stays in the store as it was, to be taken over once more.
        """
        state = run.freeze()
        ttl_ms = max(1, opened.expires_at_ms - now_ms())
        build_id = self._services.supervisor.build_id
        try:
            await self._stored.save(build_id, run.id, run.scope, ttl_ms, state, opened.delta, opened.claim)
        except SnapshotError as error:
            run.is_foreign = True
            await run.cancel_work()
            with contextlib.suppress(SnapshotError):
                await self._stored.release(opened.claim)
            if isinstance(error, NotHeld):
                return failed("aborted", "The run was cancelled by another engine.")
            code = "snapshot_limit_exceeded" if isinstance(error, StoreFull) else "internal_error"
            return failed(code, f"The run could not be stored: {error}")
        run.shrink()
        return None

    async def _still_waiting(self, run: Run) -> CodeModeResult:
        """Nothing settled in time. The ledger is in the snapshot, which is only read: nobody claims a run to
        wait for it, so that it is not lost if the engine dies now."""
        state: bytes | None = None
        if not run.has_ended:
            with contextlib.suppress(StoreUnavailable):
                build_id = self._services.supervisor.build_id
                state = await self._stored.peek(build_id, run.id, run.scope)
        if state is None or now_ms() >= run.expires_ms:
            opened = await self._open(run)  # which says what has become of it
            if isinstance(opened, Failed):
                return opened
            state = opened.state
            try:
                await self._stored.release(opened.claim)
            except SnapshotError as error:
                run.claim = opened.claim  # still ours, so the next wait gives it back first
                _log.warning("run %s could not be put back: %s", run.id, error)
        run.thaw(state, self._tally)
        meter = run.require_meter()
        meter.begin_leg("wait")
        meter.end_leg("waiting")
        run.idle_waits += 1
        self._work.set_elapsed(run)
        telemetry = meter.telemetry()
        pending = self._work.pending_calls(run)
        run.is_frozen = True
        done = [call for call in telemetry.calls if call.status != "pending"]
        run.late = tuple((call.id, call.status, call.ms, call.bytes_out) for call in done)
        run.shrink()
        has_approval = any(call.approval is not None for call in pending)
        return Waiting(run.id, "approval" if has_approval else "pending_tools", pending, (), telemetry)


def _lost(run: Run) -> Failed:
    """A run that is not in the store: one of ours expired long ago, another's was finished there just now."""
    return failed("invalid_input", str(unknown_run())) if run.is_adopted else ended("expired")


def ended(ending: str) -> Failed:
    match ending:
        case "expired":
            return failed(
                "snapshot_expired", "The run was suspended for too long and is gone. Start again with exec."
            )
        case "interrupted":
            return failed("aborted", "The engine died while this run was being resumed; it is gone.")
        case _:
            return failed("aborted", "The run was cancelled.")
