"""The reference client in Python at work: `python -m tests.e2e.serve.python_host SCENARIO ARGUMENT COMMAND…`.

Prints one line of JSON: what the scenario saw. javascript_host.mjs has the same scenarios and sees the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from examples.clients.codemode_client import Call, Client, EngineError, Json, Tool, ToolFailed


class Desk:
    """Tools that are held until the scenario answers, and what was seen of them."""

    def __init__(self) -> None:
        self.held: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.begun = asyncio.Event()
        self.run_id = ""
        self.keys: list[str] = []
        self.cancelled = 0
        self.asked: list[Json] = []
        self.events: list[Json] = []
        self.finished = asyncio.Event()  # a run
        self.ended = asyncio.Event()  # a call, by being cancelled

    def hear(self, event: Json) -> None:
        self.events.append(event)
        if event["type"] == "finished":
            self.finished.set()

    @property
    def tools(self) -> list[Tool]:
        held: Json = {"hints": {"idempotent": True}}
        approved: Json = {"hints": {"requiresApproval": True}}
        return [
            Tool("add", self.add, "Adds.", {"type": "object", "required": ["a", "b"]}),
            Tool("fail", self.fail, "Fails."),
            Tool("refuse", self.refuse, "Wants other arguments."),
            Tool("hold", self.hold, "Takes its time.", more=held),
            Tool("pay", self.pay, "Pays.", more=approved),
        ]

    async def add(self, given: Json, call: Call) -> int:
        await call.progress({"adding": given["a"]})
        return given["a"] + given["b"]

    async def fail(self, given: Json, call: Call) -> None:
        raise ToolFailed("out of paper", {"tray": 2})

    async def refuse(self, given: Json, call: Call) -> None:
        raise ToolFailed("b must be even", code=-32602)

    async def hold(self, given: Json, call: Call) -> Any:
        self.run_id = call.run_id
        self.keys.append(call.idempotency_key)
        self.begun.set()
        try:
            return await self.held
        except asyncio.CancelledError:
            self.cancelled += 1
            self.ended.set()
            raise

    async def pay(self, given: Json, call: Call) -> str:
        return f"paid {given['amount']}"


async def nested(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools, on_event=desk.hear) as client:
        prepared = await client.prepare(format="anthropic")
        result = await client.exec({"code": SUM, "language": "typescript"}, session="s", toolCall="call-7")
        await desk.finished.wait()
    started = next(event for event in desk.events if event["type"] == "started")
    updates = [event["progress"] for event in desk.events if event["type"] == "call_update"]
    return {
        "protocol": client.server["protocolVersion"],
        "shown": [tool["name"] for tool in prepared["tools"]],
        "value": result["value"],
        "toolCall": started["toolCall"],
        "updates": updates,
        "code": client.process and client.process.returncode,
    }


async def waiting(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        first = await client.exec(HELD, session="s")
        foreign = await client.wait(first["runId"], session="other")
        desk.held.set_result("late")
        second = await client.wait(first["runId"], session="s")
    return {
        "first": [first["status"], first["reason"], [call["method"] for call in first["pendingToolCalls"]]],
        "foreign": [foreign["status"], foreign["code"]],
        "second": [second["status"], second["value"]],
    }


async def abort(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        running = asyncio.create_task(client.exec("return await tools.hold({})"))
        await desk.begun.wait()
        aborted = await client.abort(desk.run_id)
        result = await running
        again = await client.abort(desk.run_id)
    return {"aborted": aborted, "code": result["code"], "cancelled": desk.cancelled, "again": again}


async def cancel(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        running = asyncio.create_task(client.exec("return await tools.hold({})"))
        await desk.begun.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await desk.ended.wait()
        runs = await client.request("runs")
    return {"cancelled": desk.cancelled, "runs": runs["runs"]}


async def approval(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        first = await client.exec("return await tools.pay({ amount: 3 })")
        asked = first["pendingToolCalls"][0]["approval"]
        decided = await client.approve(first["runId"], asked["id"])
        yes = await client.wait(first["runId"])
        second = await client.exec(CAUGHT.replace("CALL", "tools.pay({ amount: 4 })"))
        await client.deny(second["runId"], second["pendingToolCalls"][0]["approval"]["id"], reason="too much")
        no = await client.wait(second["runId"])
        unknown = await client.approve(second["runId"], "apr_nothing")
    return {
        "reason": first["reason"],
        "summary": asked["summary"],
        "decided": decided,
        "yes": yes["value"],
        "no": no["value"]["code"],
        "unknown": unknown,
    }


async def asked(desk: Desk, command: list[str], _: str) -> Any:
    async def decide(request: Json) -> tuple[str, str]:
        desk.asked.append(request)
        return ("approve", "") if request["arguments"]["amount"] < 10 else ("deny", "too much")

    async with Client(command, tools=desk.tools, approve=decide) as client:
        yes = await client.exec("return await tools.pay({ amount: 3 })")
        no = await client.exec(CAUGHT.replace("CALL", "tools.pay({ amount: 40 })"))
    amounts = [[request["name"], request["arguments"]] for request in desk.asked]
    return {"yes": yes["value"], "no": no["value"]["code"], "asked": amounts}


async def failure(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        caught = await client.exec(CAUGHT.replace("CALL", "tools.fail({})"))
        uncaught = await client.exec("return await tools.fail({})")
        refused = await client.exec(CAUGHT.replace("CALL", "tools.refuse({})"))
        misspelt = client.request("exec", {"input": {}, "sesion": "s"})
        (error,) = await asyncio.gather(misspelt, return_exceptions=True)
    return {
        "caught": caught["value"],
        "uncaught": uncaught["code"],
        "refused": refused["value"]["code"],
        "protocol": error.code if isinstance(error, EngineError) else None,
    }


async def leave(desk: Desk, command: list[str], _: str) -> Any:
    """Suspends a run in a store, and goes."""
    async with Client(command, tools=desk.tools) as client:
        first = await client.exec(HELD)
        await desk.begun.wait()
    return {"runId": first["runId"], "key": desk.keys[0], "cancelled": desk.cancelled}


async def come_back(desk: Desk, command: list[str], run_id: str) -> Any:
    """Another engine on the same store: the call in flight runs again, under the same key."""
    desk.held.set_result("later")
    async with Client(command, tools=desk.tools) as client:
        result = await client.wait(run_id)
    return {"value": result["value"], "keys": desk.keys}


async def die(desk: Desk, command: list[str], _: str) -> Any:
    async with Client(command, tools=desk.tools) as client:
        await client.exec(HELD)
        running = asyncio.create_task(client.exec("while (true) await tools.hold({})"))
        await desk.begun.wait()
        os.kill(os.getpid(), signal.SIGKILL)
        await running


SUM = """
const terms: number[] = [1, 2, 3];
const sums = await Promise.all(terms.map((a: number) => tools.add({ a, b: 10 })));
return sums;
"""
HELD = "const held = tools.hold({}); await yield_control(); return await held"
CAUGHT = (
    "try { return await CALL } catch ({ name, message, code, data }) { return { name, message, code, data } }"
)
SCENARIOS: dict[str, Callable[[Desk, list[str], str], Awaitable[Any]]] = {
    scenario.__name__: scenario
    for scenario in (nested, waiting, abort, cancel, approval, asked, failure, leave, come_back, die)
}


async def main(scenario: str, argument: str, command: list[str]) -> None:
    print(json.dumps(await SCENARIOS[scenario](Desk(), command, argument)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
