"""A host of its own with a durable engine, made to be killed: obeys JSON lines on stdin, answers on stdout.

    python -m tests.e2e.durable_host STORE WITNESS

Each order is {"id", "op", …} and is answered by {"id", "answer"}, in whatever order they are done. The tools
write what they do into WITNESS, one JSON line each, synced: what happened outlives the process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from codemode import CallContext, Engine, Tool, tool

CONFIG = {"enabled": True, "timeoutMs": 10_000}
SETTINGS = {"warmWorkers": 1}


class Witness:
    """Appends to a file; a line is there completely or not at all, and survives kill -9."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def saw(self, what: str, context: CallContext, **more: Any) -> None:
        line = json.dumps({"what": what, "key": context.idempotency_key, **more}) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, line.encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def lines(self) -> list[dict[str, Any]]:
        return (
            [json.loads(line) for line in self._path.read_text().splitlines()] if self._path.exists() else []
        )


class Held:
    """Calls that wait for an order."""

    def __init__(self) -> None:
        self.calls: dict[str, asyncio.Future[Any]] = {}
        self.cancelled: set[str] = set()
        self.changed = asyncio.Event()

    async def until_answered(self, name: str) -> Any:
        self.calls[name] = asyncio.get_running_loop().create_future()
        self.changed.set()
        try:
            return await self.calls[name]
        except asyncio.CancelledError:
            self.cancelled.add(name)
            self.changed.set()
            raise

    async def until_held(self, names: list[str]) -> None:
        await self._until(lambda: all(name in self.calls for name in names))

    async def until_cancelled(self, name: str) -> None:
        await self._until(lambda: name in self.cancelled)

    async def _until(self, is_so: Callable[[], bool]) -> None:
        while not is_so():
            self.changed.clear()
            await self.changed.wait()


def make_tools(witness: Witness, held: Held) -> list[Tool]:
    @tool
    async def note(name: str, context: CallContext) -> str:
        """Does something once."""
        witness.saw("note", context, name=name)
        return name

    @tool
    async def hold(name: str, context: CallContext) -> Any:
        """Does something that takes as long as it is told to."""
        witness.saw("hold", context, name=name)
        return await held.until_answered(name)

    @tool(idempotent=True)
    async def hold_again(name: str, context: CallContext) -> Any:
        """The same, and may be done twice."""
        witness.saw("hold_again", context, name=name)
        return await held.until_answered(name)

    @tool(requires_approval=True)
    async def pay(amount: int, context: CallContext) -> Any:
        """Pays, as soon as it is told that it has."""
        witness.saw("pay", context, amount=amount)
        return await held.until_answered(f"pay {amount}")

    return [note, hold, hold_again, pay]


class Orders:
    def __init__(self, engine: Engine, held: Held) -> None:
        self._engine = engine
        self._held = held

    async def obey(self, op: str, given: dict[str, Any]) -> Any:
        engine = self._engine
        match op:
            case "exec":
                session, request = given.get("session", "s"), given.get("request")
                return (await engine.exec(given["program"], session=session, request_id=request)).to_dict()
            case "wait":
                return (await engine.wait(given["run_id"], session=given.get("session", "s"))).to_dict()
            case "held":
                return await self._held.until_held(given["names"])
            case "cancelled":
                return await self._held.until_cancelled(given["name"])
            case "answer":
                self._held.calls[given["name"]].set_result(given["value"])
                return None
            case "approve":
                return await engine.approve(given["run_id"], given["approval"], session="s")
            case "deny":
                return await engine.deny(given["run_id"], given["approval"], session="s")
            case "abort":
                return await engine.abort(given["run_id"], session="s")
            case "trajectory":
                return await engine.trajectory(given["run_id"], session="s") is not None
            case "runs":
                return [found["runId"] for found in await engine.runs()]
            case "drain":
                return await engine.drain(timeout=given.get("timeout"))
            case "expire":
                return await engine.expire()
            case "kept":
                while sum(found["settled"] for found in await engine.runs()) < given["results"]:
                    pass  # asking the store's thread lets everything else go on
                return None
            case _:
                raise ValueError(op)


async def serve(store: str, witness: Witness, answer: Callable[[dict[str, Any]], None]) -> None:
    held = Held()
    async with Engine(make_tools(witness, held), CONFIG, settings=SETTINGS, store=store) as engine:
        orders = Orders(engine, held)
        answer({"id": 0, "answer": "ready"})
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        running: set[asyncio.Task[None]] = set()

        async def one(order: dict[str, Any]) -> None:
            answer({"id": order["id"], "answer": await orders.obey(order["op"], order)})

        while line := await reader.readline():
            task = asyncio.create_task(one(json.loads(line)))
            running.add(task)
            task.add_done_callback(running.discard)


if __name__ == "__main__":
    asyncio.run(
        serve(sys.argv[1], Witness(Path(sys.argv[2])), lambda found: print(json.dumps(found), flush=True))
    )
