"""How runs and engines end beside everything else that goes on: told once, kept where it is promised, joined."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import pytest

from codemode import Engine, tool
from codemode.contract.events import CallFinished, Event, RunFinished
from codemode.workers.kept import Tenant
from codemode.workers.pool import Pool
from codemode.workers.worker import Worker
from tests.harness.engine import Desk, engine, failure_of, statuses, value_of, waiting
from tests.harness.faults import Clock, read_only
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    return tmp_path / "runs.sqlite" if request.param == "sqlite" else None


def stubborn(entered: asyncio.Event, leave: asyncio.Event) -> Any:
    @tool
    async def linger() -> None:
        """Cleans up for as long as it is made to."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            await leave.wait()

    return linger


@pytest.mark.guarantee("aborted-runs-fail")
async def test_a_wait_while_an_aborted_run_is_tidied_up_says_aborted_and_runs_nothing(
    store: Path | None,
) -> None:
    desk, entered, leave = Desk(), asyncio.Event(), asyncio.Event()
    async with engine([*desk.tools, stubborn(entered, leave)], store=store) as made:
        program = "const slow = tools.linger(); await yield_control(); try { await slow } catch {} await tools.hold({ name: 'late' })"
        first = waiting(await made.exec(program))
        await entered.wait()
        aborting = asyncio.create_task(made.abort(first.run_id))
        await until(lambda: made.stats()["runs"] == {"aborted": 1})
        for _ in range(2):
            failed = failure_of(await made.wait(first.run_id), "aborted")
            assert statuses(failed) == [("linger", "aborted")]
        leave.set()
        assert await aborting
        failure_of(await made.wait(first.run_id), "aborted")
        assert desk.started == []


async def test_a_run_whose_store_did_not_answer_when_it_was_aborted_stays_aborted(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as made:
        first = waiting(await made.exec("await yield_control(); return 7"))
        with read_only(made):
            assert await made.abort(first.run_id)
            failure_of(await made.wait(first.run_id), "aborted")
        assert len(await made.runs()) == 1
        await made.expire()  # as it does by itself from time to time
        assert await made.runs() == []
        failure_of(await made.wait(first.run_id), "aborted")
    async with engine(store=store) as made:
        failure_of(await made.wait(first.run_id), "aborted")


@pytest.mark.parametrize("session", [None, "", "  ", 7, ["s"]])
async def test_a_session_that_is_none_ends_no_run(store: Path | None, session: Any) -> None:
    async with engine(store=store) as made:
        first = waiting(await made.exec("await yield_control(); return 7", session="alice"))
        assert await made.abort_session(session) == 0
        assert value_of(await made.wait(first.run_id, session="alice")) == 7


@pytest.mark.parametrize("run_id", [None, 7, "", ["r"], "x" * 500])
async def test_an_id_that_is_none_is_an_unknown_run(store: Path | None, run_id: Any) -> None:
    async with engine(store=store) as made:
        failure_of(await made.wait(run_id), "invalid_input")
        assert not await made.abort(run_id)
        assert not await made.approve(run_id, "a")
        assert not await made.deny(run_id, "a")
        assert await made.trajectory(run_id) is None


@pytest.mark.guarantee("ledger-in-every-result")
async def test_every_end_of_a_suspended_run_tells_what_it_has_done(
    store: Path | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk()
    async with engine(desk.tools, store=store) as made:
        program = "await tools.echo({ value: 1 }); const held = tools.hold({ name: 'a' }); await yield_control(); await held"
        done = [("echo", "ok"), ("hold", "aborted")]
        before = waiting(await made.exec(program))
        assert await made.abort(before.run_id)
        assert statuses(await made.wait(before.run_id)) == done
        during = waiting(await made.exec(program))
        waited = asyncio.create_task(made.wait(during.run_id))
        await until(lambda: len(desk.started) == 2)
        assert await made.abort(during.run_id)
        assert statuses(failure_of(await waited, "aborted")) == done
        late = waiting(await made.exec(program))
        Clock(monkeypatch).ahead = 3600.0
        assert statuses(failure_of(await made.wait(late.run_id), "snapshot_expired")) == done
        assert statuses(failure_of(await made.wait(late.run_id), "snapshot_expired")) == done
        assert made.stats()["totals"]["results"]["snapshot_expired"] == 1  # the second is the first, kept


async def test_what_became_of_snapshots_is_counted_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with engine() as made:
        first = waiting(await made.exec("await yield_control(); return 7"))
        assert first.telemetry.snapshot is not None
        taken, stored = first.telemetry.snapshot_events
        assert (taken.event, taken.bytes) == ("taken", first.telemetry.snapshot.bytes)
        assert (stored.event, stored.bytes) == ("stored", (await made.runs())[0]["bytes"])
        assert first.telemetry.durations_ms["store"] >= 0
        last = await made.wait(first.run_id)
        assert [event.event for event in last.telemetry.snapshot_events] == [
            "taken",
            "stored",
            "restored",
            "dropped",
        ]
        assert last.telemetry.snapshot_events[2].bytes == taken.bytes
        waiting(await made.exec("await yield_control()"))
        aborted = waiting(await made.exec("await yield_control()"))
        assert await made.abort(aborted.run_id)
        Clock(monkeypatch).ahead = 3600.0
        assert await made.expire() == 1
        assert made.stats()["totals"]["snapshots"] == {
            "taken": 3,
            "stored": 3,
            "restored": 1,
            "dropped": 2,
            "expired": 1,
        }


async def test_a_suspension_that_fails_is_one_failed_result_and_no_waiting_one() -> None:
    async with engine(settings={"maxSuspendedRuns": 1}) as made:
        waiting(await made.exec("await yield_control()"))
        failure_of(await made.exec("await yield_control()"), "snapshot_limit_exceeded")
        assert made.stats()["totals"]["results"] == {"waiting": 1, "snapshot_limit_exceeded": 1}


@pytest.mark.guarantee("snapshot-cap-holds")
async def test_the_whole_stored_snapshot_counts_and_not_only_the_program_s_memory() -> None:
    async with engine(config={"maxSnapshotBytes": 10_000}, redact=False) as made:
        value = "Array.from(crypto.getRandomValues(new Uint8Array(9000))).join()"
        result = await made.exec(f"await tools.echo({{ value: {value} }}); await yield_control()")
        failure_of(result, "snapshot_limit_exceeded")
        waiting(await made.exec("await tools.echo({ value: 1 }); await yield_control()"))
        assert [found["bytes"] <= 10_000 for found in await made.runs()] == [True]


async def test_time_in_the_queue_is_not_taken_from_the_program() -> None:
    async with engine((), {"timeoutMs": 1000}, {"maxWorkers": 1}) as made:
        busy = "const until = performance.now() + 400; while (performance.now() < until); return 7"
        first = waiting(await made.exec(f"await yield_control(); {busy}"))
        # this one has the only worker until its own time is up, and that is all the time there is
        blocking = asyncio.create_task(made.exec("for (;;);"))
        await until(lambda: made.stats()["workers"]["busy"] == 1)
        assert value_of(await made.wait(first.run_id)) == 7
        failure_of(await blocking, "timeout")


async def test_a_cold_start_longer_than_the_budget_is_not_taken_from_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = Pool.take

    async def slow_start(pool: Pool, tenant: Tenant | None = None) -> Worker:
        worker, ready = await take(pool, tenant), asyncio.Event()
        asyncio.get_running_loop().call_later(0.3, ready.set)
        await ready.wait()
        return worker

    monkeypatch.setattr(Pool, "take", slow_start)
    async with engine((), {"timeoutMs": 200}) as made:
        assert value_of(await made.exec("return 7")) == 7


async def test_compiling_typescript_counts_as_the_time_of_its_program() -> None:
    async with engine((), {"timeoutMs": 300}) as made:
        bomb = "return [" + "(x as A).b, " * 80_000 + "0]"
        failure_of(await made.exec(bomb, language="typescript"), "timeout")


async def test_the_end_is_told_though_the_run_is_aborted_while_it_fails() -> None:
    entered, leave = asyncio.Event(), asyncio.Event()
    async with engine([stubborn(entered, leave)]) as made:
        heard: list[Event] = []
        events = made.events()
        program = "tools.linger(); await new Promise((r) => setTimeout(r, 1)); throw new Error('no')"
        running = asyncio.create_task(made.exec(program, session="s"))
        await entered.wait()
        await until(lambda: made.stats()["runs"] == {"failed": 1})
        aborting = asyncio.create_task(made.abort_session("s"))
        await asyncio.sleep(0)
        leave.set()
        await asyncio.gather(running, aborting)
        async for event in events:
            heard.append(event)
            if isinstance(event, RunFinished):
                break
        assert [e.status for e in heard if isinstance(e, CallFinished)] == ["aborted"]
        assert len([e for e in heard if isinstance(e, RunFinished)]) == 1


async def test_a_call_that_ended_with_its_run_has_the_time_it_took() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = (
            "tools.hold({ name: 'a' }); await new Promise((r) => setTimeout(r, 30)); throw new Error('no')"
        )
        (call,) = (await made.exec(program)).telemetry.calls
        assert (call.name, call.status) == ("hold", "aborted")
        assert call.ms >= 20


async def test_to_describe_a_tool_is_not_to_have_called_it_and_output_is_counted_in_bytes() -> None:
    async with engine() as made:
        result = await made.exec("await tools.describe('echo'); text('é😀')")
        assert result.telemetry.called_tools == ()
        assert result.telemetry.bytes["output"] == 6


# ---- engines ------------------------------------------------------------------------------------------------


async def test_a_run_that_waits_for_a_worker_when_its_engine_is_closed_is_kept(tmp_path: Path) -> None:
    store, desk = tmp_path / "runs.sqlite", Desk()
    async with engine(desk.tools, settings={"maxWorkers": 1}, store=store) as made:
        first = waiting(await made.exec("await yield_control(); return 7"))
        blocking = asyncio.create_task(made.exec("for (;;);"))
        await until(lambda: made.stats()["workers"]["busy"] == 1)
        queued = asyncio.create_task(made.wait(first.run_id))
        await until(lambda: made.stats()["workers"]["queued"] == 1)
    failure_of(await blocking, "aborted")
    failure_of(await queued, "aborted")
    async with engine(
        desk.tools, settings={"maxWorkers": 1}, store=store
    ) as made:  # taken over, and queued again
        blocking = asyncio.create_task(made.exec("for (;;);"))
        await until(lambda: made.stats()["workers"]["busy"] == 1)
        queued = asyncio.create_task(made.wait(first.run_id))
        await until(lambda: made.stats()["workers"]["queued"] == 1)
    await asyncio.gather(blocking, queued)
    async with engine(desk.tools, store=store) as made:
        assert value_of(await made.wait(first.run_id)) == 7


@pytest.mark.guarantee("ends-leave-nothing")
async def test_an_engine_in_a_scope_that_is_cancelled_is_closed_all_the_same(store: Path | None) -> None:
    desk = Desk()
    with anyio.CancelScope() as scope:
        async with engine(desk.tools, store=store) as made:
            waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()"))
            await desk.asked("a")
            scope.cancel()
            await anyio.sleep_forever()
    assert desk.joined == ["a"]


async def test_everybody_who_closes_an_engine_returns_when_it_is_closed(store: Path | None) -> None:
    made = Engine(config={"enabled": True}, store=store)
    await made.start()
    first = asyncio.create_task(made.close())
    await asyncio.sleep(0)
    first.cancel()
    await made.close()
    await asyncio.gather(first, return_exceptions=True)
    assert not made.stats()["workers"]["zygotes"]
    await made.close()


@pytest.mark.guarantee("ends-leave-nothing")
@pytest.mark.parametrize("turns", [0, 1, 5, 40])
async def test_a_start_that_is_cancelled_leaves_nothing(store: Path | None, turns: int) -> None:
    made = Engine(config={"enabled": True}, store=store)
    starting = asyncio.create_task(made.start())
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    failed = failure_of(await made.exec("return 1"), "aborted")
    assert "Engine" in failed.error or "engine" in failed.error


async def test_an_engine_is_started_once() -> None:
    made = Engine(config={"enabled": True})
    assert "not started" in failure_of(await made.exec("return 1"), "aborted").error
    async with made:
        with pytest.raises(RuntimeError, match="once"):
            await made.start()
    with pytest.raises(RuntimeError, match="once"):
        await made.start()
    assert "closed" in failure_of(await made.exec("return 1"), "aborted").error
    assert await made.expire() == 0


async def test_an_approval_while_the_engine_is_closed_starts_nothing_that_outlives_it(tmp_path: Path) -> None:
    running: list[str] = []

    @tool(requires_approval=True)
    async def pay() -> None:
        """Pays for ever."""
        running.append("pay")
        try:
            await asyncio.Event().wait()
        finally:
            running.remove("pay")

    for turns in range(8):
        made = Engine([pay], {"enabled": True}, store=tmp_path / f"{turns}.sqlite")
        await made.start()
        asked = waiting(await made.exec("await tools.pay({})"), "approval")
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        closing = asyncio.create_task(made.close())
        for _ in range(turns):
            await asyncio.sleep(0)
        await made.approve(asked.run_id, call.approval.id)
        await closing
        assert running == []


def test_a_key_of_another_length_is_refused_before_anything_is_sealed(tmp_path: Path) -> None:
    wrong: list[Any] = [b"short", "text" * 8, 123]
    for key in wrong:
        with pytest.raises(ValueError, match="store_key"):
            Engine(store=tmp_path / "runs.sqlite", store_key=key)
