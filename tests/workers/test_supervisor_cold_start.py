"""The first start on a machine: the guest is compiled once, in a process of its own, and kept."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.harness.leftovers import descendants
from tests.harness.loops import until
from tests.harness.workers import supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_the_compiled_guest_is_kept_for_the_next_start(tmp_path: Path) -> None:
    cache = tmp_path / "compiled"

    async def start_once() -> None:
        async with supervisor(cache=cache) as found:
            assert await value_of(found, "return 1") == 1

    await start_once()
    kept = {path.name: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert {Path(name).suffix for name in kept} == {".cwasm", ".hash"}
    await start_once()
    assert {path.name: path.stat().st_mtime_ns for path in cache.iterdir()} == kept


async def test_a_start_that_is_cancelled_while_it_compiles_leaves_nothing_running(tmp_path: Path) -> None:
    async def begin() -> None:
        async with supervisor(cache=tmp_path / "compiled"):
            pass

    starting = asyncio.create_task(begin())
    await until(lambda: len(descendants(os.getpid())) >= 2)  # the zygote and the one that compiles
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
