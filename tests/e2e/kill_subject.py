"""A busy host, made to be killed at any moment: starts runs, suspends them and goes on with them, for ever.

    python -m tests.e2e.kill_subject STORE WITNESS

Prints {"id": 0, "answer": "ready"} first, then a line with each run id as soon as its caller has it.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from pathlib import Path

from codemode import CallContext, Engine, Tool, Waiting, tool
from tests.e2e.durable_host import Witness

CONFIG = {"enabled": True, "timeoutMs": 10_000}
CALLERS = 3
STEPS = 4
# Calls are in flight at every suspension; what a program saw of each is what it returns.
PROGRAM = f"""
const seen = [];
for (let step = 0; step < {STEPS}; step++) {{
  const calls = ["once", "again"].map((name) => tools[name]({{ step }}).then(() => "done", (e) => e.code));
  await yield_control();
  seen.push(await Promise.all(calls));
}}
return seen;
"""


def make_tools(witness: Witness) -> list[Tool]:
    @tool
    async def once(step: int, context: CallContext) -> None:
        """Must never be done twice."""
        witness.saw("once", context, step=step)
        await a_moment(4)

    @tool(idempotent=True)
    async def again(step: int, context: CallContext) -> None:
        """May be done twice."""
        witness.saw("again", context, step=step)
        await a_moment(4)

    return [once, again]


async def a_moment(longest_ms: float) -> None:
    """In which to be killed."""
    await asyncio.sleep(random.random() * longest_ms / 1000)


async def call_for_ever(engine: Engine) -> None:
    while True:
        result = await engine.exec(PROGRAM, session="s")
        while isinstance(result, Waiting):
            print(json.dumps({"id": -1, "answer": result.run_id}), flush=True)
            await a_moment(20)  # as a model would: most of a run's life is spent suspended
            result = await engine.wait(result.run_id, session="s")


async def main(store: Path, witness: Witness) -> None:
    async with Engine(make_tools(witness), CONFIG, settings={"warmWorkers": 2}, store=store) as engine:
        print(json.dumps({"id": 0, "answer": "ready"}), flush=True)
        await asyncio.gather(*(call_for_ever(engine) for _ in range(CALLERS)))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Witness(Path(sys.argv[2]))))
