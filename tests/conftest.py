"""How every test runs: an `async def test_…` in a loop of its own; fixtures that any test may ask for.

Async tests need no plugin: the hook below runs them. `leaves_nothing` fails a test that leaves anything of
itself behind; `database` is an empty PostgreSQL database.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.harness.leftovers import nothing_left
from tests.harness.loops import DEFAULT_SECONDS, run

if TYPE_CHECKING:
    from tests.harness.postgres import PostgresServer

# no test fails for the time it took: on a busy machine any example may take long
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)  # before the plugin that comes with anyio, which an SDK brings along
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs `async def test_…` for at most 60 s, or as many as `@pytest.mark.seconds(120)` says."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    wanted = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    marker = pyfuncitem.get_closest_marker("seconds")
    run(lambda: pyfuncitem.obj(**wanted), marker.args[0] if marker else DEFAULT_SECONDS)
    return True


@pytest.fixture
def leaves_nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No process, thread, descriptor or temporary file more than before. Tasks: the hook sees to them."""
    with nothing_left(tmp_path_factory.mktemp("temporary")):
        yield


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The PostgreSQL server of this test process. A test that stops it starts one of its own."""
    from tests.harness.postgres import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database."""
    with postgres.new_database() as url:
        yield url
