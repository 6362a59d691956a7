"""Engines as Ray actors on one store: Ray starts, places and restarts them, the store keeps their runs.

An actor's memory dies with it, and its runs do not: whichever actor is asked next goes on with them. So the
engines must be on one PostgreSQL database, or on one file if all actors are on one machine. `ray` is loaded
by this module only.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from codemode.contract.results import CodeModeResult
from codemode.engine import Engine

# By name: the types of Ray are not there where codemode is developed.
ray: Any = import_module("ray")
ActorGone: type[Exception] = import_module("ray.exceptions").RayActorError


class EngineActor:
    """One engine in one actor; it starts with the first call, also after Ray has restarted the actor."""

    def __init__(self, make_engine: Callable[[], Engine]) -> None:
        self._make_engine = make_engine
        self._starting: asyncio.Task[Engine] | None = None

    async def call(self, method: str, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        if self._starting is None or (self._starting.done() and self._starting.exception() is not None):
            self._starting = asyncio.create_task(self._start())
        return await getattr(await asyncio.shield(self._starting), method)(*args, **given)

    async def _start(self) -> Engine:
        engine = self._make_engine()
        await engine.start()
        return engine


class RayEngines:
    """`nodes` engines that `make_engine` makes, in actors with these `options` of Ray (num_cpus, …).

    A call goes to the next actor. What is safe to ask twice is asked of another one when an actor dies
    under it; `exec` is not, and raises Ray's RayActorError.
    """

    def __init__(self, make_engine: Callable[[], Engine], *, nodes: int = 2, **options: Any) -> None:
        actor: Any = ray.remote(**{"max_restarts": -1, "max_concurrency": 1000, **options})(EngineActor)
        self._actors: list[Any] = [actor.remote(make_engine) for _ in range(nodes)]
        self._turns = itertools.count()

    async def exec(self, program: str, **given: Any) -> CodeModeResult:
        return cast("CodeModeResult", await self._next().call.remote("exec", (program,), given))

    async def wait(self, run_id: str, **given: Any) -> CodeModeResult:
        return cast("CodeModeResult", await self._ask_any("wait", (run_id,), given))

    async def approve(self, run_id: str, approval_id: str, **given: Any) -> bool:
        return bool(await self._ask_any("approve", (run_id, approval_id), given))

    async def deny(self, run_id: str, approval_id: str, **given: Any) -> bool:
        return bool(await self._ask_any("deny", (run_id, approval_id), given))

    async def abort(self, run_id: str, **given: Any) -> bool:
        return bool(await self._ask_any("abort", (run_id,), given))

    async def close(self) -> None:
        """Closes each engine, which leaves its runs to others, and ends the actors."""
        closing = [actor.call.remote("close", (), {}) for actor in self._actors]
        await asyncio.gather(*closing, return_exceptions=True)
        for actor in self._actors:
            ray.kill(actor)

    async def _ask_any(self, method: str, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
        for left in reversed(range(len(self._actors))):
            try:
                return await self._next().call.remote(method, args, given)
            except ActorGone:
                if not left:
                    raise
        raise AssertionError("there is no actor")

    def _next(self) -> Any:
        return self._actors[next(self._turns) % len(self._actors)]
