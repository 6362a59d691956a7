"""One server for many users: each call carries its caller's credentials, and nothing else ever shows them."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from codemode import Engine, McpCaller, tool
from tests.harness.engine import engine, value_of, waiting
from tests.harness.mcp_servers import free_port, listening, servers
from tests.harness.processes import PROJECT

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SCRIPT = str(PROJECT / "tests" / "mcp" / "user_server.py")
SECRET = "sk-ada-3f9a77c2e1"
WHO = "return (await MCP.users.whoami()).content[0].text"


def of_callers(caller: McpCaller | None, server: str) -> dict[str, str] | str | None:
    assert server == "users"
    return None if caller is None else {"USER_KEY": f"sk-{caller.session}-3f9a77c2e1"}


def stdio() -> dict[str, object]:
    return servers(users={"command": sys.executable, "args": [SCRIPT]})


async def test_each_caller_of_a_command_has_a_process_with_their_variables_and_keeps_it() -> None:
    async with engine((), mcp=stdio(), credentials=of_callers) as made:
        ada = [value_of(await made.exec(WHO, session="ada")) for _ in range(2)]
        bob = value_of(await made.exec(WHO, session="bob"))
    assert ada[0] == ada[1]
    assert ada[0] != bob
    assert all(text.endswith("has [secret]") for text in (*ada, bob))


async def test_each_caller_over_http_sends_their_own_header_and_a_token_is_a_bearer_token() -> None:
    asked: list[McpCaller | None] = []

    async def credentials(caller: McpCaller | None, server: str) -> str | dict[str, str]:
        asked.append(caller)
        if caller is None:
            return {"authorization": "Bearer list"}
        return "short" if caller.session == "ada" else {"Authorization": "Basic b"}

    port = free_port()
    given = servers(users={"url": f"http://127.0.0.1:{port}/mcp", "headers": {"authorization": "Basic x"}})
    async with (
        listening([sys.executable, SCRIPT, str(port)], port),
        engine((), mcp=given, credentials=credentials) as made,
    ):
        ada = value_of(await made.exec(WHO, session="ada", agent="main"))
        bob = value_of(await made.exec(WHO, session="bob"))
    assert ada.endswith("has [secret]")  # the whole header is one too, however short its token
    assert bob.endswith("has [secret]")
    assert asked[0] is None
    assert asked[1] == McpCaller(agent="main", session="ada")


async def test_a_host_without_credentials_for_a_caller_fails_that_call_and_says_nothing_of_its_own() -> None:
    def broken(caller: McpCaller | None, server: str) -> dict[str, str]:
        if caller is None:
            return {}
        raise RuntimeError(f"vault says {SECRET}")

    async with engine((), mcp=stdio(), credentials=broken) as made:
        message = value_of(await made.exec("return await MCP.users.whoami().catch((e) => e.message)"))
    assert message == "there are no credentials for users: the host could not give any"


async def test_a_search_of_results_snapshot_logs_traces_and_worker_memory_finds_no_secret(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    store = tmp_path / "runs.sqlite"
    program = """
    const said = (await MCP.users.whoami()).content[0].text;
    const refused = await MCP.users.refuse().catch((e) => e);
    text(said + refused.message + JSON.stringify(refused));
    await tools.ok();
    return [said, refused.message, await MCP.users.whoami()];
    """

    @tool(requires_approval=True)
    async def ok() -> str:
        """Waits for a person."""
        return "ok"

    async with Engine([ok], mcp=stdio(), credentials=of_callers, store=store, redact=False) as made:
        events = made.events()
        first = waiting(await made.exec(program, session="ada"), "approval")
        searched = sum(_has(pid, SECRET.encode()) for pid in _workers())
        approval = first.pending_tool_calls[0].approval
        assert approval is not None
        await made.approve(first.run_id, approval.id, session="ada")
        last = await made.wait(first.run_id, session="ada")
        events.close()
        told = [event.to_dict() async for event in events]
        trajectory = await made.trajectory(first.run_id, session="ada")
        everything = json.dumps(
            [first.to_dict(), last.to_dict(), told, str(trajectory), made.health(), made.stats()], default=str
        )
        found = value_of(last)
    assert "[secret]" in found[0]
    assert found[1] == "Error executing tool refuse: not with [secret]"
    assert searched == 0
    assert SECRET not in everything
    assert SECRET not in caplog.text
    assert not _is_in_files(tmp_path)


def _is_in_files(folder: Path) -> bool:
    return any(SECRET.encode() in file.read_bytes() for file in folder.iterdir())


def _workers() -> list[int]:
    """Every process below this one that holds guests: all but the MCP server, which must have the secret."""
    found, queue = list[int](), [os.getpid()]
    while queue:
        children = Path(f"/proc/{queue[0]}/task").glob("*/children")
        below = [int(pid) for file in children for pid in file.read_text().split()]
        queue = [*queue[1:], *below]
        found += below
    return [pid for pid in found if SCRIPT.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _has(pid: int, needle: bytes) -> bool:
    """Whether any readable page of the process has it. A process that may not be looked into is skipped."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text().splitlines()
        with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
            for line in maps:
                span, rights = line.split()[:2]
                start, end = (int(part, 16) for part in span.split("-"))
                if "rw" not in rights or end - start > 1 << 28:
                    continue
                memory.seek(start)
                try:
                    if needle in (memory.read(end - start) or b""):
                        return True
                except (OSError, ValueError):
                    continue
    except (PermissionError, FileNotFoundError, ProcessLookupError):
        return False
    return False
