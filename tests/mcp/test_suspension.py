"""MCP calls and suspended runs: delivered after `wait`, and settled by the rules after a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.harness.engine import engine, statuses, value_of, waiting
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, give, servers

pytestmark = pytest.mark.usefixtures("leaves_nothing")

HELD = """
text("before");
const told = await MCP.fast.%s({ path: %r }).then((r) => r.content[0].text, (e) => [e.code, e.name]);
return ["after", told];
"""
SHORT = {"timeoutMs": 1500}


async def test_a_call_in_flight_at_suspension_is_delivered_after_wait(tmp_path: Path) -> None:
    path = tmp_path / "answer"
    async with engine((), SHORT, mcp=servers(fast=fast())) as made:
        first = waiting(await made.exec(HELD % ("hold", str(path))), "pending_tools")
        pending = [(call.method, call.tool) for call in first.pending_tool_calls]
        give(path, "late")
        result = await made.wait(first.run_id)
        assert pending == [("call", "mcp:fast:hold")]
        assert value_of(result) == ["after", "late"]
        assert statuses(result) == [("hold", "ok")]


@pytest.mark.parametrize(
    ("tool", "told"),
    [("hold", ["interrupted", "InterruptedError"]), ("holdAgain", "second time")],
)
async def test_after_a_restart_a_call_is_interrupted_or_repeated_if_its_tool_is_idempotent(
    tool: str, told: Any, tmp_path: Path
) -> None:
    path, store = tmp_path / "answer", tmp_path / "runs.sqlite"
    options: dict[str, Any] = {"mcp": servers(fast=fast()), "store": store, "store_key": b"k" * 32}
    async with engine((), SHORT, **options) as made:
        first = waiting(await made.exec(HELD % (tool, str(path))), "pending_tools")
    (tmp_path / "answer.asked").unlink()
    give(path, "second time")
    async with engine((), **options) as made:
        assert value_of(await made.wait(first.run_id)) == ["after", told]
        assert (tmp_path / "answer.asked").exists() == (tool == "holdAgain")


async def test_a_question_whose_engine_is_gone_ends_as_interrupted(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "mcp": servers(fast=fast()), "store": tmp_path / "runs.sqlite", "store_key": b"k" * 32,
    }  # fmt: skip
    program = "return await MCP.fast.delete2({ what: 'it' }).catch((e) => e.code)"
    async with engine((), **options) as made:
        first = waiting(await made.exec(program), "approval")
    async with engine((), **options) as made:
        approval = first.pending_tool_calls[0].approval
        assert approval is not None
        assert await made.approve(first.run_id, approval.id)
        assert value_of(await made.wait(first.run_id)) == "interrupted"


async def test_aborting_a_run_cancels_its_call_and_the_server_stays(tmp_path: Path) -> None:
    path = tmp_path / "never"
    async with engine((), SHORT, mcp=servers(fast=fast())) as made:
        first = waiting(await made.exec(HELD % ("hold", str(path))))
        await until(lambda: (tmp_path / "never.asked").exists())
        assert await made.abort(first.run_id)
        assert value_of(await made.exec("return await MCP.fast.add({ a: 1 })")) == {"result": 2}
