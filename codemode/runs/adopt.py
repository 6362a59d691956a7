"""Opens stored runs, and takes over runs that a dead engine left.

Opening claims the snapshot, so that no other engine resumes it. Taking over settles what the run waited for,
by the rules of the contract: calls that were in flight end as interrupted, or run again if their tool is
idempotent; timers go on, and approvals are still open.
"""

from __future__ import annotations

import contextlib

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

from codemode import clock
from codemode.config import ConfigError
from codemode.contract.inputs import InputRefused, unknown_run
from codemode.contract.results import Failed, failed
from codemode.executor import Decision
from codemode.runs.admission import Admission
from codemode.runs.frozen import Memory, open_memory
from codemode.runs.in_flight import Work
from codemode.runs.leg import Services
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.stored_runs import ClaimedRun

_ENDS = {"snapshot_expired": RunState.EXPIRED, "aborted": RunState.ABORTED}
_SHOWN_TOOLS = 8
_HELD = "This run belongs to another engine that is still running; ask that one."


class Adopter:
    """Opens stored runs, the engine's own and those that others left; one per engine."""

    def __init__(self, services: Services, admission: Admission) -> None:
        self._services = services
        self._admission = admission
        self._stored = services.stored
        self._work = services.work

    # ---- opening -------------------------------------------------------------------------------------------

    async def open(self, run: Run) -> ClaimedRun | Failed:
        """Claims the snapshot, so that no other engine resumes it, and opens it."""
        build_id = self._services.supervisor.build_id
        if not build_id:  # without it nothing tells whether the snapshot fits
            return failed("runtime_unavailable", "No worker has started, so the run cannot be restored here.")
        saved_by: Owner | None = None
        try:
            if run.claim is not None:
                await self._stored.release(run.claim)
                run.take_claim()
            if run.is_adoptable:  # else it is ours, and no engine takes it from one that lives
                meta = await self._stored.find(run.id)
                if not isinstance(meta, RunMeta):
                    return await self._gone(run, _lost(run) if meta is None else ended(meta.ending))
                if self._stored.is_held(meta):
                    run.let_go()
                    return failed("invalid_input", _HELD)
                saved_by = meta.saved_by  # so that only one of two engines takes it over
            opened = await self._stored.claim(build_id, run.id, run.scope, saved_by=saved_by)
        except EnvelopeRefused as error:
            return await self._refused(run, error)
        except (StoreUnavailable, NotHeld) as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        return await self._not_claimed(run, opened) if isinstance(opened, NotClaimed) else opened

    async def _not_claimed(self, run: Run, refused: NotClaimed) -> Failed:
        if refused.why == "busy":
            run.let_go()
            return failed("invalid_input", "This run is being resumed already; wait for that result.")
        if refused.why == "expired":  # recorded, so that it stays expired even if the clock is set back
            await self._remember(run)
            with contextlib.suppress(StoreUnavailable):
                await self._stored.end(run.id, leave="expired")
        return await self._gone(run, _lost(run) if refused.why == "unknown" else ended(refused.why))

    async def _refused(self, run: Run, error: EnvelopeRefused) -> Failed:
        text = f"The suspended program cannot be restored: {error}"
        match error.reason:
            case "expired":
                return await self._gone(run, ended("expired"))
            case "too_large" | "wrong_key" | "wrong_build" | "wrong_version":
                await self._remember(run)
                run.let_go()
                is_large = error.reason == "too_large"
                return failed("snapshot_limit_exceeded" if is_large else "snapshot_restore_failed", text)
            case _:
                return await self._gone(run, failed("snapshot_restore_failed", text))

    async def _remember(self, run: Run) -> None:
        """Reads the trace of a run that cannot be opened; a run that was suspended here still has it."""
        if run.trace.look(()) is None:
            with contextlib.suppress(StoreUnavailable):
                memory = await self._stored.peek(run.id, run.scope)
                if memory is not None:
                    run.trace.thaw(memory.trace)
                    run.trace.pack(memory.calls())

    async def _gone(self, run: Run, result: Failed) -> Failed:
        if not run.has_ended:
            run.end(_ENDS.get(result.code, RunState.FAILED))
            self._work.abort_calls(run)
            self._services.recorder.ended_outside_leg(run, result.code)
        await run.in_flight.cancel()
        return result

    # ---- taking over ---------------------------------------------------------------------------------------

    async def adopt(self, run: Run) -> Failed | None:
        """Takes over a run that a dead engine left and suspends it again, for a caller that will decide."""
        lock = run.adoption
        if lock is None:  # another caller was quicker
            return None
        async with lock:
            if not run.is_unopened:
                return None
            opened = await self._take_over(run)
            return opened if isinstance(opened, Failed) else await self.keep(run, opened)

    async def take_over(self, run: Run) -> ClaimedRun | Failed | None:
        """The same for a caller that resumes it. None if a caller that decides was quicker: the run is then
        ours, and suspended."""
        lock = run.adoption
        if lock is None:
            return None
        async with lock:
            return await self._take_over(run) if run.is_unopened else None

    async def _take_over(self, run: Run) -> ClaimedRun | Failed:
        opened = await self.open(run)
        if isinstance(opened, Failed):
            return opened
        memory = await open_memory(opened.state)
        run.take_over(memory, self._services.recorder.tally)
        try:
            self._admission.resolve_again(run)
            self._require_tools(run, memory)
        except (InputRefused, ConfigError) as refused:
            run.let_go()  # it stays as it is, for an engine that has its tools
            await self._stored.release(opened.claim)
            code = refused.code if isinstance(refused, InputRefused) else "invalid_config"
            return failed(code, str(refused))
        run.continue_seq(max((s.seq for s in opened.settlements), default=0))
        self._settle(run, opened)
        return opened

    def _require_tools(self, run: Run, memory: Memory) -> None:
        """Without a tool that it uses a run would fail: it is better off with an engine that has it. A tool
        that today's policy denies is there: a call of it fails, as in any other run."""
        catalog = run.environment.catalog
        absent = [tool_id for tool_id in memory.used_tools() if catalog.get(tool_id) is None]
        missing = [tool_id for tool_id in absent if not self._admission.knows(tool_id, run.origin.tools)]
        if missing:
            listed = ", ".join(missing[:_SHOWN_TOOLS]) + (", …" if len(missing) > _SHOWN_TOOLS else "")
            raise InputRefused(
                "invalid_config",
                f"This engine does not have tools that the run uses: {listed}. The run is kept as it is: "
                "wait for it with an engine that has them.",
            )

    def _settle(self, run: Run, opened: ClaimedRun) -> None:
        pending = run.in_flight.pending
        decisions = {s.call_id: s.payload for s in opened.settlements if s.kind == "decision"}
        for recorded in opened.settlements:
            work = pending.get(int(recorded.call_id)) if recorded.kind == "call" else None
            if work is not None:
                settled = Settlement(work.id, recorded.payload[1:], recorded.payload[:1] == b"\1")
                self._work.settle_recorded(run, work, settled)
        for work in list(pending.values()):
            asked = "" if work.approval is None else work.approval.id
            # a version before recorded decisions by the call
            self._continue(run, work, decisions.get(asked) or decisions.get(str(work.id)))

    def _continue(self, run: Run, work: Work, decision: bytes | None) -> None:
        if work.method == "timer":
            self._work.arm_timer(run, work)
        elif work.method == "yield":
            pass  # `wait` settles it
        elif work.approval is not None:
            if decision is not None:
                self._continue_decided(run, work, msgspec.json.decode(decision, type=Decision))
        elif work.idempotent:
            self._work.start_again(run, work)
        else:
            self._work.interrupt(run, work)

    def _continue_decided(self, run: Run, work: Work, decision: Decision) -> None:
        """An approved call may have run before the engine died, so only an idempotent one runs again."""
        approval = work.take_approval()
        if approval is not None and (work.idempotent or not decision.approved):
            self._work.decide(run, work, approval, decision)
        else:
            self._work.interrupt(run, work)

    async def keep(self, run: Run, opened: ClaimedRun) -> Failed | None:
        """Saves a run that was taken over as ours; until then its snapshot names an engine that is gone.

        If that fails the run stays in the store as it was, and can be taken over again.
        """
        state = run.freeze()
        ttl_ms = max(1, opened.expires_at_ms - clock.wall_ms())
        build_id = self._services.supervisor.build_id
        try:
            _, expires_ms = await self._stored.save(
                build_id, run.id, run.scope, ttl_ms, state, opened.delta, opened.claim
            )
        except SnapshotError as error:
            run.let_go()
            await run.in_flight.cancel()
            with contextlib.suppress(SnapshotError):
                await self._stored.release(opened.claim)
            if isinstance(error, NotHeld):
                return failed("aborted", "The run was cancelled by another engine.")
            code = "snapshot_limit_exceeded" if isinstance(error, StoreFull) else "internal_error"
            return failed(code, f"The run could not be stored: {error}")
        run.stored(0, expires_ms)  # 0: the guest was not captured again, so no snapshot is counted
        return None


def _lost(run: Run) -> Failed:
    """For a run that is not in the store: ours expired long ago; another engine's has just ended there."""
    return failed("invalid_input", str(unknown_run())) if run.is_adoptable else ended("expired")


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
