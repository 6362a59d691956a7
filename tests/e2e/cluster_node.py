"""One node of cluster_rounds: an engine on a shared store that obeys JSON lines, made to be killed.

    python -m tests.e2e.cluster_node STORE WITNESS [DEATH [OFF_MS [INSTALLATION]]]

Each order is {"id", "op", …}; its answer is {"id", "answer"}. DEATH is how likely the node kills itself right
after a step of its store, before it does anything with the answer: after a claim and before what it calls,
after a save and before its caller hears of it, after a decision and before the call. OFF_MS is how wrong its
clock is; INSTALLATION is a folder with another guest image.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codemode_runtime import native
from codemode_snapshots.postgres import PostgresStore

from codemode import CallContext, Engine, Tool, clock, tool
from tests.e2e.durable_host import Witness
from tests.e2e.kill_subject import CONFIG, PROGRAM, a_moment

STEPS = ("claim", "save", "touch", "settle", "decide", "finish")
ENDS = "return seen;"
assert ENDS in PROGRAM
ASKING = PROGRAM.replace(
    ENDS, 'seen.push([await tools.confirm({}).then(() => "done", (e) => e.code)]); return seen;'
)


def make_tools(witness: Witness) -> list[Tool]:
    def saw(what: str, context: CallContext) -> None:
        witness.saw(what, context, pid=os.getpid())

    @tool
    async def once(step: int, context: CallContext) -> None:
        """Must never be done twice."""
        saw("once", context)
        await a_moment(4)

    @tool(idempotent=True)
    async def again(step: int, context: CallContext) -> None:
        """May be done twice."""
        saw("again", context)
        await a_moment(4)

    @tool(requires_approval=True)
    async def confirm(context: CallContext) -> None:
        """Must never be done twice, and only if somebody says so."""
        saw("once", context)

    return [once, again, confirm]


def make_mortal(likely: float) -> None:
    """Steps of the store after which the node dies now and then."""

    def mortal(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*given: Any, **named: Any) -> Any:
            done = step(*given, **named)
            if random.random() < likely:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return take

    for name in STEPS:
        setattr(PostgresStore, name, mortal(getattr(PostgresStore, name)))


async def main(store: str, witness: Witness) -> None:
    async with Engine(make_tools(witness), CONFIG, settings={"warmWorkers": 1}, store=store) as engine:

        async def obey(order: dict[str, Any]) -> None:
            match order["op"]:
                case "exec":
                    answer: Any = (await engine.exec(ASKING, session="s")).to_dict()
                case "wait":
                    answer = (await engine.wait(order["run_id"], session="s")).to_dict()
                case "drain":
                    answer = await engine.drain(timeout=5)
                case _:
                    answer = await engine.approve(order["run_id"], order["approval"], session="s")
            say(order["id"], answer)

        say(0, "ready")
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        running: set[asyncio.Task[None]] = set()
        while line := await reader.readline():
            task = asyncio.create_task(obey(json.loads(line)))
            running.add(task)
            task.add_done_callback(running.discard)


def say(number: int, answer: object) -> None:
    print(json.dumps({"id": number, "answer": answer}), flush=True)


if __name__ == "__main__":
    death, off_ms, installation = [*sys.argv[3:], *("0", "0", "")[len(sys.argv) - 3 :]]
    if float(death):
        make_mortal(float(death))
    if int(off_ms):
        clock.wall_ms = lambda: int(time.time() * 1000) + int(off_ms)
    if installation:
        native.FOLDER = Path(installation)
    asyncio.run(main(sys.argv[1], Witness(Path(sys.argv[2]))))
