"""Forks: copies of suspended runs and of worlds, which go on by themselves.

A fork is a suspended run of its own, in the scope of the original: its own id, ledger, budget and approvals.
Calls that were in flight get the answers that they were given for it; the others are treated as calls of an
engine that died, so that idempotent ones run again and the rest end as interrupted. The original is claimed
for the moment of the copy, and given back as it was.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from codemode_runtime.frames import Data
from codemode_runtime.shapes import Settlement
from codemode_snapshots import NO_VALUE, Pending, RunScope, SnapshotError, StoreFull
from msgspec.structs import replace

from codemode.contract.error_codes import ErrorCode
from codemode.contract.inputs import InputRefused, read_scope
from codemode.contract.results import CodeModeResult, Completed, Failed
from codemode.contract.telemetry import CallEnd
from codemode.executor.failures import failure_of
from codemode.runs.adopt import Adopter
from codemode.runs.claimed_run import ClaimedRun
from codemode.runs.frozen import Memory, encode_memory, open_memory
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.meter import RunMeter, Tally
from codemode.runs.phases import new_run_id
from codemode.runs.rejections import read_rejection
from codemode.runs.run import Run
from codemode.runs.work import Work, is_question
from codemode.runs.worlds import Worlds

_NOBODY = "fork"  # the node that holds a fork's calls: it never joined, so it is dead


class ForkError(Exception):
    """There is nothing to fork, or not so; the original is as it was. `code` is one of a failed result."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code: ErrorCode = code


class Frozen(msgspec.Struct, frozen=True):
    """A suspended run to make a fork of: what it waits for, and what has settled and was not delivered."""

    build_id: str
    memory: Memory
    delta: Data
    pending: tuple[Work, ...]
    settled: tuple[Settlement, ...]


class Forks:
    """Makes forks; one per engine."""

    def __init__(self, services: Services, runs: KnownRuns, adopter: Adopter) -> None:
        self._services = services
        self._stored = services.stored
        self._runs = runs
        self._adopter = adopter

    async def fork_run(
        self, run_id: str, caller: RunScope, settle: Mapping[str | int, Any], at: int | None = None
    ) -> str:
        """Raises ForkError and StoreUnavailable."""
        answers = {_call_id(call): _settlement(_call_id(call), answer) for call, answer in settle.items()}
        if at is not None:
            return await self.save(await self._past(run_id, at, caller), caller, answers)
        try:
            run = await self._runs.find(run_id, caller)
        except InputRefused as refused:
            raise ForkError(refused.code, str(refused)) from None
        if not isinstance(run, Run):
            raise _over(run)
        return await self.save(await self._read(run), run.scope, answers)

    async def _past(self, run_id: str, at: int, caller: RunScope) -> Frozen:
        found = await self._services.history.read(run_id, at, caller)
        if found is None:
            raise ForkError("invalid_input", f"There is no moment {at} of this run; `history` lists them.")
        build_id, memory, delta = found
        return Frozen(build_id, memory, delta, tuple(memory.pending), tuple(memory.settlements()))

    async def _read(self, run: Run) -> Frozen:
        opened = await self._adopter.open(run)
        if not isinstance(opened, ClaimedRun):
            raise _over(opened)
        try:
            memory = await open_memory(opened.state)
            meter = run.meter or run.look(memory, Tally())
            memory.meter, memory.contents = meter.encode(), run.contents.freeze()
            pending = tuple(work.for_snapshot() for work in run.in_flight.pending.values())
            return Frozen(opened.build_id, memory, opened.delta, pending, tuple(run.in_flight.settled))
        finally:
            if (unkept := await self._adopter.put_back(run, opened)) is not None:
                raise _over(unkept)

    async def save(self, frozen: Frozen, scope: RunScope, answers: Mapping[int, Settlement]) -> str:
        """Stores the fork, and returns its id."""
        config, run_id = self._services.config, new_run_id()
        known = {work.id for work in frozen.pending if work.is_call} | {one.id for one in frozen.settled}
        if unknown := [str(call) for call in answers if call not in known]:
            has = ", ".join(map(str, sorted(known))) or "none"
            raise ForkError(
                "invalid_input", f"The run does not wait for call {unknown[0]}; it waits for: {has}."
            )
        memory = frozen.memory
        settled = [answers.get(one.id, one) for one in frozen.settled]
        settled += [answer for call, answer in answers.items() if all(call != one.id for one in settled)]
        waits = [_own(work, run_id) for work in frozen.pending if work.id not in answers]
        forked = replace(
            memory,
            meter=_ledger(memory.meter, answers),
            pending=waits,
            settled=[(one.id, one.rejected, bytes(one.json)) for one in settled],
            asked=tuple(work.approval.id for work in waits if work.approval is not None),
            world="copy" if memory.world else "",
            story=None,
        )
        ttl_ms = config.snapshot_ttl_seconds * 1000
        try:
            await self._stored.save(
                frozen.build_id,
                run_id,
                scope,
                ttl_ms,
                encode_memory(forked),
                frozen.delta,
                None,
                _rows(waits),
                holder=_NOBODY,
            )
        except SnapshotError as error:
            raise ForkError("snapshot_limit_exceeded", f"The fork cannot be stored: {error}") from None
        return run_id


async def fork_world(worlds: Worlds, owner: RunScope, into: str | None) -> str:
    """Copies a session's world into another session, and returns its name. Raises ForkError."""
    name = into or f"{owner.session}-{secrets.token_urlsafe(9)}"
    try:
        read_scope(owner.agent, name, NO_VALUE, NO_VALUE)
        copied = await worlds.fork(owner, name)
    except InputRefused as refused:
        raise ForkError(refused.code, str(refused)) from None
    except StoreFull as error:
        raise ForkError("snapshot_limit_exceeded", f"The fork cannot be stored: {error}") from None
    if copied is None:
        raise ForkError("invalid_input", f"The session {owner.session} has declared nothing that is kept.")
    if not copied:
        raise ForkError("invalid_input", f"The session {name} has variables of its own: reset it first.")
    return name


def _over(result: CodeModeResult) -> ForkError:
    """For a run that is not suspended."""
    if isinstance(result, Failed):
        return ForkError(result.code, result.error)
    how = "has completed" if isinstance(result, Completed) else "cannot be forked"
    return ForkError("invalid_input", f"The run {how}: only a suspended one can be forked.")


def _call_id(given: object) -> int:
    if isinstance(given, str | int) and str(given).isdecimal() and 0 < int(given) < 1 << 32:
        return int(given)
    raise ForkError(
        "invalid_input", f"settle takes ids of calls, such as those of pendingToolCalls: not {given!r}."
    )


def _settlement(call: int, answer: object) -> Settlement:
    """A value as the call's result, an exception as its failure."""
    if isinstance(answer, Exception):
        return Settlement(call, failure_of(answer).json, True)
    try:
        return Settlement(call, msgspec.json.encode(answer))
    except (TypeError, ValueError, RecursionError) as error:
        raise ForkError("invalid_input", f"The answer for call {call} is not JSON: {error}.") from None


def _own(work: Work, run_id: str) -> Work:
    """The call as the fork's: with an approval of its own. One that asked while it ran is not running now."""
    if work.approval is None:
        return work
    if is_question(work.approval):
        return replace(work, approval=None, asked=b"")
    return replace(
        work, approval=replace(work.approval, id=f"apr_{secrets.token_urlsafe(18)}", run_id=run_id)
    )


def _rows(waits: list[Work]) -> list[Pending]:
    return [
        Pending(str(work.id), work.idempotent, work.approval is None, work.approval and work.approval.id)
        for work in waits
        if work.is_call and not work.queued
    ]


def _ledger(encoded: bytes, answers: Mapping[int, Settlement]) -> bytes:
    meter = RunMeter.resume(Tally(), encoded)
    for call, answer in answers.items():
        error = read_rejection(bytes(answer.json))[0] if answer.rejected else None
        status = "error" if answer.rejected else "ok"
        meter.finish_call(CallEnd(str(call), status, 0, len(answer.json), error))
    return meter.encode()
