"""A store that fails while the engine is busy: every answer is a result, and what was promised stays."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest
from codemode_snapshots import StoreUnavailable
from codemode_snapshots.sqlite import SqliteStore

from codemode import Engine, tool
from codemode.contract.results import CodeModeResult
from tests.harness.engine import echo, engine, failure_of, pay, value_of, waiting
from tests.harness.faults import Gate, full_disk, read_only
from tests.harness.loops import until

pytestmark = pytest.mark.usefixtures("leaves_nothing")
Fault = Callable[[Engine], AbstractContextManager[None]]
YIELDS = "await yield_control(); return {}"


@contextmanager
def without_disk(made: Engine) -> Generator[None]:
    with full_disk():
        yield


FAULTS = pytest.mark.parametrize("fault", [without_disk, read_only], ids=["full", "read-only"])


async def suspend_some(made: Engine, count: int = 4) -> list[str]:
    results = await asyncio.gather(*(made.exec(YIELDS.format(n), session="s") for n in range(count)))
    return [waiting(result, "yield").run_id for result in results]


async def resume_all(made: Engine, ids: list[str]) -> list[CodeModeResult]:
    return list(await asyncio.gather(*(made.wait(run_id, session="s") for run_id in ids)))


@FAULTS
async def test_runs_suspended_before_a_store_fails_are_resumed_after_it(tmp_path: Path, fault: Fault) -> None:
    async with engine([echo], store=tmp_path / "runs.sqlite") as made:
        ids = await suspend_some(made)
        with fault(made):
            for result in await resume_all(made, ids):
                failure_of(result, "internal_error")
            plain = [made.exec(f"return await tools.echo({{ value: {n} }})") for n in range(4)]
            assert [value_of(result) for result in await asyncio.gather(*plain)] == [0, 1, 2, 3]
        assert [value_of(result) for result in await resume_all(made, ids)] == [0, 1, 2, 3]
        assert await made.runs() == []


@FAULTS
async def test_a_run_that_cannot_be_stored_fails_with_its_output_and_leaves_nothing(
    tmp_path: Path, fault: Fault
) -> None:
    async with engine([echo], store=tmp_path / "runs.sqlite") as made:
        await suspend_some(made, 1)
        with fault(made):
            programs = [f"text('said {n}'); await yield_control()" for n in range(4)]
            results = await asyncio.gather(*(made.exec(program, session="t") for program in programs))
        for number, result in enumerate(results):
            failed = failure_of(result, "internal_error")
            assert "could not be stored" in failed.error
            assert failed.to_dict()["output"] == [{"type": "text", "text": f"said {number}"}]
        assert made.stats()["runs"] == {"waiting": 1}
        assert len(await made.runs()) == 1


@FAULTS
async def test_a_program_that_ends_while_its_store_fails_still_gives_its_value(
    tmp_path: Path, fault: Fault
) -> None:
    gate = Gate()
    async with engine([gate.tool], store=tmp_path / "runs.sqlite") as made:
        first = waiting(await made.exec("await yield_control(); return await tools.gate({ value: 7 })"))
        ending = asyncio.create_task(made.wait(first.run_id))
        await until(lambda: gate.entered)
        with fault(made):
            gate.open()
            assert value_of(await ending) == 7
            with suppress(StoreUnavailable):
                await made.runs()  # the deletion comes behind the result, and before this
        assert made.stats()["runs"] == {}
        assert value_of(await made.wait(first.run_id)) == 7  # its kept result
        assert gate.entered == 1, "a run that has ended was resumed"
    # its snapshot could not be deleted, but it is claimed: no engine will ever go on with it
    async with engine([gate.tool], store=tmp_path / "runs.sqlite") as other:
        failure_of(await other.wait(first.run_id), "aborted")
        assert await other.runs() == []


async def test_what_needs_a_store_that_is_gone_raises_and_decides_nothing(tmp_path: Path) -> None:
    file = tmp_path / "runs.sqlite"
    async with engine([pay], store=file) as made:
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        left = asked.run_id
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
    async with engine([pay], store=file) as made:
        file.rename(tmp_path / "away")
        for step in (
            made.approve(left, call.approval.id),
            made.deny(left, call.approval.id),
            made.abort(left),
            made.runs(),
            made.run_info(left),
            made.trajectory(left),
            made.abort_session("default"),
            made.session_trajectory("default"),
        ):
            with pytest.raises(StoreUnavailable, match="deleted or replaced"):
                await step
        failure_of(await made.wait(left), "internal_error")
        failure_of(await made.exec("await yield_control()"), "internal_error")
        assert (await made.probe()).status == "degraded"
        (tmp_path / "away").rename(file)
        assert await made.approve(left, call.approval.id)
        assert value_of(await made.wait(left)) == "paid 5"


@FAULTS
async def test_an_approval_that_cannot_be_recorded_can_be_given_again(tmp_path: Path, fault: Fault) -> None:
    async with engine([pay], store=tmp_path / "runs.sqlite") as made:
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        with fault(made), pytest.raises(StoreUnavailable):
            await made.approve(asked.run_id, call.approval.id)
        assert await made.approve(asked.run_id, call.approval.id)
        assert value_of(await made.wait(asked.run_id)) == "paid 5"


async def test_a_result_too_large_for_the_store_does_not_cost_the_run_that_waits_for_it(
    tmp_path: Path,
) -> None:
    """It comes between the snapshot and its saving, where it has to be recorded at once."""

    @tool
    async def large() -> str:
        """Answers as soon as its run is frozen."""
        runs = made._runs  # pyright: ignore[reportPrivateUsage] - a moment that nobody else can see
        await until(lambda: any(found.is_suspended for found in runs.all()))
        return "x" * 200_000

    settings = {"maxStoreBytes": 100_000}
    async with engine([large], settings=settings, store=tmp_path / "runs.sqlite") as made:
        program = "const held = tools.large({}); await yield_control(); return (await held).length"
        assert value_of(await made.wait(waiting(await made.exec(program)).run_id)) == 200_000


async def test_a_run_too_large_for_the_engine_that_takes_it_over_stays_for_one_with_more_room(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.sqlite"
    some = "crypto.getRandomValues(new Uint8Array(60000))"
    held = f"const held = Array.from({{ length: 25 }}, () => {some});"
    async with engine([pay], store=store) as made:
        asked = waiting(await made.exec(f"{held} return [await tools.pay({{ amount: 5 }}), held.length]"))
    (call,) = asked.pending_tool_calls
    assert call.approval is not None
    async with engine([pay], {"maxSnapshotBytes": 1024}, store=store) as made:
        failure_of(await made.wait(asked.run_id), "snapshot_limit_exceeded")
        assert not await made.approve(asked.run_id, call.approval.id)
        assert len(await made.runs()) == 1
    async with engine([pay], store=store) as made:
        assert await made.approve(asked.run_id, call.approval.id)
        assert value_of(await made.wait(asked.run_id)) == ["paid 5", 25]


async def test_a_run_that_could_not_be_put_back_is_put_back_by_the_next_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment between taking it and giving it back is too short to break a disk in."""
    gate = Gate()
    store = tmp_path / "runs.sqlite"
    async with engine([gate.tool], {"timeoutMs": 100}, store=store) as made:
        first = waiting(await made.exec("return await tools.gate({ value: 7 })"))
        with monkeypatch.context() as patch:
            patch.setattr(SqliteStore, "release", unwritable)
            waiting(await made.wait(first.run_id))
        waiting(await made.wait(first.run_id))
        gate.open()
        assert value_of(await made.wait(first.run_id)) == 7
        assert await made.runs() == []


def unwritable(*_: object) -> None:
    raise StoreUnavailable("no space left")


async def test_a_row_that_cannot_be_read_is_a_result_of_wait_and_no_exception(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine([echo], store=path) as made:
        (run_id,) = await suspend_some(made, 1)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE runs SET created_at_ms = 'once'")
    connection.commit()
    connection.close()
    async with engine([echo], store=path) as made:
        failed = failure_of(await made.wait(run_id, session="s"), "internal_error")
        assert "restore it from a backup" in failed.error
        assert value_of(await made.exec("return 1")) == 1


async def test_a_store_that_cannot_be_opened_is_said_at_the_start_and_leaves_nothing(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(StoreUnavailable):
        async with engine([echo], store=tmp_path / "runs.sqlite", store_key=b"k" * 32):
            raise AssertionError("it was opened")
    async with engine([echo], store=tmp_path / "runs.sqlite", store_key=b"k" * 32) as made:
        assert [value_of(result) for result in await resume_all(made, await suspend_some(made))]
