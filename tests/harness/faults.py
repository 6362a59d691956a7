"""Real faults, put into this process for a moment: no disk, no descriptors, another time of day.

Limits of the kernel rather than stand-ins: what fails is the same call that would fail in production. Each is
lifted at the end of its `with`.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine, Tool, clock, tool
from tests.harness.leftovers import descendants


@contextmanager
def full_disk() -> Generator[None]:
    """No file can grow or be written: each write beyond its first byte fails. Pipes and sockets go on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@contextmanager
def no_descriptors() -> Generator[None]:
    """Not one more file, pipe or socket can be opened; those that are open go on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    # holes below the highest descriptor would still be given out
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextmanager
def read_only(engine: Engine) -> Generator[None]:
    """The engine's store can be read and not written, as on a file system that was remounted so."""
    store: Any = engine._stored._store  # pyright: ignore[reportPrivateUsage] - root may write anything
    connection: sqlite3.Connection = store._tables._connection
    connection.execute("PRAGMA query_only=ON")
    try:
        yield
    finally:
        connection.execute("PRAGMA query_only=OFF")


class Clock:
    """The wall clock, moved; the monotonic one goes on as it does in production."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._real = clock.seconds
        self.ahead = 0.0
        patch.setattr(clock, "seconds", lambda: self._real() + self.ahead)


def workers_of(engine: Engine) -> list[int]:
    """Processes of workers, ready or busy: the children of its zygotes."""
    zygotes = [zygote["pid"] for zygote in engine.stats()["workers"]["zygotes"] if zygote["pid"]]
    return sorted({worker for pid in zygotes for worker in descendants(pid)})


class Gate:
    """A tool whose calls wait until the test opens it."""

    def __init__(self) -> None:
        self.entered = 0
        self._open = asyncio.Event()

    @property
    def tool(self) -> Tool:
        @tool
        async def gate(value: int = 0) -> int:
            """Waits to be let through."""
            self.entered += 1
            await self._open.wait()
            return value

        return gate

    def open(self) -> None:
        self._open.set()


def size_of(store: Path) -> int:
    """Of the file and what SQLite keeps beside it."""
    return sum(path.stat().st_size for path in store.parent.glob(store.name + "*"))
