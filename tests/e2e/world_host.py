"""A host that runs one program of a session and then waits to be killed.

    python -m tests.e2e.world_host STORE PROGRAM

STORE is a file or a URL. Prints the result's JSON, and ends only when it is killed.
"""

from __future__ import annotations

import asyncio
import sys

from codemode import Engine
from tests.harness.engine import echo

KEY = bytes(range(32))


async def main(store: str, program: str) -> None:
    config = {"enabled": True, "sessionState": "keep"}
    async with Engine([echo], config, store=store, store_key=KEY, settings={"warmWorkers": 1}) as engine:
        print((await engine.exec(program, session="s")).to_json(), flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
