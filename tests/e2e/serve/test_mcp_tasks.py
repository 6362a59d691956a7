"""Runs as tasks: a client that knows the extension polls, answers and cancels, and never calls `wait`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.serve import SHOP, http_server

pytestmark = pytest.mark.usefixtures("leaves_nothing")
TASKS = "io.modelcontextprotocol/tasks"
VERSION = "2026-07-28"


class TaskClient:
    """Speaks the protocol by hand: the SDK's client does not know tasks."""

    def __init__(self, url: str, http: httpx2.AsyncClient, **capabilities: Any) -> None:
        self._url = url
        self._http = http
        self._able = capabilities or {"elicitation": {}, "extensions": {TASKS: {}}}
        self._ids = 0

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._ids += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": self._able,
        }
        body = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": {**params, "_meta": meta}}
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": VERSION,
            "mcp-method": method,
        }
        if "name" in params or "taskId" in params:
            headers["mcp-name"] = params.get("name") or params["taskId"]
        answer = (await self._http.post(self._url, json=body, headers=headers)).json()
        return answer.get("result") or answer["error"]

    async def run(self, code: str) -> dict[str, Any]:
        return await self.ask("tools/call", name="exec", arguments={"code": code})

    async def until(self, task: str, *statuses: str) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (found := await self.ask("tasks/get", taskId=task))["status"] not in statuses:  # noqa: ASYNC110 - it polls
                await asyncio.sleep(0.02)
        return found


async def test_a_quick_program_is_answered_at_once_and_a_slow_one_is_a_task_that_ends(tmp_path: Path) -> None:
    wanted = tmp_path / "note"
    async with http_server("--tools", SHOP) as (url, _), httpx2.AsyncClient(timeout=30) as http:
        client = TaskClient(url, http)
        quick = await client.run("return 1 + 1")
        begun = await client.run(f"text('first'); return await tools.hold({{ path: '{wanted}' }})")
        working = await client.ask("tasks/get", taskId=begun["taskId"])
        wanted.write_text("found")
        ended = await client.until(begun["taskId"], "completed")
        failed = await client.run("throw new Error('no')")
    assert quick["structuredContent"]["value"] == 2
    assert (begun["resultType"], begun["status"], working["status"]) == ("task", "working", "working")
    assert begun["ttlMs"] > 0
    assert ended["result"]["structuredContent"]["value"] == "found"
    assert ended["result"]["structuredContent"]["output"] == [{"type": "text", "text": "first"}]
    assert failed["isError"] is True


async def test_approvals_are_asked_by_the_task_and_answered_one_by_one() -> None:
    program = """
    const pay = (amount) => tools.pay({ amount }).catch((e) => e.code);
    return await Promise.all([pay(1), pay(2)]);
    """
    async with http_server("--tools", SHOP) as (url, _), httpx2.AsyncClient(timeout=30) as http:
        client = TaskClient(url, http)
        task = (await client.run(program))["taskId"]
        asked = await client.until(task, "input_required")
        one, two = asked["inputRequests"]
        yes = {"action": "accept", "content": {"approve": True}}
        done = await client.ask("tasks/update", taskId=task, inputResponses={one: yes, "nobody": yes})
        left = await client.ask("tasks/get", taskId=task)
        await client.ask("tasks/update", taskId=task, inputResponses={two: {"action": "decline"}})
        ended = await client.until(task, "completed")
    assert "amount: 1" in asked["inputRequests"][one]["params"]["message"]
    assert done["resultType"] == "complete"
    assert (left["status"], list(left["inputRequests"])) == ("input_required", [two])
    assert ended["result"]["structuredContent"]["value"] == ["paid 1", "denied"]


async def test_a_cancelled_task_ends_its_run_and_its_tools_and_strangers_see_nothing(tmp_path: Path) -> None:
    wanted = tmp_path / "note"
    async with http_server("--tools", SHOP) as (url, _), httpx2.AsyncClient(timeout=30) as http:
        client = TaskClient(url, http)
        task = (await client.run(f"return await tools.hold({{ path: '{wanted}' }})"))["taskId"]
        async with httpx2.AsyncClient(headers={"authorization": "Bearer other"}) as elsewhere:
            stranger = await TaskClient(url, elsewhere).ask("tasks/get", taskId=task)
        plain = await TaskClient(url, http, elicitation={}).ask("tasks/get", taskId=task)
        await client.ask("tasks/cancel", taskId=task)
        ended = await client.until(task, "cancelled")
        again = await client.ask("tasks/cancel", taskId=task)
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not Path(f"{wanted}.cancelled").exists():  # noqa: ASYNC110, ASYNC240 - a file is waited for
                await asyncio.sleep(0.02)
    assert stranger["code"] == -32602
    assert plain["code"] == -32021
    assert "result" not in ended
    assert again["resultType"] == "complete"
