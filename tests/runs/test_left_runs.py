"""Runs that one engine left and another goes on with: nothing runs twice, nothing is lost, whoever is in a hurry."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from codemode import ApprovalRequest, BeforeToolCall, Block, Engine, RequireApproval, Rewrite, Tool, tool
from tests.harness.engine import Desk, echo, engine, failure_of, statuses, value_of, waiting
from tests.harness.faults import Clock
from tests.harness.loops import until
from tests.harness.tool_search import lose_runtime

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@dataclass
class Till:
    """Pays if somebody says yes, and knows what it has paid."""

    paid: list[int] = field(default_factory=list[int])

    @property
    def tool(self) -> Tool:
        @tool(requires_approval=True)
        async def pay(amount: int) -> str:
            """Pays."""
            self.paid.append(amount)
            await asyncio.sleep(0)
            return f"paid {amount}"

        return pay


async def left_with_approvals(store: Path, *amounts: int) -> tuple[str, list[str]]:
    """A run that an engine left which was closed, and the approvals it waits for."""
    async with engine([Till().tool], store=store) as made:
        calls = ", ".join(f"tools.pay({{ amount: {amount} }})" for amount in amounts)
        asked = waiting(await made.exec(f"return await Promise.all([{calls}])"), "approval")
    return asked.run_id, [call.approval.id for call in asked.pending_tool_calls if call.approval]


@pytest.mark.guarantee("unopened-runs-stay")
async def test_a_wait_on_an_engine_that_is_off_leaves_the_run_as_it_is(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        first = waiting(await made.exec("await yield_control(); return 7"))
    async with Engine(config=False, store=store) as off:
        failure_of(await off.wait(first.run_id), "invalid_config")
    async with engine(store=store) as made:
        assert value_of(await made.wait(first.run_id)) == 7


@pytest.mark.guarantee("unopened-runs-stay")
async def test_a_wait_on_an_engine_whose_workers_do_not_start_leaves_the_run_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, (approval,) = await left_with_approvals(store, 5)
    with monkeypatch.context() as patch:
        lose_runtime(patch)
        async with engine([Till().tool], store=store) as broken:
            failure_of(await broken.exec("return 1"), "runtime_unavailable")
            failure_of(await broken.wait(run_id), "runtime_unavailable")
            assert not await broken.approve(run_id, approval)
    till = Till()
    async with engine([till.tool], store=store) as made:
        assert await made.approve(run_id, approval)
        assert value_of(await made.wait(run_id)) == ["paid 5"]
    assert till.paid == [5]


@pytest.mark.guarantee("unopened-runs-stay")
async def test_a_run_under_another_key_stays_for_an_engine_that_has_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store, store_key=b"1" * 32) as made:
        first = waiting(await made.exec("await yield_control(); return 7"))
    async with engine(store=store, store_key=b"2" * 32) as made:
        failure_of(await made.wait(first.run_id), "snapshot_restore_failed")
        failure_of(await made.wait(first.run_id), "snapshot_restore_failed")
    async with engine(store=store, store_key=b"1" * 32) as made:
        assert value_of(await made.wait(first.run_id)) == 7


@pytest.mark.guarantee("unopened-runs-stay")
async def test_a_run_over_today_s_snapshot_limit_stays_for_an_engine_with_more_room(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    held = "const held = Array.from(crypto.getRandomValues(new Uint8Array(40000))).join();"
    async with engine(store=store) as made:
        first = waiting(await made.exec(f"{held} await yield_control(); return held.length > 0"))
    async with engine(config={"maxSnapshotBytes": 4096}, store=store) as made:
        failure_of(await made.wait(first.run_id), "snapshot_limit_exceeded")
    async with engine(store=store) as made:
        assert value_of(await made.wait(first.run_id)) is True


@pytest.mark.guarantee("decided-once")
@pytest.mark.parametrize("pause", range(6))
async def test_an_approval_given_twice_after_a_restart_pays_once(tmp_path: Path, pause: int) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, (approval,) = await left_with_approvals(store, 5)
    till = Till()
    async with engine([till.tool], store=store) as made:
        first = asyncio.create_task(made.approve(run_id, approval))
        for _ in range(pause * 3):
            await asyncio.sleep(0)
        again = await made.approve(run_id, approval)
        assert sorted([await first, again]) == [False, True]
        assert value_of(await made.wait(run_id)) == ["paid 5"]
    assert till.paid == [5]


async def test_all_approvals_of_a_run_can_be_given_at_once_after_a_restart(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, approvals = await left_with_approvals(store, 1, 2, 3)
    till = Till()
    async with engine([till.tool], store=store) as made:
        given = await asyncio.gather(*(made.approve(run_id, approval) for approval in approvals))
        assert given == [True] * 3
        assert value_of(await made.wait(run_id)) == ["paid 1", "paid 2", "paid 3"]
    assert sorted(till.paid) == [1, 2, 3]


@pytest.mark.parametrize("wait_first", [True, False])
async def test_a_wait_beside_an_approval_after_a_restart_goes_on_with_what_was_approved(
    tmp_path: Path, wait_first: bool
) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, (approval,) = await left_with_approvals(store, 5)
    till = Till()
    async with engine([till.tool], store=store) as made:
        if wait_first:
            waited = asyncio.create_task(made.wait(run_id))
            await asyncio.sleep(0)
            assert await made.approve(run_id, approval)
        else:
            approved = asyncio.create_task(made.approve(run_id, approval))
            await asyncio.sleep(0)
            waited = asyncio.create_task(made.wait(run_id))
            assert await approved
        result = await waited
        while result.status == "waiting":
            result = await made.wait(run_id)
        assert value_of(result) == ["paid 5"]
    assert till.paid == [5]


@pytest.mark.guarantee("decided-once")
async def test_two_engines_that_take_over_the_same_runs_approve_each_once(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    left = [await left_with_approvals(store, amount) for amount in range(8)]
    till = Till()
    async with engine([till.tool], store=store) as one, engine([till.tool], store=store) as other:
        given = await asyncio.gather(
            *(made.approve(run_id, approval) for run_id, (approval,) in left for made in (one, other))
        )
        assert sum(given) == 8
        await until(lambda: len(till.paid) == 8)
    assert sorted(till.paid) == list(range(8))


@pytest.mark.guarantee("decided-once")
async def test_a_caller_who_is_cancelled_while_approving_loses_no_run(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    left = [await left_with_approvals(store, amount) for amount in range(6)]
    till = Till()
    async with engine([till.tool], store=store) as made:
        for turns, (run_id, (approval,)) in enumerate(left):
            giving = asyncio.create_task(made.approve(run_id, approval))
            for _ in range(1 + 4 * turns):
                await asyncio.sleep(0)
            giving.cancel()
            await asyncio.gather(giving, return_exceptions=True)
            assert value_of(await made.wait(run_id)) == [f"paid {turns}"]
    assert till.paid == list(range(6))


@pytest.mark.guarantee("decided-once")
async def test_an_approval_of_a_run_that_another_engine_aborted_pays_nothing(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    till = Till()
    async with engine([till.tool], store=store) as made, engine([till.tool], store=store) as other:
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        assert await other.abort(asked.run_id)
        assert not await made.approve(asked.run_id, call.approval.id)
        failure_of(await made.wait(asked.run_id), "aborted")
    assert till.paid == []


async def test_what_another_engine_aborted_is_stopped_here_with_the_next_purge(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    desk = Desk()
    async with engine(desk.tools, store=store) as made, engine(desk.tools, store=store) as other:
        program = "tools.hold({ name: 'a' }); await yield_control()"
        first = waiting(await made.exec(program))
        kept = waiting(await made.exec("await yield_control(); return 7"))
        await desk.asked("a")
        assert await other.abort(first.run_id)
        await made.expire()
        assert desk.joined == ["a"]
        assert made.stats()["runs"] == {"waiting": 1}
        assert value_of(await made.wait(kept.run_id)) == 7


async def test_an_approval_at_another_engine_runs_the_call_there_while_the_first_one_lives(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.sqlite"
    here, there = Till(), Till()
    async with engine([here.tool], store=store) as made, engine([there.tool], store=store) as other:
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        assert await other.approve(asked.run_id, call.approval.id)
        assert not await made.approve(asked.run_id, call.approval.id)
        assert value_of(await made.wait(asked.run_id)) == "paid 5"
        assert value_of(await other.wait(asked.run_id)) == "paid 5"  # the kept result
    assert (here.paid, there.paid) == ([], [5])


async def test_a_wait_in_vain_does_not_claim_the_run(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}, store=store) as made:
        first = waiting(await made.exec("return await tools.hold({ name: 'a' })"))
        for _ in range(2):
            waiting(await made.wait(first.run_id))
        with closing(sqlite3.connect(store)) as database, database:
            assert database.execute("SELECT number, claimed_by FROM runs").fetchall() == [(0, None)]
        database.close()
        desk.answer("a", 7)
        assert value_of(await made.wait(first.run_id)) == 7


async def test_what_a_run_did_is_told_though_it_expired_in_another_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        first = waiting(await made.exec("await tools.echo({ value: 1 }); await yield_control()"))
    async with engine(store=store) as made:
        Clock(monkeypatch).ahead = 3600.0
        late = failure_of(await made.wait(first.run_id), "snapshot_expired")
        assert statuses(late) == [("echo", "ok")]


async def test_an_engine_without_the_tools_a_run_uses_leaves_it_untouched_and_says_which(
    tmp_path: Path,
) -> None:
    store, desk = tmp_path / "runs.sqlite", Desk()
    program = "await tools.echo({ value: 1 }); await yield_control(); return tools.hold_again({ name: 'a' })"
    async with engine(desk.tools, store=store) as made:
        run_id = waiting(await made.exec(program)).run_id
    async with engine((), store=store) as made:
        for _ in range(2):
            refused = failure_of(await made.wait(run_id), "invalid_config")
            assert "openclaw:core:echo, openclaw:core:hold_again" in refused.error
            assert "kept" in refused.error
            assert statuses(refused) == [("echo", "ok")]
        assert not await made.approve(run_id, "any")
    async with engine(desk.tools, store=store) as made:
        waited = asyncio.create_task(made.wait(run_id))
        await desk.asked("a")
        desk.answer("a", 3)
        assert value_of(await waited) == 3


class Rule:
    """A hook of the second engine, which the first did not have."""

    def __init__(self, answer: Block | Rewrite | RequireApproval | None) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def before_tool_call(self, event: BeforeToolCall) -> Block | Rewrite | RequireApproval | None:
        if event.tool == "pay":
            self.asked.append(event.arguments)
            return self.answer
        return None


@pytest.mark.guarantee("hooks-of-the-caller")
async def test_the_hooks_of_the_engine_that_makes_an_approved_call_are_asked_about_it(tmp_path: Path) -> None:
    for answer, expected in (
        (Block("not today"), "pay was blocked: not today"),
        (None, "paid 5"),
        (RequireApproval("twice"), "paid 5"),
        (Rewrite({"amount": 5}), "paid 5"),
    ):
        store = tmp_path / f"{type(answer).__name__}.sqlite"
        program = "return await tools.pay({ amount: 5 }).catch((e) => e.message)"
        async with engine([Till().tool], store=store) as made:
            run_id = waiting(await made.exec(program), "approval").run_id
        till, rule = Till(), Rule(answer)
        async with engine([till.tool], store=store, hooks=rule) as made:
            info = await made.run_info(run_id)
            assert info is not None
            assert await made.approve(run_id, info.approvals[0].id)
            assert value_of(await made.wait(run_id)) == expected
        assert (rule.asked, till.paid) == ([{"amount": 5}], [5] if expected == "paid 5" else [])


@pytest.mark.guarantee("an-approval-is-for-one-call")
async def test_arguments_that_a_hook_of_the_next_engine_changes_are_approved_anew(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, (first,) = await left_with_approvals(store, 5)
    till = Till()
    async with engine([till.tool], store=store, hooks=Rule(Rewrite({"amount": 500}))) as made:
        assert await made.approve(run_id, first)
        asked = await open_approval(made, run_id, other_than=first)
        assert (asked.arguments, till.paid) == ({"amount": 500}, [])
        assert await made.approve(run_id, asked.id)
        assert value_of(await made.wait(run_id)) == ["paid 500"]
        assert till.paid == [500]


async def test_a_tool_that_changed_since_it_was_approved_is_asked_about_again_and_the_second_yes_counts(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.sqlite"
    run_id, (first,) = await left_with_approvals(store, 5)
    till = Till()
    changed = replace(till.tool, description="Pays into another account.")
    async with engine([changed], store=store) as made:
        assert await made.approve(run_id, first)
        asked = await open_approval(made, run_id, other_than=first)
        assert (await made.approve(run_id, first), till.paid) == (False, [])
        assert await made.approve(run_id, asked.id)
        assert value_of(await made.wait(run_id)) == ["paid 5"]
        assert till.paid == [5]


async def open_approval(made: Engine, run_id: str, *, other_than: str) -> ApprovalRequest:
    while True:
        info = await made.run_info(run_id)
        found = [asked for asked in info.approvals if asked.id != other_than] if info is not None else []
        if found:
            return found[0]
        await asyncio.sleep(0.001)


@pytest.mark.guarantee("unopened-runs-stay")
async def test_a_run_whose_tool_todays_policy_denies_goes_on_and_fails_at_the_call(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    program = (
        "await yield_control(); return [typeof tools.echo, await tools.call('echo', {}).catch((e) => e.code)]"
    )
    async with engine(store=store) as made:
        first = waiting(await made.exec(program))
    async with engine([], store=store) as made:
        told = failure_of(await made.wait(first.run_id), "invalid_config").error
        assert "does not have tools that the run uses: openclaw:core:echo." in told
    async with engine(store=store, policy={"deny": ["echo"]}) as made:
        assert value_of(await made.wait(first.run_id)) == ["undefined", "unknown_tool"]
    run_id, (asked,) = await left_with_approvals(store, 5)
    till = Till()
    async with engine([till.tool, echo], store=store, policy={"deny": ["pay"]}) as made:
        assert await made.approve(run_id, asked)
        assert "No tool" in failure_of(await made.wait(run_id), "nested_tool_failed").error
    assert till.paid == []
