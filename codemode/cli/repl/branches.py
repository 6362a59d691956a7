"""The variables of a REPL: a session's world, copies of it to go back to, and branches.

Before each program the world is copied into a session of its own; `.back` goes on there. Copies take
kilobytes and less than a millisecond.
"""

from __future__ import annotations

import itertools

from msgspec.structs import replace

from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.runs.forks import ForkError

MAX_STEPS = 50  # that can be undone


class Branches:
    """`scope` is where the next program runs; it changes with `.fork` and `.back`."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.programs: list[str] = []  # that completed, for .save
        self._steps: list[tuple[Scope, int, str]] = []  # where to go back to, from which program or command
        self._numbers = itertools.count(1)

    async def note(self, engine: Engine, what: str) -> None:
        """Call before a program or a command: `back` then leads here."""
        if len(self._steps) == MAX_STEPS:
            await engine.reset(scope=self._steps.pop(0)[0])
        self._steps.append((await self._copy(engine, None), len(self.programs), what))

    async def forget_step(self, engine: Engine) -> None:
        """The program changed nothing."""
        await engine.reset(scope=self._steps.pop()[0])

    def back(self) -> str | None:
        """Undoes the last program or fork, and says which; None if there is none."""
        if not self._steps:
            return None
        self.scope, count, undone = self._steps.pop()
        del self.programs[count:]
        return undone

    async def close(self, engine: Engine) -> None:
        """Leaves no copies in a store that lasts."""
        while self._steps:
            await self.forget_step(engine)

    async def fork(self, engine: Engine, name: str) -> str:
        """Goes on in a copy, and returns its session. Raises ForkError."""
        before = self.scope
        self.scope = await self._copy(engine, name or f"{before.session}-{next(self._numbers)}")
        self._steps.append((before, len(self.programs), ".fork"))
        return self.scope.session

    async def _copy(self, engine: Engine, name: str | None) -> Scope:
        session = name or f"{self.scope.session}.{next(self._numbers)}"
        try:
            await engine.fork(into=session, scope=self.scope)
        except ForkError:
            if await engine.world(scope=self.scope) is not None:
                raise
        return replace(self.scope, session=session)
