"""What hasty programs cost a model until they are right: calls, and tokens of what it reads.

No model is asked: a scripted one (bench/models/) goes through twenty tasks over 49 tools that declare no
result. It knows what it has read, writes the best program that this allows, wrong guesses included, and
follows what the engine's own texts suggest. All tasks are done twice: in a first session, and in a later one,
in which an engine may know what results look like. Versions from c3a8da7 on can be asked the same, with the
folders of a checkout of theirs, whose image is built, before this one:

    PYTHONPATH=OLD:OLD/runtime:OLD/snapshots python bench/bench_models.py --json
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from bench.models.catalog import World, tools_of
from bench.models.script import Score, solve
from bench.models.tasks import TASKS
from codemode import Engine

_PER_TOKEN = 4  # characters
_SESSIONS = ("first", "later")


async def measure() -> dict[str, Any]:
    """Calls, right answers and tokens of each session, and the calls of each task."""
    world = World()
    config = {"enabled": True, "timeoutMs": 20_000}
    async with Engine(tools_of(world), config) as engine:
        return {session: await _session(engine, world, session) for session in _SESSIONS}


async def _session(engine: Any, world: World, session: str) -> dict[str, Any]:
    prepared = await engine.prepare(session=session)
    description = "\n".join(f"{tool.description}\n{json.dumps(tool.parameters)}" for tool in prepared.visible)
    scores: dict[str, Score] = {}
    for task in TASKS:
        world.forget()
        scores[task.name] = await solve(engine, task, world, description, session)
    return {
        "tools": len(tools_of(world)),
        "calls": sum(score.calls for score in scores.values()),
        "right": sum(score.right for score in scores.values()),
        "descriptionTokens": len(description) // _PER_TOKEN,
        "resultTokens": sum(score.shown for score in scores.values()) // _PER_TOKEN,
        "tasks": {name: [score.calls, score.right] for name, score in scores.items()},
    }


def main() -> None:
    found = asyncio.run(measure())
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    print(f"{'session':<8} {'calls':>6} {'right':>8} {'description':>12} {'results':>8}   (tokens)")
    for name, one in found.items():
        right = f"{one['right']}/{len(TASKS)}"
        print(
            f"{name:<8} {one['calls']:>6} {right:>8} {one['descriptionTokens']:>12} {one['resultTokens']:>8}"
        )
    for task in TASKS:
        told = [found[name]["tasks"][task.name] for name in _SESSIONS]
        print(
            f"  {task.name:<36}"
            + "  ".join(f"{calls} {'right' if right else 'WRONG'}" for calls, right in told)
        )


if __name__ == "__main__":
    main()
