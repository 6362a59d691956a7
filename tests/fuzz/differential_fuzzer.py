"""One program twice: straight through, and suspended and restored at every await. Nobody can tell which.

In guests of this process at every await there is; through an engine with `yield_control`, each leg in a
worker of its own. The programs and the comparison are those of tests/properties.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from random import Random

from codemode import Engine
from tests.fuzz.runner import Subject
from tests.harness.engine import echo, fail
from tests.properties import test_engine_suspension as by_engine
from tests.properties import test_suspension as in_guest


class GuestSuspension:
    """An input is a program."""

    def make(self, dice: Random) -> bytes:
        statements = [self._statement(dice, 3) for _ in range(dice.randrange(2, 10))]
        return (in_guest.PROLOGUE + "\n".join(statements) + in_guest.EPILOGUE).encode()

    def _statement(self, dice: Random, depth: int) -> str:
        if depth == 0 or dice.random() < 0.6:
            return "{ " + in_guest.fill(dice.choice(in_guest.LEAVES), dice.randrange(10)) + " }"
        body = " ".join(self._statement(dice, depth - 1) for _ in range(dice.randrange(1, 3)))
        return "{ " + in_guest.fill_body(dice.choice(in_guest.WRAPPERS), dice.randrange(10), body) + " }"

    def check(self, data: bytes) -> None:
        program = data.decode()
        straight = in_guest.run_as(program, "never")
        frozen = in_guest.run_as(program, "every_await")
        assert in_guest.same_but_messages(frozen) == in_guest.same_but_messages(straight)
        assert frozen.messages == straight.messages
        assert frozen.suspensions > 0


class EngineSuspension:
    """An input is a program in which YIELD is a suspension in one run and nothing in the other."""

    def __init__(self, loop: asyncio.Runner, engine: Engine) -> None:
        self._loop = loop
        self._engine = engine

    def make(self, dice: Random) -> bytes:
        statements = [
            (
                by_engine.fill(dice.choice(by_engine.STATEMENTS), dice.randrange(10)),
                dice.choice(("YIELD;", "")),
            )
            for _ in range(dice.randrange(1, 9))
        ]
        return by_engine.join(statements).encode()

    def check(self, data: bytes) -> None:
        by_engine.compare(self._engine, self._loop.run, data.decode())


@contextmanager
def guest_suspension() -> Generator[Subject]:
    yield GuestSuspension()


@contextmanager
def engine_suspension() -> Generator[Subject]:
    # what was learned of results would make a later description longer
    config = {"enabled": True, "maxOutputBytes": 1 << 20, "maxPendingToolCalls": 128, "timeoutMs": 20_000}
    config |= {"learnResultShapes": False}
    with asyncio.Runner() as loop:
        engine = Engine([echo, fail], config, settings={"warmWorkers": 2})
        loop.run(engine.start())
        try:
            yield EngineSuspension(loop, engine)
        finally:
            loop.run(engine.close())
