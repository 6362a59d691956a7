"""Each store behind one fixture: whatever holds for a RunStore is tested against each of them."""

from collections.abc import Callable, Iterator

import pytest
from codemode_snapshots import RunStore

from tests.snapshots.places import MemoryPlace, Place, PostgresPlace, SqlitePlace, node

PLACES: dict[str, Callable[[pytest.FixtureRequest], Place]] = {
    "memory": lambda request: MemoryPlace(request.getfixturevalue("tmp_path")),
    "sqlite": lambda request: SqlitePlace(request.getfixturevalue("tmp_path")),
    "postgres": lambda request: PostgresPlace(request.getfixturevalue("database")),
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    found = PLACES[request.param](request)
    yield found
    found.close()


@pytest.fixture
def store(place: Place) -> RunStore:
    """With three nodes: a, b and c."""
    opened = place.open()
    for name in "abc":
        opened.join(node(name))
    return opened
