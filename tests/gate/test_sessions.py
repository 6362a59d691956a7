"""One session cannot use up what others need: workers, places in the queue, suspended runs, the store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode import Failed
from codemode.gate.shares import SessionShares
from codemode.workers.errors import QueueFull
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting
from tests.harness.workers import supervisor

_MIB = 1 << 20
pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.guarantee("sessions-leave-room")
async def test_a_session_with_its_share_of_workers_waits_while_another_gets_one() -> None:
    async with supervisor(max_workers=8, queue_limit=8) as found:
        greedy = [await found.lease(session="greedy") for _ in range(6)]
        more = [asyncio.create_task(found.lease(session="greedy")) for _ in range(6)]
        await asyncio.sleep(0)
        assert (found.stats().busy, found.stats().queued) == (6, 6)
        with pytest.raises(QueueFull, match="6 runs of this session are already waiting"):
            await found.lease(session="greedy")
        others = [await found.lease(session="other"), await found.lease(session="third")]
        greedy.pop().release()
        greedy.append(await more.pop(0))  # its own place, and nobody else's
        for worker in others:
            worker.release()
        await asyncio.sleep(0)
        assert found.stats().queued == 5
        for task in more:
            task.cancel()
        await asyncio.gather(*more, return_exceptions=True)
        for worker in greedy:
            worker.release()
        assert (found._busy, found._slots) == (0, {})  # pyright: ignore[reportPrivateUsage]


async def test_callers_who_name_no_session_have_all_workers() -> None:
    async with supervisor(max_workers=8) as found:
        for worker in [await found.lease(session="default") for _ in range(8)]:
            worker.release()


@pytest.mark.guarantee("sessions-leave-room")
async def test_a_session_with_its_share_of_suspended_runs_is_refused_and_another_is_not() -> None:
    desk = Desk()
    program = "await yield_control(); return 1"
    async with engine(desk.tools, settings={"maxSuspendedRuns": 8}) as made:
        held = [waiting(await made.exec(program, session="greedy"), "yield") for _ in range(6)]
        refused = failure_of(await made.exec(program, session="greedy"), "snapshot_limit_exceeded")
        assert "allows 6 (snapshots)" in refused.error
        assert value_of(await made.wait(held[0].run_id, session="greedy")) == 1
        waiting(await made.exec(program, session="greedy"), "yield")
        waiting(await made.exec(program, session="other"), "yield")


@pytest.mark.guarantee("sessions-leave-room")
@pytest.mark.parametrize("is_file", [False, True])
async def test_a_session_with_its_share_of_the_store_is_refused_and_another_is_not(
    tmp_path: Path, is_file: bool
) -> None:
    program = "const a = crypto.getRandomValues(new Uint8Array(60e3)); await yield_control(); return a.length"
    store = tmp_path / "runs.sqlite" if is_file else None
    async with engine(store=store, settings={"maxStoreBytes": _MIB}) as made:
        share, held = 3 * _MIB // 4, list[str]()
        while True:
            result = await made.exec(program, session="greedy")
            if isinstance(result, Failed):
                break
            held.append(waiting(result, "yield").run_id)
            used = sum(run.bytes for run in await made.runs())
            assert used <= share
        assert result.code == "snapshot_limit_exceeded"
        assert f"allows {share} (total_bytes)" in result.error
        other = waiting(await made.exec(program, session="other"), "yield")
        assert value_of(await made.wait(held.pop(), session="greedy")) == 60_000
        waiting(await made.exec(program, session="greedy"), "yield")
        assert value_of(await made.wait(other.run_id, session="other")) == 60_000


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.integers(0, 9), st.booleans())))
def test_the_shares_of_sessions_are_what_their_runs_add_up_to(
    steps: list[tuple[int, str, int, bool]],
) -> None:
    shares, known = SessionShares(100, 20, 50, "default"), dict[str, tuple[str, int]]()
    for number, session, size, goes in steps:
        run_id = str(number)
        session = known.get(run_id, (session, 0))[0]  # a run keeps its session
        if goes:
            shares.drop(run_id)
            known.pop(run_id, None)
            continue
        others = sum(held for name, (whose, held) in known.items() if whose == session and name != run_id)
        found = shares.excess(run_id, session, size)
        is_more = size > known.get(run_id, ("", 0))[1]
        assert (found is not None) == (is_more and others + size > 10)
        assert shares.excess(run_id, "default", size) is None
        if found is None:
            shares.put(run_id, session, size)
            known[run_id] = (session, size)
    for run_id in list(known):
        shares.drop(run_id)
    assert (shares._kept, shares._sessions) == ({}, {})  # pyright: ignore[reportPrivateUsage]
