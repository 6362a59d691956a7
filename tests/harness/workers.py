"""A real supervisor for tests, and short ways to run programs in its workers."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codemode_runtime import orders, wire
from codemode_runtime.language import Language
from codemode_runtime.shapes import Limits, Lookup, Settlement
from codemode_runtime.wire import Outcome

from codemode.config import EngineSettings
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from codemode.workers.worker import Worker

ROGUE = "tests.workers.rogue_zygote"
BUDGET_MS = 20_000


@dataclass
class Offering:
    """A run descriptor of given answers. `asked` lists the lookups that reached the host."""

    answers: dict[tuple[Lookup, str], bytes] = field(default_factory=dict[tuple[Lookup, str], bytes])
    offer: orders.Offer = field(default_factory=orders.Offer)
    asked: list[tuple[Lookup, str]] = field(default_factory=list[tuple[Lookup, str]])

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        self.asked.append((kind, key))
        return self.answers.get((kind, key))


@asynccontextmanager
async def supervisor(**settings: Any) -> AsyncGenerator[Supervisor]:
    """By the names of EngineSettings and WorkerSettings; one worker warm, unless told otherwise."""
    given: dict[str, Any] = {"warm_workers": 1, **settings}
    own = {name: given.pop(name) for name in EngineSettings.__struct_fields__ if name in given}
    async with Supervisor(WorkerSettings(EngineSettings(**own), **given)) as started:
        yield started


async def start(
    worker: Worker,
    program: str,
    *,
    language: Language = "javascript",
    limits: Limits | None = None,
    budget_ms: int = BUDGET_MS,
    descriptor: Offering | None = None,
) -> Outcome:
    return await worker.start(program, language, limits or Limits(), budget_ms, descriptor or Offering())


async def value_of(found: Supervisor, program: str, **options: Any) -> Any:
    """The value of a program that makes no calls, run in a worker of its own."""
    flavour = options.get("language", "javascript")
    with await found.lease(flavour=flavour) as worker:
        outcome = await start(worker, program, **options)
    assert isinstance(outcome, wire.Done), outcome
    return wire.decode_value(outcome.result.value)


def calls_in(outcome: Outcome) -> list[wire.Call]:
    assert isinstance(outcome, wire.Idle), outcome
    return [message for message in outcome.messages if isinstance(message, wire.Call)]


def answers(outcome: Outcome, json: bytes = b"null") -> list[Settlement]:
    return [Settlement(call.id, json) for call in calls_in(outcome)]
