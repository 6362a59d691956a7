"""Opens stored runs: whichever engine suspended them, and whatever has become of that one.

`look_in` reads a run without claiming it, so that it can be waited for and decided on here. `open` claims it,
so that no other engine goes on with it. Both settle what the run waits for by the rules of the contract:
outcomes that are in the store are delivered; calls of engines that are dead end as interrupted, or run again
if their tool is idempotent; calls that run on other engines are awaited; timers go on, and approvals are
still open.
"""

from __future__ import annotations

import contextlib

import msgspec
from codemode_snapshots import (
    CallView,
    Ending,
    EnvelopeRefused,
    Hold,
    NotClaimed,
    StoreUnavailable,
    View,
)

from codemode.config import ConfigError
from codemode.contract.inputs import InputRefused, busy_run, unknown_run
from codemode.contract.results import CodeModeResult, Failed, failed
from codemode.executor import ApprovalRequest, Decision
from codemode.runs.admission import Admission
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.frozen import Memory, open_memory
from codemode.runs.leg import Services
from codemode.runs.phases import RunState
from codemode.runs.run import Run
from codemode.runs.work import Work

_ENDS = {"snapshot_expired": RunState.EXPIRED, "aborted": RunState.ABORTED}
_SHOWN_TOOLS = 8


class Adopter:
    """Opens stored runs; one per engine."""

    def __init__(self, services: Services, admission: Admission) -> None:
        self._services = services
        self._admission = admission
        self._stored = services.stored
        self._work = services.work

    # ---- looking in ----------------------------------------------------------------------------------------

    async def look_in(self, run: Run) -> View | CodeModeResult:
        """Reads the run as it is in the store, unless what is known here is the same. It is suspended then,
        and what other engines do for it is known. Else the result of a wait for it."""
        async with run.opening:
            return await self._look_in(run)

    async def open(self, run: Run) -> ClaimedRun | CodeModeResult:
        """Claims the snapshot, so that no other engine goes on with it, and opens it."""
        async with run.opening:
            return await self._open(run)

    async def _look_in(self, run: Run) -> View | CodeModeResult:
        try:
            view = await self._stored.look(run.id, run.scope)
        except StoreUnavailable as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if not isinstance(view, View):
            return await self.over(run, view)
        run.set_build(view.label.build_id)
        if view.holder is not None or view.state is None:
            if view.holder != self._stored.node:  # else it goes on here
                run.let_go()
            return failed("invalid_input", str(busy_run()))
        if run.is_suspended and view.number == run.number:
            self._join(run, view.calls, {})
            return view
        if not run.is_adoptable:
            run.let_go()
        memory = await self._stored.read(view)
        if memory is None:
            return await self._unreadable(run)
        refused = self._load(run, memory, [])
        if refused is not None:
            return refused
        self._join(run, view.calls, {})
        run.rest(view.number, view.label.expires_at_ms)
        return view

    async def _unreadable(self, run: Run) -> CodeModeResult:
        """Claims it, which says why it cannot be read, and what becomes of it."""
        opened = await self._open(run)
        if not isinstance(opened, ClaimedRun):
            return opened
        await self.put_back(run, opened)  # it could be read after all: another engine has just saved it
        return failed("invalid_input", str(busy_run()))

    async def over(self, run: Run, ending: Ending | None) -> CodeModeResult:
        """The result for a run that is not live: what was kept, or how it ended."""
        if ending is None:
            return await self._gone(run, _lost(run))
        kept = self._stored.result_of(ending)
        await self._remember(run, ending.was)
        if kept is None:
            return await self._gone(run, ended(ending.how))
        if not run.has_ended:
            run.end(RunState.FAILED if isinstance(kept, Failed) else RunState.ABORTED)
        self._work.abort_calls(run)
        await run.in_flight.cancel()
        return kept

    # ---- opening -------------------------------------------------------------------------------------------

    async def _open(self, run: Run) -> ClaimedRun | CodeModeResult:
        builds = self._services.supervisor.builds
        if not builds:  # without it nothing tells whether the snapshot fits
            return failed("runtime_unavailable", "No worker has started, so the run cannot be restored here.")
        try:
            if run.claim is not None:
                await self._stored.release(run.claim)
                run.take_claim()
            opened = await self._stored.claim(builds, run.id, run.scope)
        except EnvelopeRefused as error:
            return await self._refused(run, error)
        except StoreUnavailable as error:
            return failed("internal_error", f"The store cannot be read: {error}")
        if isinstance(opened, Ending):
            if opened.how == "expired":
                with contextlib.suppress(
                    StoreUnavailable
                ):  # so that it stays expired if the clock is set back
                    await self._stored.end(run.id, run.scope, "expired")
            return await self.over(run, opened)
        if isinstance(opened, NotClaimed):
            return await self._not_claimed(run, opened)
        run.set_build(opened.build_id)
        if run.is_suspended and opened.claim.number != run.number + 1:
            run.let_go()  # others went on with it
        if run.is_adoptable:
            recorded = [(int(call_id), len(payload)) for call_id, payload in opened.outcomes]
            refused = self._load(run, await open_memory(opened.state), recorded)
            if refused is not None:
                await self._stored.release(opened.claim)
                return refused
        for call_id, payload in opened.outcomes:
            work = run.in_flight.pending.get(int(call_id))
            if work is not None:
                self._work.settle_recorded(run, work, payload)
        self._join(run, opened.calls, opened.taken)
        return opened

    async def put_back(self, run: Run, opened: ClaimedRun) -> Failed | None:
        """Gives the claim back: the program did not go on. What was taken over stays with this engine."""
        try:
            is_released = await self._stored.release(opened.claim)
        except StoreUnavailable as error:
            run.hold(opened.claim)  # the next wait releases it first
            return failed("internal_error", f"The run could not be put back: {error}")
        if not is_released:
            run.let_go()
            return failed("aborted", "The run was cancelled by another engine.")
        if run.is_adoptable:
            run.rest(opened.claim.number, opened.expires_at_ms)
        else:
            run.renumber(opened.claim.number)
        return None

    async def _not_claimed(self, run: Run, refused: NotClaimed) -> CodeModeResult:
        if refused.why == "unknown":
            return await self._gone(run, _lost(run))
        if refused.why == "wrong_build":
            return await self._refused(run, EnvelopeRefused("wrong_build"), refused.build_id)
        run.let_go()
        return failed("invalid_input", str(busy_run()))

    async def _refused(self, run: Run, error: EnvelopeRefused, build: str = "") -> Failed:
        text = f"The suspended program cannot be restored: {error}"
        if build:
            text = (
                f"The program was suspended by another engine build ({build[:12]}); its image is not here. "
                "The run is kept: wait for it with an engine that has the image, or put it where "
                "CODEMODE_IMAGES says."
            )
        match error.reason:
            case "expired":
                return await self._gone(run, ended("expired"))
            case "too_large" | "wrong_key" | "wrong_build" | "wrong_version":
                with contextlib.suppress(StoreUnavailable):
                    await self._remember(run, await self._stored.look(run.id, run.scope))
                run.let_go()
                is_large = error.reason == "too_large"
                return failed("snapshot_limit_exceeded" if is_large else "snapshot_restore_failed", text)
            case _:
                return await self._gone(run, failed("snapshot_restore_failed", text))

    async def _remember(self, run: Run, view: View | Ending | None) -> None:
        """Reads the trace of a run that cannot be opened; a run that was suspended here still has it."""
        if run.trace.look(()) is None and (memory := await self._stored.read(view)) is not None:
            run.trace.thaw(memory.trace)
            run.trace.pack(memory.calls())

    async def _gone(self, run: Run, result: Failed) -> Failed:
        if not run.has_ended:
            run.end(_ENDS.get(result.code, RunState.FAILED))
            self._work.abort_calls(run)
            self._services.recorder.ended_outside_leg(run, result.code)
        await run.in_flight.cancel()
        return result

    # ---- taking in what the store knows --------------------------------------------------------------------

    def _load(self, run: Run, memory: Memory, recorded: list[tuple[int, int]]) -> Failed | None:
        run.take_over(memory, self._services.recorder.tally)
        if run.contents:  # the store had room for it, and so must we
            run.in_flight.keep_content(run.contents.bytes, self._work.pending, run.scope.session)
        try:
            self._require_room(run, recorded)
            self._admission.resolve_again(run)
            self._require_tools(run, memory)
        except (InputRefused, ConfigError) as refused:
            run.let_go()  # it stays as it is, for an engine that has its tools, or room for it
            run.in_flight.forget()
            code = refused.code if isinstance(refused, InputRefused) else "invalid_config"
            return failed(code, str(refused))
        return None

    def _require_room(self, run: Run, recorded: list[tuple[int, int]]) -> None:
        refusal = self._work.count_inherited(run, recorded)
        if refusal is not None:
            told = f"There is no room here to take over this run: {refusal}. It is kept: wait for it later."
            raise InputRefused("runtime_unavailable", told)

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

    def _join(self, run: Run, calls: tuple[CallView, ...], taken: dict[str, Hold]) -> None:
        """Takes in who runs which call of the run. `taken` are those of dead engines that a claim gave us."""
        with run.in_flight.hold_line():
            self._join_begun(run, calls, taken)

    def _join_begun(self, run: Run, calls: tuple[CallView, ...], taken: dict[str, Hold]) -> None:
        rows = {int(call.call_id): call for call in calls}
        run.in_flight.rows = frozenset(rows)
        for work in list(run.in_flight.pending.values()):
            row = rows.get(work.id)
            if work.method == "timer":
                if work.id not in run.in_flight.timers:
                    self._work.arm_timer(run, work)
            elif row is None or row.settled is not None:
                pass  # a yield, or not started yet; or it settled, and a claim brings the outcome
            elif (hold := taken.get(row.call_id)) is not None:
                self._continue(run, work, row, hold)
            elif not row.is_orphaned:  # else a claim says what becomes of it
                self._place(run, work, row)

    def _place(self, run: Run, work: Work, row: CallView) -> None:
        """Notes who runs a call, and what it asks now."""
        if row.held_by is not None and row.held_by != self._stored.node:
            run.in_flight.leave_to_others(work.id)
        elif row.held_by is not None:
            run.in_flight.take(work.id, row.take)
        if row.asking is None:
            self._close(run, work)
        elif not work.is_asking(row.asking) and (asked := self._asked(run, row)) is not None:
            work.ask(asked)
            run.in_flight.note_asked(asked.id)

    def _close(self, run: Run, work: Work) -> None:
        """Another engine decided on it, or it asks no more."""
        approval = work.take_approval()
        if approval is not None:
            self._services.recorder.approval_closed(run, work, approval)

    def _asked(self, run: Run, row: CallView) -> ApprovalRequest | None:
        if row.asking is None or row.request is None:
            return None
        opened = self._stored.seals.open_part("request", run.id, row.asking, row.request)
        return None if opened is None else msgspec.json.decode(opened, type=ApprovalRequest)

    def _continue(self, run: Run, work: Work, row: CallView, hold: Hold) -> None:
        """Goes on with a call whose engine died. It may have taken effect, so only an idempotent one runs
        again; that holds for an approved one too, but a refusal is carried out."""
        run.in_flight.take(work.id, hold.take)
        approval = work.take_approval()
        decision = self._decided(run, approval, row)
        if approval is not None and decision is not None and (work.idempotent or not decision.approved):
            self._work.decide(run, work, approval, decision)
        elif work.idempotent and row.decision is None:
            self._work.start_again(run, work)
        else:
            self._work.interrupt(run, work)

    def _decided(self, run: Run, approval: ApprovalRequest | None, row: CallView) -> Decision | None:
        if approval is None or row.decision is None:
            return None
        opened = self._stored.seals.open_part("decision", run.id, approval.id, row.decision)
        return None if opened is None else msgspec.json.decode(opened, type=Decision)


def _lost(run: Run) -> Failed:
    """For a run that is not in the store: one that was suspended here expired long ago."""
    return failed("invalid_input", str(unknown_run())) if run.is_adoptable else ended("expired")


def ended(how: str) -> Failed:
    match how:
        case "expired":
            return failed(
                "snapshot_expired", "The run was suspended for too long and is gone. Start again with exec."
            )
        case "interrupted":
            return failed("aborted", "The engine died while this run was going on; it is gone.")
        case "completed" | "failed":
            return failed("aborted", "The run has ended, and its result is not kept any more.")
        case _:
            return failed("aborted", "The run was cancelled.")
