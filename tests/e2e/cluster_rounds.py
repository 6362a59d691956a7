"""Three nodes on one PostgreSQL database, clients that ask any of them, and a killer who takes one at a time.

    python -m tests.e2e.cluster_rounds --kills 200

A client begins a run at one node and waits for it at others, until it is over. After each SIGKILL a new node
takes the place of the dead one, whose lease is ended at once: the rounds would otherwise be spent waiting for
that. At the end every run that a client had been promised must be over: completed, or `aborted` if its node
died in the middle of a leg; no call that is not idempotent may have begun twice; no process may be left. The
first thing that is not so ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.e2e.durable_host import Witness
from tests.e2e.kill_rounds import Violation, require_once
from tests.e2e.kill_subject import STEPS
from tests.harness.leftovers import descendants, ends
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.postgres import postgres_server, run_sql
from tests.harness.processes import PROJECT, environment

NODES = 3
CLIENTS = 4
KEY = bytes(range(32))


class NodeDied(Exception):
    """While an order was under way: nobody knows how far it came."""


class NodeProcess:
    """One engine in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._is_killed = False
        self._reading = asyncio.create_task(self._read())

    @staticmethod
    async def start(store: str, witness: Path) -> NodeProcess:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.e2e.cluster_node", store, str(witness)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=PROJECT,
            env={**environment(), "CODEMODE_STORE_KEY": KEY.hex()},
            limit=1 << 22,
        )
        node = NodeProcess(process)
        await node._answer(0)
        return node

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_dead(self) -> bool:
        return self._is_killed or self._reading.done()

    async def ask(self, op: str, run_id: str = "") -> dict[str, Any]:
        number = next(self._numbers)
        answer = asyncio.ensure_future(self._answer(number))
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": number, "op": op, "run_id": run_id}).encode() + b"\n")
        return await answer

    async def kill(self) -> None:
        self._is_killed = True
        self._process.kill()
        await self._process.wait()
        await self._reading

    async def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._process.wait(), PATIENCE_SECONDS)
        await self._reading

    async def _answer(self, number: int) -> Any:
        if self._reading.done():
            raise NodeDied
        future = self._answers.setdefault(number, asyncio.get_running_loop().create_future())
        return await asyncio.wait_for(future, PATIENCE_SECONDS)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            found = json.loads(line)
            future = self._answers.setdefault(found["id"], asyncio.get_running_loop().create_future())
            if not future.done():
                future.set_result(found["answer"])
        for future in self._answers.values():
            if not future.done():
                future.set_exception(NodeDied())


class Cluster:
    def __init__(self, store: str, witness: Path, dice: random.Random) -> None:
        self._store = store
        self._witness = witness
        self._dice = dice
        self._nodes: list[NodeProcess] = []
        self._is_over = False
        self.found: Counter[str] = Counter()

    async def run(self, kills: int) -> None:
        for _ in range(NODES):
            self._nodes.append(await NodeProcess.start(self._store, self._witness))
        clients = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        try:
            for number in range(kills):
                await self._kill_one(number)
                for client in clients:
                    if client.done():
                        client.result()
            self._is_over = True
            await asyncio.gather(*clients)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            for node in self._nodes:
                await node.close()

    async def _kill_one(self, number: int) -> None:
        await asyncio.sleep(self._dice.random() * 0.3)
        place = self._dice.randrange(NODES)
        dead = self._nodes[place]
        await dead.kill()
        ending = f"UPDATE codemode.nodes SET lease_until = now() WHERE process LIKE '% {dead.pid} %'"
        await asyncio.to_thread(run_sql, self._store, ending)
        self._nodes[place] = await NodeProcess.start(self._store, self._witness)
        print(f"kill {number + 1}: {dict(self.found)}", flush=True)

    async def _client(self) -> None:
        while not self._is_over:
            try:
                result = await self._any_node().ask("exec")
            except NodeDied:
                self.found["never promised"] += 1
                continue
            if result["status"] == "waiting":
                await self._see_to_its_end(result["runId"])
            else:
                raise Violation(f"an exec ended as {result}")

    def _any_node(self) -> NodeProcess:
        return self._dice.choice([node for node in self._nodes if not node.is_dead])

    async def _see_to_its_end(self, run_id: str) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            await asyncio.sleep(self._dice.random() * 0.02)
            try:
                result = await self._any_node().ask("wait", run_id)
            except NodeDied:
                continue
            match result["status"], result.get("code"):
                case "completed", _:
                    self._require_plausible(run_id, result)
                    self.found["completed"] += 1
                    return
                case "waiting", _:
                    continue
                case "failed", "aborted":
                    self.found["aborted in a leg"] += 1
                    return
                case "failed", "invalid_input" if "being resumed" in result["error"]:
                    continue  # by a wait of ours whose node is dead
                case _:
                    raise Violation(f"the promised run {run_id} ended as {result}")
        raise Violation(f"the promised run {run_id} does not end")

    def _require_plausible(self, run_id: str, result: dict[str, Any]) -> None:
        seen = Counter(status for step in result["value"] for status in step)
        if len(result["value"]) != STEPS or seen.keys() - {"done", "interrupted"}:
            raise Violation(f"run {run_id} saw {result['value']}")
        if any(again != "done" for _, again in result["value"]):
            raise Violation(f"an idempotent call of run {run_id} was interrupted: {result['value']}")
        self.found["interrupted calls"] += seen["interrupted"]


def run_rounds(kills: int, seed: int) -> Counter[str]:
    before = descendants(os.getpid())
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        migrate(server.url(), key_id(KEY).hex())
        servers = descendants(os.getpid())
        cluster = Cluster(server.url(), Path(folder) / "witness", random.Random(seed))
        asyncio.run(cluster.run(kills))
        if left := [pid for pid in descendants(os.getpid()) - servers if not ends(pid)]:
            raise Violation(f"processes are left: {left}")
        cluster.found["calls"] = require_once(Witness(Path(folder) / "witness"))
        (runs,) = run_sql(server.url(), "SELECT count(*) FROM codemode.runs WHERE claimed_by IS NOT NULL")[0]
        cluster.found["left claimed"] = runs
    if left := [pid for pid in descendants(os.getpid()) - before if not ends(pid)]:
        raise Violation(f"servers are left: {left}")
    return cluster.found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = options.parse_args()
    print(f"seed {given.seed}", flush=True)
    print(
        f"{given.kills} kills: {dict(run_rounds(given.kills, given.seed))}, none of the calls twice",
        flush=True,
    )


if __name__ == "__main__":
    main()
