"""Three nodes on one PostgreSQL database, clients that ask any of them, and a killer who takes one at a time.

    python -m tests.e2e.cluster_rounds --kills 200

A client begins a run at one node, waits for it and approves at others, until it is over. Nodes are killed
from outside at any moment, and kill themselves right after steps of the store (cluster_node.py); now and then
one is drained and closed. A new node takes the place of one that is gone, whose lease is ended at once: the
rounds would otherwise be spent waiting for that. Every second node has a clock that is an hour wrong, every
third another guest image. After a quarter of the kills the lines of hints are cut, and after half of them
the database is away for a while.

At the end every run that a client had been promised must be over: completed, or `aborted` if its node died in
the middle of a leg; no call that is not idempotent may have begun twice; `interrupted` are only calls that a
node began that is gone; no process may be left. The first thing that is not so ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from codemode_runtime.image import FOLDER
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.e2e.durable_host import Witness
from tests.e2e.kill_rounds import Violation, require_once
from tests.e2e.kill_subject import STEPS
from tests.harness.leftovers import descendants, ends
from tests.harness.other_image import make_image, make_installation
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.postgres import PostgresServer, postgres_server, run_sql
from tests.harness.processes import PROJECT, environment

NODES = 3
CLIENTS = 4
KEY = bytes(range(32))
HOUR_MS = 3_600_000
DEATH = 0.01  # how likely a node dies after a step of its store
DRAINED = 0.1  # how likely one that has to go is drained and closed instead of killed
CUT = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'codemode feed'"


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
    async def start(store: str, witness: Path, images: Path, *how: str) -> NodeProcess:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.e2e.cluster_node", store, str(witness), *how),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=PROJECT,
            env={**environment(), "CODEMODE_STORE_KEY": KEY.hex(), "CODEMODE_IMAGES": str(images)},
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

    async def ask(self, op: str, run_id: str = "", approval: str = "") -> Any:
        number = next(self._numbers)
        answer = asyncio.ensure_future(self._answer(number))
        order = {"id": number, "op": op, "run_id": run_id, "approval": approval}
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):  # it is gone, which the answer tells
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
        return await answer

    async def kill(self) -> None:
        self._is_killed = True
        with contextlib.suppress(ProcessLookupError):
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
    def __init__(self, server: PostgresServer, folder: Path, dice: random.Random, away_s: float) -> None:
        self._server = server
        self._store = server.url()
        self._witness = folder / "witness"
        self._images = folder / "images"
        self._old = folder / "old"
        self._dice = dice
        self._away_s = away_s
        self._nodes: list[NodeProcess] = []
        self._started = 0
        self._is_over = False
        self.gone: set[int] = set()  # pids
        self.interrupted: list[str] = []  # keys
        self.found: Counter[str] = Counter()

    async def run(self, kills: int) -> None:
        build = make_image(self._images)
        shutil.copytree(FOLDER, self._images / "ours", ignore=shutil.ignore_patterns("*runner*", "*.js"))
        make_installation(self._images / build, self._old)
        for _ in range(NODES):
            self._nodes.append(await self._new_node())
        clients = [asyncio.create_task(self._client()) for _ in range(CLIENTS)]
        try:
            for number in range(kills):
                await self._lose_one(number)
                if number == kills // 4:
                    await asyncio.to_thread(run_sql, self._store, CUT)
                    self.found["lines cut"] += 1
                if number == kills // 2 and self._away_s:
                    await asyncio.to_thread(self._server.stop)
                    await asyncio.sleep(self._away_s)
                    await asyncio.to_thread(self._server.start)
                    self.found["seconds without a database"] += round(self._away_s)
                for client in clients:
                    if client.done():
                        client.result()
            self._is_over = True
            while not all(client.done() for client in clients):
                await asyncio.wait(clients, timeout=0.2)
                for place in [place for place, node in enumerate(self._nodes) if node.is_dead]:
                    await self._replace(place)
            await asyncio.gather(*clients)
        finally:
            for client in clients:
                client.cancel()
            await asyncio.gather(*clients, return_exceptions=True)
            for node in self._nodes:
                await node.close()

    async def _new_node(self, *, is_mortal: bool = True) -> NodeProcess:
        """Every second one has a wrong clock, every third is of another build."""
        for _ in range(20):
            self._started += 1
            off_ms = (0, HOUR_MS, 0, -HOUR_MS)[self._started % 4]
            old = str(self._old) if self._started % 3 == 0 else ""
            how = (str(DEATH if is_mortal else 0), str(off_ms), old)
            try:
                return await NodeProcess.start(self._store, self._witness, self._images, *how)
            except NodeDied:
                continue  # the database was away, or it died of its first step
        raise Violation("nodes do not start any more")

    async def _lose_one(self, number: int) -> None:
        await asyncio.sleep(self._dice.random() * 0.3)
        dead = [place for place, node in enumerate(self._nodes) if node.is_dead]
        place = dead[0] if dead else self._dice.randrange(NODES)
        node = self._nodes[place]
        if dead:
            self.found["killed at a step"] += 1
        elif self._dice.random() < DRAINED:
            with contextlib.suppress(NodeDied):
                await node.ask("drain")
                await node.close()
            self.found["drained"] += 1
        else:
            self.found["killed at any moment"] += 1
        await self._replace(place)
        print(f"{number + 1}: {dict(self.found)}", flush=True)

    async def _replace(self, place: int) -> None:
        node = self._nodes[place]
        await node.kill()
        self.gone.add(node.pid)
        ending = f"UPDATE codemode.nodes SET lease_until = now() WHERE process LIKE '% {node.pid} %'"
        await asyncio.to_thread(run_sql, self._store, ending)
        self._nodes[place] = await self._new_node(is_mortal=not self._is_over)

    async def _client(self) -> None:
        while not self._is_over:
            try:
                result = await self._any_node().ask("exec")
            except NodeDied:
                self.found["never promised"] += 1
                await asyncio.sleep(0.05)  # there may be no node at all for a moment
                continue
            if result["status"] == "waiting":
                await self._see_to_its_end(result["runId"])
            elif result["code"] in ("internal_error", "runtime_unavailable", "aborted"):
                self.found["never promised"] += 1  # no database, or a node that is drained or closed
                await asyncio.sleep(0.05)
            else:
                raise Violation(f"an exec ended as {result}")

    def _any_node(self) -> NodeProcess:
        alive = [node for node in self._nodes if not node.is_dead]
        if not alive:
            raise NodeDied
        return self._dice.choice(alive)

    async def _see_to_its_end(self, run_id: str) -> None:
        until = time.monotonic() + 4 * PATIENCE_SECONDS + self._away_s
        while time.monotonic() < until:
            await asyncio.sleep(self._dice.random() * 0.02)
            try:
                result = await self._any_node().ask("wait", run_id)
                if result["status"] == "waiting" and result["reason"] == "approval":
                    for call in result["pendingToolCalls"]:
                        if "approval" in call:
                            await self._any_node().ask("approve", run_id, call["approval"]["id"])
            except NodeDied:
                continue
            match result["status"], result.get("code"):
                case "completed", _:
                    self._require_plausible(run_id, result)
                    self.found["completed"] += 1
                    return
                case "waiting", _:
                    continue
                case "failed", "aborted" if "once more" in result["error"] or "closed" in result["error"]:
                    continue  # by a node that was closed, or lost its lease
                case "failed", "aborted":
                    self.found["aborted in a leg"] += 1
                    return
                case "failed", "internal_error":
                    continue  # the database is away
                case "failed", "invalid_input" if "being resumed" in result["error"]:
                    continue  # by a wait of ours whose node is dead
                case _:
                    raise Violation(f"the promised run {run_id} ended as {result}")
        raise Violation(f"the promised run {run_id} does not end")

    def _require_plausible(self, run_id: str, result: dict[str, Any]) -> None:
        seen = Counter(status for step in result["value"] for status in step)
        if len(result["value"]) != STEPS + 1 or seen.keys() - {"done", "interrupted"}:
            raise Violation(f"run {run_id} saw {result['value']}")
        if any(again != "done" for _, again in result["value"][:STEPS]):
            raise Violation(f"an idempotent call of run {run_id} was interrupted: {result['value']}")
        self.found["interrupted calls"] += seen["interrupted"]
        calls = [call for call in result["telemetry"]["calls"] if call["status"] == "interrupted"]
        self.interrupted += [f"{run_id}:{call['id']}" for call in calls]

    def require_only_calls_of_the_gone(self) -> None:
        by_key = {line["key"]: line["pid"] for line in Witness(self._witness).lines()}
        for key in self.interrupted:
            if key in by_key and by_key[key] not in self.gone and not self._away_s:
                raise Violation(f"{key} was interrupted while the node that made it lived")


def run_rounds(kills: int, seed: int, away_s: float) -> Counter[str]:
    before = descendants(os.getpid())
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        migrate(server.url(), key_id(KEY).hex())
        cluster = Cluster(server, Path(folder), random.Random(seed), away_s)
        asyncio.run(cluster.run(kills))
        # those of the server are others since it was away
        servers = {server.keeper_pid, *descendants(server.keeper_pid)}
        if left := [pid for pid in descendants(os.getpid()) - before - servers if not ends(pid)]:
            raise Violation(f"processes are left: {left}")
        cluster.found["calls"] = require_once(Witness(Path(folder) / "witness"))
        cluster.require_only_calls_of_the_gone()
        (runs,) = run_sql(server.url(), "SELECT count(*) FROM codemode.runs WHERE claimed_by IS NOT NULL")[0]
        cluster.found["left claimed"] = runs
    if left := [pid for pid in descendants(os.getpid()) - before if not ends(pid)]:
        raise Violation(f"servers are left: {left}")
    return cluster.found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    options.add_argument("--away", type=float, default=30.0, help="seconds without a database; 0: none")
    given = options.parse_args()
    print(f"seed {given.seed}", flush=True)
    print(
        f"{given.kills} nodes gone: {dict(run_rounds(given.kills, given.seed, given.away))}, no call twice",
        flush=True,
    )


if __name__ == "__main__":
    main()
