"""Nodes on one PostgreSQL store: python bench/bench_nodes.py [--seconds 15] [--share 0.15], as JSON lines.

`throughput`: runs a second with 1, 2, 4 and 6 nodes, each in a control group with a share of one processor,
as small machines; every `wait` goes to a node at random. Each run suspends once and has two calls. The
database is not capped. `settle to answer`: a tool settles at one node, a caller waits at another: from the
one to the other as a third process sees it, the lines to both included. Needs a control group that it may
write (cgroup v1).
"""

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from bench_store import say
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))
GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 50_000
KEY = "11" * 32
PROGRAM = """
const call = tools.answer({ number: 1 }); await yield_control();
return [await call, await tools.answer({ number: 2 })]
"""


async def node(store: str) -> None:
    from codemode import Engine, tool

    @tool(idempotent=True)
    async def answer(number: int) -> int:
        """Answers at once."""
        return number

    async with Engine([answer], store=store, settings={"warmWorkers": 1}) as engine:

        async def obey(order: dict[str, Any]) -> None:
            run_id = order["run_id"]
            result = await (engine.wait(run_id, session="s") if run_id else engine.exec(PROGRAM, session="s"))
            tell(order["id"], result.to_dict())

        tell(0, "ready")
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        tasks: set[asyncio.Task[None]] = set()
        while line := await reader.readline():
            task = asyncio.create_task(obey(json.loads(line)))
            tasks.add(task)
            task.add_done_callback(tasks.discard)


def tell(number: int, answer: object) -> None:
    print(json.dumps({"id": number, "answer": answer}), flush=True)


class Line:
    """Orders to one node, and its answers."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self._numbers = 0
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._answers = {0: self._ready}
        self._reading = asyncio.create_task(self._read())

    async def ready(self) -> None:
        await self._ready

    async def ask(self, run_id: str = "") -> dict[str, Any]:
        self._numbers += 1
        number, answer = self._numbers, asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": number, "run_id": run_id}).encode() + b"\n")
        return await answer

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            found = json.loads(line)
            self._answers.pop(found["id"]).set_result(found["answer"])


@contextmanager
def group(name: str, share: float) -> Generator[Path]:
    folder = GROUPS / name
    folder.mkdir()
    (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
    (folder / "cpu.cfs_quota_us").write_text(str(int(PERIOD_US * share)))
    try:
        yield folder
    finally:
        until = time.monotonic() + 5
        while (folder / "cgroup.procs").read_text() and time.monotonic() < until:
            time.sleep(0.05)  # its processes end
        folder.rmdir()


async def throughput(store: str, nodes: int, share: float, seconds: float) -> dict[str, float]:
    lines: list[Line] = []
    done, elsewhere, waits = [0], [0], [0]
    names = [f"codemode-bench-{os.getpid()}-{number}" for number in range(nodes)]

    async def client(dice: random.Random, until: list[float]) -> None:
        while time.monotonic() < until[0]:
            first = dice.choice(lines)
            result = await first.ask()
            while result["status"] == "waiting":
                other = dice.choice(lines)
                waits[0] += 1
                elsewhere[0] += other is not first
                result = await other.ask(result["runId"])
            assert result["status"] == "completed", result
            done[0] += 1

    async def in_groups(left: list[str]) -> None:
        if left:
            with group(left[0], share) as folder:
                await in_groups_of(left, folder)
            return
        warm = [time.monotonic() + 3]
        await asyncio.gather(*(client(random.Random(n), warm) for n in range(2 * nodes)))
        done[0] = waits[0] = elsewhere[0] = 0
        began, until = time.monotonic(), [time.monotonic() + seconds]
        await asyncio.gather(*(client(random.Random(n), until) for n in range(2 * nodes)))
        found["runs a second"] = round(done[0] / (time.monotonic() - began), 2)
        found["waits at another node"] = round(elsewhere[0] / max(1, waits[0]), 2)

    async def in_groups_of(left: list[str], folder: Path) -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, __file__, "--node", store),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "CODEMODE_STORE_KEY": KEY},
            limit=1 << 22,
        )
        line = Line(process)
        await line.ready()  # it starts at full speed
        for pid in _tree(process.pid):
            with suppress(ProcessLookupError):  # a worker that has just ended
                (folder / "cgroup.procs").write_text(str(pid))
        lines.append(line)
        try:
            await in_groups(left[1:])
        finally:
            process.kill()
            await process.wait()

    found: dict[str, float] = {}
    await in_groups(names)
    return found


def _tree(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    below = [int(child) for file in children for child in file.read_text().split()]
    return [pid, *(found for child in below for found in _tree(child))]


def settle_to_answer(store: str, times: int) -> float:
    """Milliseconds, at the median."""
    from tests.e2e.hosts import Host

    took: list[float] = []
    program = "const call = tools.hold({ name: 'NAME' }); await yield_control(); return await call"
    with tempfile.TemporaryDirectory() as folder:
        witness = Path(folder) / "witness"
        with Host(store, witness) as a, Host(store, witness) as b:
            for number in range(times):
                run_id = a.ask("exec", program=program.replace("NAME", str(number)))["runId"]
                a.ask("held", names=[str(number)])
                waiting = b.order("wait", run_id=run_id)
                time.sleep(0.03)  # so that it waits
                began = time.perf_counter()
                a.order("answer", name=str(number), value=number)
                assert b.take(waiting)["status"] == "completed"
                took.append((time.perf_counter() - began) * 1000)
    return median(took)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--node", metavar="STORE", help="be a node, for this benchmark itself")
    options.add_argument("--seconds", type=float, default=15)
    options.add_argument("--share", type=float, default=0.15)
    options.add_argument("--nodes", type=int, nargs="*", default=[1, 2, 4, 6])
    options.add_argument("--times", type=int, default=100)
    given = options.parse_args()
    if given.node:
        asyncio.run(node(given.node))
        return
    os.environ["CODEMODE_STORE_KEY"] = KEY
    from tests.harness.postgres import postgres_server

    with postgres_server(fsync="on") as server, server.new_database() as url:
        migrate(url, key_id(bytes.fromhex(KEY)).hex())
        if given.times:
            say("settle to answer", p50_ms=round(settle_to_answer(url, given.times), 2))
        first = 0.0
        for nodes in given.nodes:
            found = asyncio.run(throughput(url, nodes, given.share, given.seconds))
            first = first or found["runs a second"] / nodes
            say("throughput", nodes=nodes, ratio=round(found["runs a second"] / first, 2), **found)


if __name__ == "__main__":
    main()
