"""Tools that change under their users: it is told, runs keep what they had, approvals count no more."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine, ToolsChanged
from tests.harness.engine import engine, value_of, waiting
from tests.harness.mcp_servers import servers
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SCRIPT = str(PROJECT / "tests" / "mcp" / "user_server.py")
GIVEN = servers(users={"command": sys.executable, "args": [SCRIPT]})
NOTE = "Changed by their server since your last program: mcp:users:pay. Read them again with API.read."


def other_server(folder: Path) -> str:
    """The same server, but for what it says of one tool."""
    script = folder / "other_server.py"
    script.write_text(Path(SCRIPT).read_text().replace('description="Pays."', 'description="Pays it all."'))
    return str(script)


async def changed(made: Engine, program: str) -> ToolsChanged:
    """Runs the program, and returns when the engine has read the new list."""
    events = made.events()
    value_of(await made.exec(program, session="other"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        async for event in events:
            if isinstance(event, ToolsChanged):
                events.close()
                return event
    raise AssertionError("the engine did not tell of it")


async def test_a_changed_description_is_told_as_an_event_and_once_to_each_session_that_knew_it() -> None:
    async with engine((), mcp=GIVEN) as made:
        before = await made.exec("return 1", session="ada")
        event = await changed(made, "return await MCP.users.redefine({ words: 'Pays twice.' })")
        after = await made.exec("return 1", session="ada")
        again = await made.exec("return 1", session="ada")
        new = await made.exec("return (await MCP.users.$api('pay')).header", session="bob")
    assert (event.server, event.tools, event.run_id) == ("users", ("mcp:users:pay",), "")
    assert (before.notes, after.notes, again.notes, new.notes) == ((), (NOTE,), (), ())
    assert "Pays twice." in value_of(new)


async def test_a_run_keeps_the_declarations_that_it_began_with() -> None:
    program = """
    const before = (await MCP.users.$api("pay")).header;
    await MCP.users.redefine({ words: "Pays thrice." });
    await yield_control("until the list was read");
    return [before, (await MCP.users.$api("pay")).header];
    """
    async with engine((), mcp=GIVEN) as made:
        events = made.events()
        first = waiting(await made.exec(program), "yield")
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for event in events:
                if isinstance(event, ToolsChanged):
                    break
        events.close()
        before, after = value_of(await made.wait(first.run_id))
        new = value_of(await made.exec("return (await MCP.users.$api('pay')).header"))
    assert before == after
    assert "Pays." in before
    assert "Pays thrice." in new


async def test_a_yes_to_a_tool_that_has_changed_since_is_asked_again(tmp_path: Path) -> None:
    store, key, policy = tmp_path / "runs.sqlite", bytes(32), {"requireApproval": ["mcp:users:pay"]}
    options: dict[str, Any] = {"store": store, "store_key": key, "policy": policy}
    program = "return await MCP.users.pay({ amount: '5' })"
    async with Engine(mcp=GIVEN, **options) as made:
        first = waiting(await made.exec(program), "approval")
    asked = first.pending_tool_calls[0].approval
    assert asked is not None
    other = servers(users={"command": sys.executable, "args": [other_server(tmp_path)]})
    async with Engine(mcp=other, **options) as made:
        assert await made.approve(first.run_id, asked.id)
        second = waiting(await made.wait(first.run_id), "approval")
        anew = second.pending_tool_calls[0].approval
        assert anew is not None
        assert anew.id != asked.id
        assert await made.approve(first.run_id, anew.id)
        value = value_of(await made.wait(first.run_id))
    assert value == {"result": "paid 5"}
