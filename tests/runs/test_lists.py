"""Lists of runs, reports of one, open approvals, and the history that outlives engines."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from codemode import (
    ApprovalClosed,
    ApprovalOpened,
    ApprovalRequest,
    Completed,
    Engine,
    RunQuery,
    Scope,
    Waiting,
    tool,
)


@tool(requires_approval=True)
async def pay(to: str, cents: int) -> str:
    """Sends money."""
    return f"{cents} to {to}"


@tool
async def ship(to: str) -> str:
    """Sends a parcel."""
    return to


PAY = "const name = 'Ada';\nreturn await tools.pay({ to: name, cents: 500 })"


async def waiting(engine: Engine, **who: Any) -> Waiting:
    result = await engine.exec(PAY, **who)
    assert isinstance(result, Waiting)
    return result


async def test_runs_of_every_kind_are_in_one_list_the_latest_first() -> None:
    async with Engine([pay, ship]) as engine:
        await engine.exec("return await tools.ship({ to: 'Ada' })", session="a")
        await engine.exec("return missing", "typescript", session="b")
        held = await waiting(engine, session="a")

        page = await engine.list_runs()

        assert [(run.status, run.session, run.code) for run in page.runs] == [
            ("waiting", "a", None),
            ("failed", "b", "guest_error"),
            ("completed", "a", None),
        ]
        first, second, third = page.runs
        assert first.run_id == held.run_id
        assert (first.reason, first.approvals, first.place, first.legs) == ("approval", 1, "here", 1)
        assert first.bytes > 0
        assert second.language == "typescript"
        assert (third.tools, third.calls) == (("openclaw:core:ship",), 1)
        assert page.next is None
        assert await engine.count_runs() == {"running": 0, "waiting": 1, "finished": 2}


async def test_a_list_is_filtered_searched_and_goes_on_page_by_page() -> None:
    async with Engine([pay, ship]) as engine:
        for number in range(5):
            await engine.exec(f"return {number}", session=f"s-{number % 2}")
        await engine.exec("await tools.ship({ to: 'x' }); throw new Error('no')", session="other")
        held = await waiting(engine, session="s-0")

        async def sizes(query: RunQuery) -> int:
            return len((await engine.list_runs(query)).runs)

        assert await sizes(RunQuery(session="s-0")) == 4
        assert await sizes(RunQuery(sessions=("s-*",))) == 6
        assert await sizes(RunQuery(statuses=("waiting",))) == 1
        assert await sizes(RunQuery(statuses=("completed", "failed"))) == 6
        assert await sizes(RunQuery(text="SHIP guest_error")) == 1
        assert await sizes(RunQuery(tool="ship")) == 1
        assert await sizes(RunQuery(tool="pay")) == 1
        assert await sizes(RunQuery(text=held.run_id)) == 1
        assert await sizes(RunQuery(agent="nobody")) == 0

        seen: list[str] = []
        before = None
        while True:
            page = await engine.list_runs(before=before, limit=3)
            seen += [run.run_id for run in page.runs]
            before = page.next
            if before is None:
                break
        assert len(seen) == len(set(seen)) == 7


async def test_a_report_has_the_program_and_the_places_of_a_live_run_and_the_error_of_a_failed_one() -> None:
    async with Engine([pay, ship]) as engine:
        held = await waiting(engine, session="a")
        report = await engine.run_report(held.run_id, session="a")
        assert report is not None
        assert report.program == PAY
        assert report.trajectory.calls[0].suspended is not None
        assert [call.name for call in report.ledger] == ["pay"]
        assert await engine.run_report(held.run_id, session="b") is None
        assert await engine.run_owner(held.run_id) == Scope(session="a")

        await engine.exec("let a;\n  a.b", session="a")
        (failed,) = (await engine.list_runs(RunQuery(statuses=("failed",)))).runs
        told = await engine.run_report(failed.run_id, session="a")
        assert told is not None
        assert told.error is not None
        assert (told.error.code, told.error.line) == ("guest_error", 2)
        assert told.program is None


async def test_open_approvals_are_listed_with_what_is_to_be_run_and_hooks_hear_of_them() -> None:
    heard: list[ApprovalRequest | ApprovalClosed] = []

    class Bell:
        async def approval_opened(self, asked: ApprovalRequest) -> None:
            heard.append(asked)
            raise RuntimeError("a chat that is down")

        def approval_closed(self, closed: ApprovalClosed) -> None:
            heard.append(closed)

    engine = Engine([pay], hooks=[Bell()])
    await engine.start()
    events = engine.events()
    held, other = await waiting(engine, session="a"), await waiting(engine, session="b")

    found = await engine.approvals()
    (mine,) = await engine.approvals("a")
    assert [one.run_id for one in found] == [held.run_id, other.run_id]
    assert (mine.name, mine.arguments) == ("pay", {"to": "Ada", "cents": 500})
    assert mine.arguments_sha256 == hashlib.sha256(b'{"cents":500,"to":"Ada"}').hexdigest()
    assert await engine.approvals(scope=Scope(session="b")) == [found[1]]

    assert await engine.approve(held.run_id, mine.id, session="a")
    assert [one.run_id for one in await engine.approvals()] == [other.run_id]
    assert isinstance(await engine.wait(held.run_id, session="a"), Completed)
    await engine.abort(other.run_id, session="b")
    assert await engine.approvals() == []
    await engine.close()

    outcomes = [event.outcome for event in heard if isinstance(event, ApprovalClosed)]
    asked = [event for event in heard if isinstance(event, ApprovalRequest)]
    assert outcomes == ["approved", "gone"]
    assert [one.arguments for one in asked] == [{"to": "Ada", "cents": 500}] * 2
    told = [event async for event in events if isinstance(event, ApprovalOpened | ApprovalClosed)]
    assert [event.type for event in told] == ["approval_opened"] * 2 + ["approval_closed"] * 2


@pytest.mark.parametrize("redact", [True, False])
async def test_the_history_outlives_its_engine_and_is_redacted_as_trajectories_are(
    tmp_path: Path, redact: bool
) -> None:
    store = tmp_path / "runs.sqlite"
    async with Engine([ship], store=store, redact=redact) as engine:
        await engine.exec("return await tools.ship({ to: 'secret' })", session="a")

    async with Engine([ship], store=store) as later:
        (run,) = (await later.list_runs()).runs
        report = await later.run_report(run.run_id, session="a")
        hidden = await later.run_report(run.run_id, session="b")
        by_text = (await later.list_runs(RunQuery(text="secret"))).runs

    assert report is not None
    assert hidden is None
    assert (report.trajectory.status, len(report.trajectory.calls[0].calls)) == ("completed", 1)
    assert report.program == (None if redact else "return await tools.ship({ to: 'secret' })")
    assert (report.value and bytes(report.value)) == (None if redact else b'"secret"')
    assert len(by_text) == (0 if redact else 1)
    assert (b"secret" in store.read_bytes()) is not redact


async def test_an_approval_asked_by_a_dead_engine_is_listed_by_the_next(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with Engine([pay], store=store) as engine:
        held = await waiting(engine, session="a")

    async with Engine([pay], store=store) as later:
        (asked,) = await later.approvals("a")
        (listed,) = (await later.list_runs()).runs
        assert asked.arguments == {"to": "Ada", "cents": 500}
        assert (listed.status, listed.reason, listed.place, listed.approvals) == (
            "waiting",
            "approval",
            "store",
            1,
        )
        report = await later.run_report(held.run_id, session="a")
        assert report is not None
        assert report.program == PAY


async def test_the_history_keeps_no_more_than_it_may_and_nothing_when_it_is_off() -> None:
    async with Engine(settings={"historyRuns": 3}) as engine:
        for number in range(5):
            await engine.exec(f"return {number}")
        assert len((await engine.list_runs()).runs) == 3
    async with Engine(settings={"historyRuns": 0}) as engine:
        await engine.exec("return 1")
        assert (await engine.list_runs()).runs == ()
