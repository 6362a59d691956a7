"""An engine that others took for dead, because it was frozen or cut off: what it does then harms nobody."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
from codemode_snapshots import StoreUnavailable

from codemode.engine import Engine
from codemode.runs.node import Node
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
# It does nothing that must not be repeated, so another engine begins its leg anew.
QUIET = "await yield_control(); return await tools.hold_again({ name: 'a' })"


def lapse(store: Path, node: str) -> None:
    connection = sqlite3.connect(store)
    with connection:
        connection.execute("UPDATE nodes SET lease_until_ms = 1 WHERE node = ?", (node,))
    connection.close()


def _no(_: Node) -> bool:
    return False


def name_of(made: Engine) -> str:
    return made._stored.node  # pyright: ignore[reportPrivateUsage] - no caller needs to know it


@pytest.mark.guarantee("any-node")
async def test_an_engine_that_lost_its_lease_and_closes_does_not_end_what_others_go_on_with(
    tmp_path: Path,
) -> None:
    store, desks = tmp_path / "runs.sqlite", (Desk(), Desk())
    async with engine(desks[1].tools, store=store) as theirs:
        async with engine(desks[0].tools, store=store) as ours:
            run_id = waiting(await ours.exec(QUIET)).run_id
            leg = asyncio.create_task(ours.wait(run_id))
            await desks[0].asked("a")
            lapse(store, name_of(ours))
            other = asyncio.create_task(theirs.wait(run_id))
            await desks[1].asked("a")
        assert "aborted" in str(await leg)
        desks[1].answer("a", 7)
        assert value_of(await other) == 7
        assert value_of(await theirs.wait(run_id)) == 7


@pytest.mark.guarantee("any-node")
async def test_a_leg_that_ends_at_an_engine_without_a_lease_is_told_what_the_others_say(
    tmp_path: Path,
) -> None:
    store, desks = tmp_path / "runs.sqlite", (Desk(), Desk())
    async with (
        engine(desks[1].tools, store=store) as theirs,
        engine(desks[0].tools, store=store) as ours,
    ):
        run_id = waiting(await ours.exec(QUIET)).run_id
        leg = asyncio.create_task(ours.wait(run_id))
        await desks[0].asked("a")
        lapse(store, name_of(ours))
        other = asyncio.create_task(theirs.wait(run_id))
        await desks[1].asked("a")
        desks[0].answer("a", "late")
        late = failure_of(await leg, "aborted")
        assert late.error == "Another engine went on with the run: wait for it once more."
        desks[1].answer("a", 7)
        assert value_of(await other) == 7
        assert value_of(await ours.wait(run_id)) == 7


async def test_a_leg_that_is_cancelled_at_an_engine_without_a_lease_ends_nothing_elsewhere(
    tmp_path: Path,
) -> None:
    store, desks = tmp_path / "runs.sqlite", (Desk(), Desk())
    async with (
        engine(desks[1].tools, store=store) as theirs,
        engine(desks[0].tools, store=store) as ours,
    ):
        program = "return await tools.hold_again({ name: 'a' })"
        first = asyncio.create_task(ours.exec(program, request_id="r"))
        await desks[0].asked("a")
        lapse(store, name_of(ours))
        second = asyncio.create_task(theirs.exec(program, request_id="r"))
        await desks[1].asked("a")
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        desks[1].answer("a", 7)
        assert value_of(await second) == 7


async def test_an_engine_that_has_not_reached_its_store_for_a_while_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk()
    async with engine(desk.tools, store=tmp_path / "runs.sqlite") as made:
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        with monkeypatch.context() as patch:
            patch.setattr(Node, "may_dispatch", _no)
            with pytest.raises(StoreUnavailable, match="begins no call"):
                await made.approve(asked.run_id, call.approval.id)
        assert await made.approve(asked.run_id, call.approval.id)
