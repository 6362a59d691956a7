"""The MCP server as the official SDK's client sees it, over each transport, in each era of the protocol."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, types

from tests.e2e.serve.mcp_clients import ERAS, answering, call, connected
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, servers

pytestmark = pytest.mark.usefixtures("leaves_nothing")

everywhere = pytest.mark.parametrize(
    ("transport", "era"), [(transport, era) for transport in ("stdio", "http") for era in ERAS]
)
# what depends on neither: once each
somewhere = pytest.mark.parametrize(("transport", "era"), [("stdio", "before 2026"), ("http", "since 2026")])
HELD = "text('begun'); const held = tools.hold({ path: PATH }); await yield_control(); return await held"
PAID = (
    "text('one'); const paid = await tools.pay({ amount: 3 }).catch((e) => e.code); text('two'); return paid"
)


def holding(path: Path) -> str:
    return HELD.replace("PATH", json.dumps(str(path)))


def texts(result: dict[str, Any]) -> list[str]:
    return [item["text"] for item in result["output"]]


@everywhere
async def test_a_client_sees_exec_and_wait_and_reaches_a_server_behind_them(
    transport: str, era: str, tmp_path: Path
) -> None:
    config = tmp_path / "servers.json"
    config.write_text(json.dumps(servers(fast=fast())))
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message and message.partition(" after ")[0]))

    async with connected(transport, era, "--servers", config) as client:
        listed = (await client.list_tools()).tools
        assert [tool.name for tool in listed] == ["exec", "wait"]
        assert "pay(" in (listed[0].description or "")
        assert "Adds two numbers" not in (listed[0].description or "")
        code = "return await MCP.fast.makePoint({ x: 1, y: 2 })"
        result = await client.call_tool("exec", {"code": code}, progress_callback=hear)
        assert result.structured_content["value"] == {"x": 1, "y": 2, "kind": "plain"}
        assert told == [(1, "mcp:fast:make_point started"), (2, "mcp:fast:make_point ok")]


@everywhere
async def test_a_waiting_run_goes_on_with_wait(transport: str, era: str, tmp_path: Path) -> None:
    async with connected(transport, era) as client:
        first = await call(client, "exec", code=holding(tmp_path / "file"))
        assert (first["status"], first["reason"], texts(first)) == ("waiting", "yield", ["begun"])
        (tmp_path / "file").write_text("there")
        second = await call(client, "wait", runId=first["runId"])
        assert (second["status"], second["value"], texts(second)) == ("completed", "there", [])


@everywhere
async def test_a_call_that_the_client_cancels_aborts_the_run_and_its_tools(
    transport: str, era: str, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    async with connected(transport, era) as client:
        code = f"return await tools.hold({{ path: {json.dumps(str(path))} }})"
        calling = asyncio.create_task(call(client, "exec", code=code))
        await until((tmp_path / "file.asked").exists)
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        await until((tmp_path / "file.cancelled").exists)
        assert (await call(client, "exec", code="return 1"))["value"] == 1


@everywhere
async def test_an_approval_is_asked_of_the_user_with_the_arguments(transport: str, era: str) -> None:
    yes, no = ({"action": "accept", "content": {"approve": approve}} for approve in (True, False))
    asked: list[str] = []
    answers = [yes, no, {"action": "decline"}]
    async with connected(transport, era, elicit=answering(answers, asked)) as client:
        for value in ("paid 3", "denied", "denied"):
            result = await call(client, "exec", code=PAID)
            assert (result["status"], result["value"]) == ("completed", value)
            assert texts(result) == ["one", "two"]
        assert asked == ["Allow this tool call?\nRun pay(amount)\nopenclaw:core:pay\namount: 3"] * 3


@everywhere
async def test_an_approval_that_the_user_puts_aside_leaves_the_run_waiting_and_wait_asks_again(
    transport: str, era: str
) -> None:
    asked: list[str] = []
    later = answering([{"action": "cancel"}, {"action": "cancel"}], asked)
    async with connected(transport, era, "--timeout", "500ms", elicit=later) as client:
        first = await call(client, "exec", code=PAID)
        assert (first["status"], first["reason"], texts(first)) == ("waiting", "approval", ["one"])
        again = await call(client, "wait", runId=first["runId"])
        assert (again["status"], again["reason"], texts(again)) == ("waiting", "approval", [])
        assert len(asked) == 2


@everywhere
async def test_of_two_approvals_the_one_put_aside_is_not_asked_for_again_in_the_same_call(
    transport: str, era: str
) -> None:
    asked: list[str] = []
    yes = {"action": "accept", "content": {"approve": True}}
    answers = [yes, {"action": "cancel"}, yes]
    code = "return Promise.all([tools.pay({ amount: 3 }), tools.pay({ amount: 4 })])"
    quick = ("--timeout", "500ms")
    async with connected(transport, era, *quick, elicit=answering(answers, asked)) as client:
        first = await call(client, "exec", code=code)
        assert (first["status"], first["reason"], len(asked)) == ("waiting", "approval", 2)
        assert [item["tool"] for item in first["pendingToolCalls"]] == ["openclaw:core:pay"]
        second = await call(client, "wait", runId=first["runId"])
        assert (second["value"], len(asked)) == (["paid 3", "paid 4"], 3)


@somewhere
async def test_a_client_gets_what_a_model_is_to_see_as_data_and_as_the_same_text(
    transport: str, era: str
) -> None:
    async with connected(transport, era) as client:
        code = "text('hi'); await tools.shout({ text: 'a' }); throw new Error('no')"
        result = await client.call_tool("exec", {"code": code})
    found = result.structured_content
    (said,) = result.content
    assert isinstance(said, types.TextContent)
    assert json.loads(said.text) == found
    assert list(found) == ["status", "error", "code", "output", "notes"]
    assert found["notes"] == ["Already done: shout ×1 ok."]


@somewhere
async def test_a_client_that_cannot_ask_gets_the_approval_in_the_result_and_a_note(
    transport: str, era: str
) -> None:
    async with connected(transport, era) as client:
        result = await client.call_tool("exec", {"code": PAID})
        found = result.structured_content
        assert (found["status"], found["reason"], result.is_error) == ("waiting", "approval", False)
        assert found["pendingToolCalls"][0]["approval"]["summary"] == "Run pay(amount)"
        note = result.content[1]
        assert isinstance(note, types.TextContent)
        assert "cannot ask its user" in note.text


@somewhere
async def test_a_failed_program_is_an_error_that_the_model_reads_and_a_wrong_tool_is_one_of_the_protocol(
    transport: str, era: str
) -> None:
    async with connected(transport, era) as client:
        for arguments, code in (
            ({"code": "return nope"}, "guest_error"),
            ({"code": 1}, "invalid_input"),
            ({"cmd": "ls"}, "invalid_input"),
        ):
            assert (await call(client, "exec", **arguments))["code"] == code
        assert (await call(client, "wait", runId="run_nothing"))["code"] == "invalid_input"
        assert (await call(client, "wait"))["code"] == "invalid_input"
        with pytest.raises(MCPError, match="this server has exec and wait"):
            await client.call_tool("pay", {"amount": 3})


async def test_what_tools_print_does_not_reach_the_client() -> None:
    async with connected("stdio", "since 2026") as client:
        assert (await call(client, "exec", code='return tools.shout({ text: "hey" })'))["value"] == "HEY"


async def test_a_named_stdio_session_finds_its_runs_in_the_store_after_a_restart(tmp_path: Path) -> None:
    async def leave(client: Client) -> str:
        return (await call(client, "exec", code="await yield_control(); return 'later'"))["runId"]

    store = ("--store", tmp_path / "runs.sqlite", "--session")
    async with connected("stdio", "since 2026", *store, "mine") as client:
        run_id = await leave(client)
    async with connected("stdio", "since 2026", *store, "other") as client:
        assert (await call(client, "wait", runId=run_id))["code"] == "invalid_input"
    async with connected("stdio", "since 2026", *store, "mine") as client:
        assert (await call(client, "wait", runId=run_id))["value"] == "later"
