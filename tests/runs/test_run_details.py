"""Looking at a run without waiting for it: whatever it does, wherever it is, and nothing changes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from codemode import BlockingEngine, RunDetails, Scope
from tests.harness.engine import Desk, echo, engine, failure_of, pay, texts, value_of, waiting
from tests.harness.faults import Clock

pytestmark = pytest.mark.usefixtures("leaves_nothing")
STORES = pytest.mark.parametrize("store", [None, "runs.sqlite"])
PAY = "await tools.echo({}); text('asked'); return await tools.pay({ amount: 5 })"


def told(details: RunDetails | None, *names: str) -> list[Any]:
    assert details is not None
    return [getattr(details, name) for name in names]


@STORES
async def test_a_run_that_waits_tells_why_for_what_and_until_when(store: str | None, tmp_path: Path) -> None:
    async with engine(store=store and tmp_path / store) as made:
        result = waiting(await made.exec(PAY, session="s"), "approval")
        info = await made.run_info(result.run_id, session="s")
        assert info is not None
        assert told(info, "status", "reason", "place", "calls") == [
            "waiting",
            "approval",
            "here",
            {"ok": 1, "pending": 1},
        ]
        (call,), (shown,) = result.pending_tool_calls, info.pending_tool_calls
        assert (shown.id, shown.tool, shown.approval) == (call.id, call.tool, call.approval)
        (asked,) = info.approvals
        assert (asked.tool, asked.arguments, asked.run_id) == ("pay", {"amount": 5}, result.run_id)
        (listed,) = await made.runs()
        assert told(info, "expires_at_ms", "bytes", "settled") == [listed.expires_at_ms, listed.bytes, 0]
        assert info.age_ms is not None
        assert info.output == ()  # the waiting result has brought it
        assert call.approval is not None
        assert await made.approve(result.run_id, call.approval.id, session="s")
        assert value_of(await made.wait(result.run_id, session="s")) == "paid 5"


@STORES
async def test_a_run_in_a_leg_is_running_with_its_calls_and_the_output_so_far(
    store: str | None, tmp_path: Path
) -> None:
    desk = Desk()
    async with engine(desk.tools, store=store and tmp_path / store) as made:
        events = made.events()
        leg = asyncio.create_task(made.exec("text('so far'); return await tools.hold({ name: 'a' })"))
        await desk.asked("a")
        run_id = (await anext(events)).run_id
        info = await made.run_info(run_id)
        assert info is not None
        assert told(info, "status", "reason", "place", "calls", "expires_at_ms") == [
            "running",
            None,
            "here",
            {"pending": 1},
            None,
        ]
        assert [call.tool for call in info.pending_tool_calls] == ["openclaw:core:hold"]
        assert [item.text for item in info.output if item.type == "text"] == ["so far"]
        desk.answer("a", 1)
        result = await leg
        assert (value_of(result), texts(result)) == (1, ["so far"])


async def test_looking_takes_nothing_away_and_ended_runs_are_told_as_long_as_their_results_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with engine() as made:
        first = waiting(
            await made.exec("await yield_control('soon'); text('t'); return tools.echo({ value: 1 })")
        )
        for _ in range(3):
            info = await made.run_info(first.run_id)
            assert told(info, "status", "reason") == ["waiting", "yield"]
        result = await made.wait(first.run_id)
        assert (value_of(result), texts(result)) == (1, ["t"])
        ended = await made.run_info(first.run_id)
        assert told(ended, "status", "code", "calls", "pending_tool_calls", "output") == [
            "completed",
            None,
            {"ok": 1},
            (),
            result.output,
        ]
        assert await made.wait(first.run_id) == result
        broken = waiting(await made.exec("await yield_control(); throw new Error('no')"))
        error = failure_of(await made.wait(broken.run_id), "guest_error").error
        assert told(await made.run_info(broken.run_id), "status", "code", "error") == [
            "failed",
            "guest_error",
            error,
        ]
        aborted = waiting(await made.exec(PAY))
        assert await made.abort(aborted.run_id)
        assert told(await made.run_info(aborted.run_id), "status", "code", "calls") == [
            "failed",
            "aborted",
            {"aborted": 1, "ok": 1},
        ]
        Clock(monkeypatch).ahead = 3600.0
        assert await made.run_info(first.run_id) is None


async def test_a_run_past_its_time_is_told_as_expired_before_and_after_the_purge(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with engine(store=tmp_path / "runs.sqlite") as made:
        result = waiting(await made.exec(PAY))
    async with engine(store=tmp_path / "runs.sqlite") as made:
        Clock(monkeypatch).ahead = 1000.0
        for _ in range(2):
            assert told(await made.run_info(result.run_id), "status", "code") == [
                "failed",
                "snapshot_expired",
            ]
            await made.expire()


async def test_a_run_that_another_engine_left_or_holds_is_told_without_being_taken(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    desk = Desk()
    async with engine(desk.tools, store=store) as first, engine([], store=store) as other:
        result = waiting(
            await first.exec("return [await tools.pay({ amount: 5 }), await tools.hold({ name: 'a' })]")
        )
        held = await other.run_info(result.run_id)
        assert told(held, "status", "reason", "place") == ["waiting", "approval", "store"]
    async with engine([], store=store) as other:  # it has no tools, and none are needed to look
        left = await other.run_info(result.run_id)
        assert left is not None
        assert told(left, "status", "reason", "place", "calls") == [
            "waiting",
            "approval",
            "store",
            {"pending": 1},
        ]
        assert [asked.arguments for asked in left.approvals] == [{"amount": 5}]
        assert other.stats()["runs"] == {}
    async with engine([*desk.tools], store=store) as last:
        (asked,) = left.approvals
        assert await last.approve(result.run_id, asked.id)
        waits = asyncio.create_task(last.wait(result.run_id))
        await desk.asked("a")
        desk.answer("a", 2)
        assert value_of(await waits) == ["paid 5", 2]


@pytest.mark.guarantee("wrong-scope-fails")
@STORES
async def test_no_other_scope_learns_that_a_run_exists(store: str | None, tmp_path: Path) -> None:
    async with engine(store=store and tmp_path / store) as made:
        run_id = waiting(await made.exec(PAY, session="s", agent="a", agent_run="1")).run_id
        kept = waiting(await made.exec("await yield_control(); return 1", session="s")).run_id
        assert value_of(await made.wait(kept, session="s")) == 1
        gone = waiting(await made.exec(PAY, session="s")).run_id
        assert await made.abort(gone, session="s")
        strangers = [Scope("a", "t", "1"), Scope("b", "s", "1"), Scope("a", "s", "2"), Scope("a", "s")]
        for stranger in strangers:
            for known in (run_id, kept, gone, "run_none", "", "x" * 300):
                assert await made.run_info(known, scope=stranger) is None
        assert told(await made.run_info(run_id, scope=Scope("a", "s", "1")), "status") == ["waiting"]


def test_a_blocking_engine_looks_too_and_gives_the_json_of_the_docs() -> None:
    with BlockingEngine([echo, pay], settings={"warmWorkers": 1}) as made:
        run_id = waiting(made.exec(PAY)).run_id
        info = made.run_info(run_id)
        assert info is not None
        found = info.to_dict()
    assert sorted(found) == [
        "agent", "approvals", "asked", "bytes", "calls", "expiresAtMs", "pendingToolCalls", "place", "reason",
        "runId", "session", "startedAtMs", "status", "suspendedAtMs",
    ]  # fmt: skip


async def test_the_counts_of_a_run_have_every_call_also_those_that_a_long_ledger_does_not_list() -> None:
    program = "for (let n = 0; n < 1600; n += 1) await tools.echo({}); return await tools.pay({ amount: 5 })"
    async with engine() as made:
        result = waiting(await made.exec(program))
        assert len(result.telemetry.calls) == 1500
        assert told(await made.run_info(result.run_id), "calls") == [{"ok": 1600, "pending": 1}]
