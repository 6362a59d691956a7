"""`codemode serve --http` as its clients see it: runs, lists, events, approvals, tools, health, draining."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.e2e.serve.mcp_clients import another, call
from tests.harness.http_api import SECRETS, api_server, events_of, until
from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PAY = "const cents = 5;\nreturn await tools.pay({ amount: cents })"


async def run(client: httpx2.AsyncClient, code: str, **given: Any) -> Any:
    answer = await client.post("/v1/exec", json={"code": code, **given})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_program_runs_waits_for_an_approval_and_goes_on_and_events_tell_it(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server, server.client() as client:
        async with client.stream("GET", "/v1/events") as response:
            events = events_of(response)
            hello = await until(events, "hello")
            held = await run(client, PAY, session="s")
            assert (held["status"], held["reason"]) == ("waiting", "approval")
            opened = await until(events, "approval_opened")
            assert (opened["runId"], opened["session"], opened["name"]) == (held["runId"], "s", "pay")

            (asked,) = (await client.get("/v1/approvals")).json()["approvals"]
            assert (asked["arguments"], asked["lines"]) == ({"amount": 5}, ["amount: 5"])
            shown = (await client.get(f"/v1/runs/{held['runId']}")).json()
            assert shown["program"]["text"] == PAY
            assert shown["positions"] == {"1": [{"line": 2, "column": 14}]}
            assert [leg["status"] for leg in shown["legs"]] == ["waiting"]
            assert shown["run"]["approvals"] == 1

            path = f"/v1/runs/{held['runId']}/approvals/{asked['id']}"
            wrong = await client.post(f"{path}/approve", json={"argumentsSha256": "0" * 64})
            assert wrong.status_code == 409
            right = {"argumentsSha256": asked["argumentsSha256"]}
            assert (await client.post(f"{path}/approve", json=right)).json() == {"decided": True}
            assert (await client.post(f"{path}/deny", json={})).status_code == 409
            ended = (await client.post(f"/v1/runs/{held['runId']}/wait", json={})).json()
            assert (ended["status"], ended["value"]) == ("completed", "paid 5")
            finished = await until(events, "finished")
            assert finished["status"] == "completed"

        async with client.stream("GET", "/v1/events", headers={"last-event-id": opened["id"]}) as again:
            missed = events_of(again)
            assert (await until(missed, "hello"))["isComplete"] is True
            assert (await until(missed, "approval_closed"))["outcome"] == "approved"
            assert (await until(missed, "finished"))["id"] == finished["id"]
        strange = {"last-event-id": f"{int(hello['epoch'], 16) ^ 1:x}.3"}
        async with client.stream("GET", "/v1/events", headers=strange) as lost:
            assert (await until(events_of(lost), "hello"))["isComplete"] is False


async def test_finished_failed_and_waiting_runs_are_listed_and_a_failed_one_says_where(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.sqlite"
    kept = ("--store", store, "--record", "values")
    async with api_server(tmp_path, *kept) as server, server.client() as client:
        await run(client, "return 1", session="a")
        await run(client, "let a;\n a.b", session="b")
        await run(client, PAY, session="a")
        listed = (await client.get("/v1/runs")).json()
        assert [one["status"] for one in listed["runs"]] == ["waiting", "failed", "completed"]
        assert listed["counts"] == {"running": 0, "waiting": 1, "finished": 2}
        first = (await client.get("/v1/runs", params={"limit": 2})).json()
        rest = (await client.get("/v1/runs", params={"cursor": first["next"]})).json()
        assert first["runs"] + rest["runs"] == listed["runs"]
        found = (await client.get("/v1/runs", params={"status": "failed", "q": "guest_error"})).json()
        (failed,) = found["runs"]
        shown = (await client.get(f"/v1/runs/{failed['runId']}")).json()
        assert (shown["error"]["line"], shown["error"]["column"]) == (2, 2)
        assert shown["program"]["text"] == "let a;\n a.b"
    async with api_server(tmp_path, "--store", store) as later, later.client() as client:
        again = (await client.get("/v1/runs")).json()
        assert [one["runId"] for one in again["runs"]] == [one["runId"] for one in listed["runs"]]
        shown = (await client.get(f"/v1/runs/{failed['runId']}")).json()
        assert shown["program"]["text"] == "let a;\n a.b"
        (asked,) = (await client.get("/v1/approvals")).json()["approvals"]
        path = f"/v1/runs/{asked['runId']}/approvals/{asked['id']}"
        assert (await client.post(f"{path}/deny", json={"reason": "no"})).json() == {"decided": True}
        ended = (await client.post(f"/v1/runs/{asked['runId']}/wait", json={})).json()
        assert ended["code"] == "nested_tool_failed"


async def test_tools_prompt_engine_metrics_and_health_are_told(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server, server.client() as client:
        tools = (await client.get("/v1/tools", params={"q": "pays"})).json()
        assert tools["tools"][0]["name"] == "pay"
        tool_id = tools["tools"][0]["id"]
        described = (await client.get(f"/v1/tools/{tool_id}")).json()
        assert described["parameters"]["required"] == ["amount"]
        assert "function pay(" in described["declaration"]
        prompt = (await client.get("/v1/prompt")).json()
        assert prompt["description"].startswith("Runs a JavaScript")
        assert prompt["tokens"] == -(-len(prompt["description"]) // 4)
        engine = (await client.get("/v1/engine")).json()
        assert (engine["health"]["status"] != "unavailable", engine["store"]["kind"]) == (True, "memory")
        await run(client, "return 1")
        metrics = (await client.get("/metrics")).text
        assert 'codemode_results_total{result="completed"} 1\n' in metrics
        probed = (await client.post("/v1/health/probe", json={})).json()
        assert probed["status"] in ("healthy", "degraded")
        page = await client.get("/")
        assert page.status_code == 200
        assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self';")
        assert "unsafe" not in page.headers["content-security-policy"]
        same = await client.get("/", headers={"if-none-match": page.headers["etag"]})
        assert same.status_code == 304


async def test_mcp_is_served_in_the_same_process_for_tokens_that_may_run(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server:
        token = f"Bearer {SECRETS['ada']}"
        async with another(f"{server.url}/mcp", "since 2026", authorization=token) as client:
            assert (await call(client, "exec", code="return 7"))["value"] == 7
        async with server.client("reader") as reader:
            assert (await reader.post("/mcp", json={})).status_code == 403
        async with server.client(None) as nobody:
            assert (await nobody.post("/mcp", json={})).status_code == 401


async def test_a_server_that_drains_begins_nothing_over_mcp_either(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server, server.client() as admin:
        token = f"Bearer {SECRETS['ada']}"
        async with another(f"{server.url}/mcp", "since 2026", authorization=token) as client:
            assert (await admin.post("/v1/drain", json={})).json() == {"isDraining": True}
            refused = await call(client, "exec", code="return 7")
        assert (refused["status"], refused["code"]) == ("failed", "runtime_unavailable")


async def test_a_client_that_goes_away_ends_its_run_and_a_signal_lets_what_is_under_way_end(
    tmp_path: Path,
) -> None:
    file = tmp_path / "file"
    async with api_server(tmp_path) as server, server.client() as client:
        program = f"return await tools.hold({{ path: {str(file)!r} }})"
        going = asyncio.create_task(run(client, program))
        while not Path(f"{file}.asked").exists():  # noqa: ASYNC110, ASYNC240 - a tool's own file
            await asyncio.sleep(0.005)
        going.cancel()
        await asyncio.gather(going, return_exceptions=True)
        while not Path(f"{file}.cancelled").exists():  # noqa: ASYNC110, ASYNC240 - likewise
            await asyncio.sleep(0.005)

        other = tmp_path / "other"
        staying = asyncio.create_task(run(client, f"return await tools.hold({{ path: {str(other)!r} }})"))
        while not Path(f"{other}.asked").exists():  # noqa: ASYNC110, ASYNC240 - likewise
            await asyncio.sleep(0.005)
        async with client.stream("GET", "/v1/events") as response:
            events = events_of(response)
            await until(events, "hello")
            server.process.send_signal(signal.SIGTERM)
            await until(events, "bye")
        ready = await client.get("/readyz")
        assert (ready.status_code, ready.json()["error"]["message"]) == (503, "draining")
        assert (await client.post("/v1/exec", json={"code": "return 1"})).status_code == 503
        other.write_text("done")
        assert (await staying)["value"] == "done"
        assert await asyncio.wait_for(server.process.wait(), PATIENCE_SECONDS) == 0
