"""Coroutines of tests in an event loop of their own: bounded in time, and no task may be left behind.

tests/conftest.py runs every `async def test_…` this way. `run` itself is for a test that must stay
synchronous: because Hypothesis drives it, or because it needs more than one loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tests.harness.patience import PATIENCE_SECONDS

T = TypeVar("T")
DEFAULT_SECONDS = 60.0
_ENGINES_OWN = ("codemode expiry", "codemode history")


def run(scenario: Callable[[], Coroutine[Any, Any, T]], seconds: float = DEFAULT_SECONDS) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(seconds):
            result = await scenario()
        assert asyncio.all_tasks() == {asyncio.current_task()}, "tasks were left behind"
        return result

    return asyncio.run(bounded())


async def until(condition: Callable[[], object]) -> None:
    """Lets the loop run until something is so; bounded."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is waited for are processes and plain data
            await asyncio.sleep(0.001)


def other_tasks() -> list[str]:
    """Tasks beside the one that asks and those that an engine has as long as it is open."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    return [name for task in tasks if (name := task.get_name()) not in _ENGINES_OWN]
