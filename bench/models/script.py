"""A scripted model: it writes the best program that it knows enough for, and believes what looks right.

What it knows is what it has read: the description of exec, and each result as it was shown to it. An attempt
names what it takes to write it, as regular expressions over that text. Where nothing better can be written,
it looks: it asks for a description, or returns a result to see it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.models.catalog import World

MOST_CALLS = 8


@dataclass(frozen=True)
class Attempt:
    """A program, and what has to be read before somebody would write it."""

    program: str
    knows: tuple[str, ...] = ()


@dataclass(frozen=True)
class Task:
    """`attempts` from the hastiest to the right one; `looks` are for when none can be written.

    `told` is a text after which the model knows that it is done, whatever the value is.
    """

    name: str
    attempts: tuple[Attempt, ...]
    looks: tuple[str, ...]
    is_right: Callable[[Any, World], bool]
    told: str = ""


@dataclass
class Score:
    calls: int = 0
    right: bool = False
    shown: int = 0  # characters of all results


async def solve(engine: Any, task: Task, world: World, description: str, session: str) -> Score:
    score, seen, done = Score(), description, set[str]()
    while score.calls < MOST_CALLS:
        program = _next(task, seen, done)
        if program is None:
            return score
        done.add(program)
        result = await engine.exec(program, session=session)
        while result.status == "waiting":
            result = await engine.wait(result.run_id, session=session)
        text, value = shown(result), getattr(result, "value", None)
        score.calls += 1
        score.shown += len(text)
        seen += "\n" + text
        is_attempt = any(attempt.program == program for attempt in task.attempts)
        if is_attempt and (_is_believed(result, value) or (task.told and re.search(task.told, text))):
            score.right = task.is_right(value, world)
            return score
    return score


def shown(result: Any) -> str:
    """The result as adapters give it to a model: `for_model`, or everything where there is no such form."""
    form = result.for_model() if hasattr(result, "for_model") else result.to_dict()
    return json.dumps(form, ensure_ascii=False, separators=(",", ":"))


def _is_believed(result: Any, value: Any) -> bool:
    return result.status == "completed" and value is not None


def _next(task: Task, seen: str, done: set[str]) -> str | None:
    """The best attempt that can be written and was not made; else a look; else the next best there is."""
    possible = [attempt for attempt in task.attempts if all(re.search(fact, seen) for fact in attempt.knows)]
    best = possible[-1].program if possible else None
    if best is not None and best not in done:
        return best
    return next((look for look in task.looks if look not in done), None)
