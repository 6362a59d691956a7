"""Three hosts on one PostgreSQL: a program begins at the first, which is killed, and ends at another.

    CODEMODE_STORE_KEY=$(openssl rand -hex 32) python three_nodes.py postgresql://user@host/database

The tables are made first (`codemode store migrate`): engines never change them.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys

from codemode import Engine, tool

PROGRAM = """
const parts = await Promise.all([1, 2, 3].map((number) => tools.part({ number })));
return { parts, by: await tools.where({}) };
"""


@tool(idempotent=True)
async def part(number: int) -> int:
    """Takes a while."""
    await asyncio.sleep(0.3)
    return number * number


@tool
async def where() -> str:
    """The node that runs this call."""
    return os.environ["NODE"]


async def node(store: str) -> None:
    """Takes orders as lines, as a balancer would hand them to a host."""
    async with Engine([part, where], {"enabled": True, "timeoutMs": 100}, store=store) as engine:
        print("ready", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            run_id = line.strip()
            if run_id == "exec":
                result = await engine.exec(PROGRAM, session="s1")
            else:
                result = await engine.wait(run_id, session="s1")
            shown = result.to_dict()
            print(shown["status"], shown.get("runId") or shown.get("value"), flush=True)


def start(name: str, store: str) -> subprocess.Popen[str]:
    started = subprocess.Popen(
        [sys.executable, __file__, "node", store],
        env={**os.environ, "NODE": name},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "ready\n"
    return started


def tell(host: subprocess.Popen[str], line: str) -> list[str]:
    assert host.stdin is not None
    assert host.stdout is not None
    host.stdin.write(f"{line}\n")
    host.stdin.flush()
    return host.stdout.readline().split(maxsplit=1)


def main(store: str) -> None:
    subprocess.run([sys.executable, "-m", "codemode", "store", "migrate", "--store", store], check=True)
    a, b, c = (start(name, store) for name in "abc")
    status, run_id = tell(a, "exec")
    print("node a:", status)
    os.kill(a.pid, signal.SIGKILL)
    a.wait()
    print("node a is killed")
    others, turn = (b, c), 0
    while status == "waiting":
        status, told = tell(others[turn % 2], run_id.strip())
        print(f"node {'bc'[turn % 2]}:", status, "" if status == "waiting" else told.strip())
        turn += 1
    for host in others:
        host.communicate(timeout=30)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["node", store]:
            asyncio.run(node(store))
        case [store]:
            main(store)
        case _:
            sys.exit(__doc__)
