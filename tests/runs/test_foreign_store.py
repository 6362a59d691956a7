"""A store object of the host's own: runs survive in it, the host closes it, its failures are results."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import MemoryStore, StoreLimits
from codemode_snapshots.sqlite import SqliteStore

from codemode import BlockingEngine
from tests.harness.engine import engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
KEY = b"k" * 32
PROGRAM = "const paid = tools.pay({ amount: 1 }); await yield_control(); return await paid"


class Watched(MemoryStore):
    """A memory that claims to be a database, remembers who called it, and fails where it is told to."""

    is_durable = True

    def __init__(self, limits: StoreLimits | None = None) -> None:
        super().__init__(limits)
        self.threads: set[str] = set()
        self.broken: set[str] = set()
        self.closed = False

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if name not in ("save", "claim", "lookup", "recover", "peek"):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.threads.add(threading.current_thread().name)
            if name in self.broken:
                raise ConnectionError("postgresql://me:secret@db is gone")
            return found(*args, **kwargs)

        return call

    def close(self) -> None:
        self.closed = True


async def test_a_run_suspended_by_one_engine_is_gone_on_with_by_the_next_on_the_same_object() -> None:
    store = Watched()
    async with engine(store=store, store_key=KEY) as made:
        left = waiting(await made.exec(PROGRAM), "approval")
    async with engine(store=store, store_key=KEY) as made:
        (found,) = await made.runs()
        assert found.run_id == left.run_id
        (call,) = [call for call in left.pending_tool_calls if call.approval is not None]
        assert call.approval is not None
        assert await made.approve(found.run_id, call.approval.id)
        assert value_of(await made.wait(found.run_id)) == "paid 1"
        assert [one.at for one in await made.history(found.run_id)] == [1]
    assert (store.closed, store.totals().runs) == (False, 1)  # its past
    assert store.threads == {"codemode-store_0"}  # never the event loop's


async def test_an_engine_with_another_key_leaves_the_run_where_it_is() -> None:
    store = Watched()
    async with engine(store=store, store_key=KEY) as made:
        left = waiting(await made.exec("await yield_control(); return 2"))
    async with engine(store=store, store_key=b"x" * 32) as made:
        failure_of(await made.wait(left.run_id), "snapshot_restore_failed")
    async with engine(store=store, store_key=KEY) as made:
        assert value_of(await made.wait(left.run_id)) == 2


async def test_a_memory_of_the_hosts_own_is_empty_again_when_the_engine_is_closed_and_stays_open() -> None:
    store = MemoryStore()
    async with engine(store=store) as made:
        waiting(await made.exec("await yield_control()"))
        held = store.totals().runs
    assert (held, store.totals().runs) == (1, 0)


async def test_the_limits_of_the_object_hold() -> None:
    async with engine(store=MemoryStore(StoreLimits(max_snapshots=0))) as made:
        failure_of(await made.exec("await yield_control()"), "snapshot_limit_exceeded")


async def test_what_the_object_raises_is_a_result_that_does_not_repeat_its_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Watched()
    async with engine(store=store, store_key=KEY) as made:
        store.broken.add("save")
        result = failure_of(await made.exec("await yield_control()"), "internal_error")
        assert result.error == "The run could not be stored: Watched.save failed with ConnectionError"
        assert (await made.probe()).status == "degraded"
        store.broken.clear()
        left = waiting(await made.exec("await yield_control(); return 3"))
        store.broken.add("claim")
        told = failure_of(await made.wait(left.run_id), "internal_error").error
        assert told == "The store cannot be read: Watched.claim failed with ConnectionError"
        store.broken.clear()
        assert value_of(await made.wait(left.run_id)) == 3
    assert "postgresql://me:secret@db is gone" in caplog.text  # for the host, who may know it


def test_two_engines_on_one_sqlite_object_take_turns(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.sqlite")
    options: dict[str, Any] = {"store": store, "store_key": KEY, "settings": {"warmWorkers": 1}}

    def suspend(made: BlockingEngine, found: list[str]) -> None:
        found += [waiting(made.exec("await yield_control()")).run_id for _ in range(20)]

    try:
        with BlockingEngine(**options) as one, BlockingEngine(**options) as other:
            left: dict[BlockingEngine, list[str]] = {one: [], other: []}
            threads = [threading.Thread(target=suspend, args=pair) for pair in left.items()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
            assert sorted(info.run_id for info in one.runs()) == sorted([*left[one], *left[other]])
            assert [value_of(one.wait(run_id)) for run_id in left[one]] == [None] * 20
    finally:
        store.close()


@pytest.mark.parametrize("spelled", ["sqlite:///{}", "{}"])
async def test_a_file_can_be_named_by_a_url(spelled: str, tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine(store=spelled.format(path)) as made:
        left = waiting(await made.exec("await yield_control(); return 4"))
    assert path.exists()
    async with engine(store=path) as made:
        assert value_of(await made.wait(left.run_id)) == 4
