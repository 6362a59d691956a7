"""Both stores behind one fixture: whatever holds for a SnapshotStore is tested against each of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from codemode_snapshots import MemoryStore, SnapshotStore, StoreLimits
from codemode_snapshots.sqlite import SqliteStore

OpenStore = Callable[[StoreLimits], SnapshotStore]


@pytest.fixture(params=["memory", "sqlite"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    opened: list[SnapshotStore] = []

    def open_one(limits: StoreLimits) -> SnapshotStore:
        one: SnapshotStore
        one = (
            MemoryStore(limits)
            if request.param == "memory"
            else SqliteStore(tmp_path / "runs.sqlite", limits)
        )
        opened.append(one)
        return one

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> SnapshotStore:
    return open_store(StoreLimits())
