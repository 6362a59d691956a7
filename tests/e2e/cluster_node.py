"""One node of cluster_rounds: an engine on a shared store that obeys JSON lines, made to be killed.

    python -m tests.e2e.cluster_node STORE WITNESS

Each order is {"id", "op", "run_id"} with op `exec` or `wait`; its answer is {"id", "answer"}: the result.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from codemode import Engine
from tests.e2e.durable_host import Witness
from tests.e2e.kill_subject import CONFIG, PROGRAM, make_tools


async def main(store: str, witness: Witness) -> None:
    async with Engine(make_tools(witness), CONFIG, settings={"warmWorkers": 1}, store=store) as engine:

        async def obey(order: dict[str, Any]) -> None:
            if order["op"] == "exec":
                result = await engine.exec(PROGRAM, session="s")
            else:
                result = await engine.wait(order["run_id"], session="s")
            say(order["id"], result.to_dict())

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
    asyncio.run(main(sys.argv[1], Witness(Path(sys.argv[2]))))
