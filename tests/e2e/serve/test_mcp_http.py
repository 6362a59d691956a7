"""The MCP server over HTTP: whose run is whose, which headers are taken, how it ends."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, types

from tests.e2e.serve.mcp_clients import TOOLS, another, answering, call
from tests.harness.loops import until
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.serve import http_server, refusal

pytestmark = pytest.mark.usefixtures("leaves_nothing")

PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


def holding(path: Path) -> str:
    held = f"const held = tools.hold({{ path: {json.dumps(str(path))} }})"
    return f"{held}; await yield_control(); return await held"


async def test_a_session_cannot_wait_for_the_run_of_another_and_takes_its_runs_with_it(
    tmp_path: Path,
) -> None:
    async with http_server(*TOOLS) as (url, _), another(url, "before 2026") as second:
        async with another(url, "before 2026") as first:
            held = await call(first, "exec", code=holding(tmp_path / "file"))
            foreign = await call(second, "wait", runId=held["runId"])
            unknown = await call(second, "wait", runId="run_nothing")
            assert (foreign["code"], foreign["error"]) == ("invalid_input", unknown["error"])
            yielded = await call(first, "exec", code="await yield_control(); return 'mine'")
            assert (await call(first, "wait", runId=yielded["runId"]))["value"] == "mine"
            assert not (tmp_path / "file.cancelled").exists()
        await until((tmp_path / "file.cancelled").exists)


async def test_without_sessions_a_run_belongs_to_whoever_has_its_id_and_the_same_credentials() -> None:
    code = "await yield_control(); return 'mine'"
    async with (
        http_server(*TOOLS) as (url, _),
        another(url, "since 2026", Authorization="Bearer one") as first,
        another(url, "since 2026", Authorization="Bearer two") as second,
        another(url, "since 2026") as third,
    ):
        held = await call(first, "exec", code=code)
        for stranger in (second, third):
            assert (await call(stranger, "wait", runId=held["runId"]))["code"] == "invalid_input"
        assert (await call(first, "wait", runId=held["runId"]))["value"] == "mine"
        plain = await call(third, "exec", code=code)
        assert (await call(second, "wait", runId=plain["runId"]))["code"] == "invalid_input"
        assert (await call(third, "wait", runId=plain["runId"]))["value"] == "mine"


@pytest.mark.guarantee("mcp-answers-belong-to-their-session")
@pytest.mark.parametrize("thief", ["since 2026", "before 2026"])
async def test_the_state_of_a_question_is_worth_nothing_in_another_session_and_its_owner_loses_nothing(
    thief: str,
) -> None:
    code = {"code": "text('secret'); return await tools.pay({ amount: 3 })"}
    yes: Any = {"0": types.ElicitResult(action="accept", content={"approve": True})}
    aside: Any = {"0": types.ElicitResult(action="cancel")}
    elicit = answering([], [])
    async with (
        http_server(*TOOLS) as (url, _),
        another(url, "since 2026", elicit, Authorization="Bearer one") as owner,
        another(url, thief, elicit, Authorization="Bearer two") as other,
    ):

        async def answer(client: Client, state: str | None, answers: Any) -> Any:
            return await client.session.call_tool(
                "exec", code, input_responses=answers, request_state=state, allow_input_required=True
            )

        asked = await answer(owner, None, None)
        assert isinstance(asked, types.InputRequiredResult)
        for answers in (aside, yes):
            with pytest.raises(MCPError, match="Invalid or expired requestState"):
                await answer(other, asked.request_state, answers)
        done = await answer(owner, asked.request_state, yes)
        assert done.structured_content["value"] == "paid 3"
        assert [item["text"] for item in done.structured_content["output"]] == ["secret"]


async def test_other_names_foreign_pages_and_bodies_without_end_are_refused() -> None:
    async with http_server() as (url, _), httpx2.AsyncClient(timeout=30) as http:
        port = url.split(":")[2].partition("/")[0]

        async def post(body: Any = PING, **headers: str) -> int:
            return (await http.post(url, json=body, headers=ACCEPT | headers)).status_code

        assert await post(Host=f"evil.example:{port}") == 421
        assert await post(Origin="http://evil.example") == 403
        assert await post(Origin=f"http://127.0.0.1.evil.example:{port}") == 403
        assert await post({"jsonrpc": "2.0", "method": "x" * (17 << 20)}) == 413
        assert await post({"garbage": True}) == 400
        as_json = ACCEPT | {"Content-Type": "application/json"}
        assert (await http.post(url, content=b"\xff{", headers=as_json)).status_code == 400
        guessed = ACCEPT | {"Mcp-Session-Id": "guess"}
        assert (await http.post(url, json=PING, headers=guessed)).status_code == 404
        async with another(url, "before 2026") as client:
            assert (await call(client, "exec", code="return 1"))["value"] == 1


async def test_a_host_that_was_allowed_is_taken() -> None:
    async with (
        http_server("--allow-host", "code.example:*") as (url, _),
        another(url, "since 2026", Host="code.example:80") as client,
    ):
        assert (await call(client, "exec", code="return 1"))["value"] == 1


async def test_a_server_without_a_single_tool_still_shows_exec_and_wait() -> None:
    async with http_server() as (url, _), another(url, "since 2026") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["exec", "wait"]


async def test_a_signal_ends_a_call_in_flight_and_its_tools(tmp_path: Path) -> None:
    async with http_server(*TOOLS) as (url, process):
        code = f"return await tools.hold({{ path: {json.dumps(str(tmp_path / 'file'))} }})"
        message = {"code": code}
        async with another(url, "before 2026") as client:
            calling = asyncio.create_task(client.call_tool("exec", message))
            await until((tmp_path / "file.asked").exists)
            process.terminate()
            assert await asyncio.wait_for(process.wait(), PATIENCE_SECONDS) == 0
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
        assert (tmp_path / "file.cancelled").exists()


def test_an_address_that_cannot_be_served_is_refused_in_words() -> None:
    text = "codemode serve: http: 0.0.0.0 is every address: name the hosts that clients may call it by.\n"
    assert refusal("--mcp", "--http", "0.0.0.0:0") == (2, "", text)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        text = f"codemode serve: http: cannot listen at {place}: Address already in use.\n"
        assert refusal("--mcp", "--http", place) == (2, "", text)
