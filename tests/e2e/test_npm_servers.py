"""The reference servers that others wrote, from npm: everything, filesystem and memory; stdio and HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codemode.executor import ApprovalRequest
from tests.e2e.npm_servers import server_script
from tests.harness.engine import engine, value_of, waiting
from tests.harness.grammar import problems
from tests.harness.mcp_servers import free_port, listening, servers

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def stdio(name: str, *args: str, **options: Any) -> dict[str, Any]:
    node, *script = server_script(name)
    return {"command": node, "args": [*script, *args], **options}


EVERYTHING = """
const weather = await MCP.everything.getStructuredContent({ location: "Chicago" });
const sum = await MCP.everything.getSum({ a: 20, b: 22 });
const { resources } = await MCP.everything.resources.list();
const { contents } = await MCP.everything.resources.read({ uri: resources[0].uri });
const { prompts } = await MCP.everything.prompts.list();
const { messages } = await MCP.everything.prompts.get({ name: "simple-prompt" });
return [Object.keys(weather).sort(), sum.content[0].text, contents[0].uri === resources[0].uri,
        prompts.map((p) => p.name).includes("simple-prompt"), messages[0].role];
"""
EVERYTHING_GIVES = [
    ["conditions", "humidity", "temperature"],
    "The sum of 20 and 22 is 42.",
    True,
    True,
    "user",
]


async def test_everything_over_stdio_works_and_its_declarations_parse() -> None:
    given = servers(everything=stdio("everything", "stdio"))
    async with engine((), mcp=given) as made:
        found = value_of(await made.exec(EVERYTHING))
        files = value_of(
            await made.exec(
                "const { files } = await API.list();"
                "return await Promise.all(files.map(async (f) => (await API.read(f.path)).content))"
            )
        )
        parsed = [problems(text) for text in files]
        declared = files[1]
    assert found == EVERYTHING_GIVES
    assert parsed == [[], []]
    assert 'getAnnotatedMessage(input: { messageType: "error" | "success" | "debug";' in declared
    assert "* @param input.messageType - Type of message" in declared


async def test_everything_over_http_works() -> None:
    port = free_port()
    given = servers(everything={"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
    command = [*server_script("everything"), "streamableHttp"]
    async with listening(command, port, PORT=str(port)), engine((), mcp=given) as made:
        assert value_of(await made.exec(EVERYTHING)) == EVERYTHING_GIVES


async def test_progress_of_everything_arrives_while_it_works() -> None:
    given = servers(everything=stdio("everything", "stdio"))
    async with engine((), mcp=given) as made:
        events = made.events()
        program = "return await MCP.everything.triggerLongRunningOperation({ duration: 0.2, steps: 2 })"
        value_of(await made.exec(program))
        events.close()
        assert [event.progress["progress"] async for event in events if event.type == "call_update"] == [1, 2]


def yes(request: ApprovalRequest) -> bool:
    return True


async def test_an_elicitation_that_needs_more_than_a_yes_is_declined() -> None:
    given = servers(everything=stdio("everything", "stdio"))
    async with engine((), mcp=given, approve=yes) as made:
        value = value_of(await made.exec("return await MCP.everything.triggerElicitationRequest({})"))
    assert "declined" in value["content"][0]["text"]


async def test_a_url_of_everything_is_shown_as_an_approval() -> None:
    given = servers(everything=stdio("everything", "stdio"))
    program = """
    const ask = { url: "https://example.com/pay", message: "Pay?" };
    return await MCP.everything.triggerUrlElicitation(ask);
    """
    async with engine((), mcp=given) as made:
        first = waiting(await made.exec(program), "approval")
        approval = first.pending_tool_calls[0].approval
        assert approval is not None
        assert await made.approve(first.run_id, approval.id)
        summary = approval.summary
        answer = value_of(await made.wait(first.run_id))
    assert summary == "MCP server everything asks: Pay? (https://example.com/pay)"
    assert '"action": "accept"' in str(answer) or "accept" in str(answer)


async def test_filesystem_reads_what_it_may_and_refuses_what_it_may_not(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("remember the milk")
    given = servers(files=stdio("filesystem", str(tmp_path)))
    program = """
    const [root] = (await MCP.files.listAllowedDirectories()).content.split("\\n").slice(1);
    const { content } = await MCP.files.readTextFile({ path: root + "/note.txt" });
    const refused = await MCP.files.readTextFile({ path: "/etc/hostname" }).catch((e) => [e.code, e.message]);
    return [content, refused];
    """
    async with engine((), mcp=given) as made:
        content, (code, message) = value_of(await made.exec(program))
    assert content == "remember the milk"
    assert code == "mcp_error"
    assert message.startswith("Access denied")


async def test_memory_keeps_what_one_program_stores_for_the_next(tmp_path: Path) -> None:
    given = servers(memory=stdio("memory", env={"MEMORY_FILE_PATH": str(tmp_path / "memory.jsonl")}))
    store = """
    const entities = [{ name: "Ada", entityType: "person", observations: ["wrote the first program"] }];
    return await MCP.memory.createEntities({ entities });
    """
    async with engine((), mcp=given) as made:
        value_of(await made.exec(store))
        value = value_of(await made.exec("return (await MCP.memory.searchNodes({ query: 'Ada' })).entities"))
    assert value == [{"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}]


async def test_a_configuration_file_of_another_host_is_used_as_it_is(tmp_path: Path) -> None:
    node, *script = server_script("memory")
    file = tmp_path / "host.json"
    known = {"command": node, "args": script, "timeout": 60, "autoApprove": []}
    off = {"command": "no-such-command", "disabled": True}
    file.write_text(json.dumps({"theme": "dark", "mcpServers": {"know-how": known, "off": off}}))
    async with engine((), mcp=file) as made:
        value = value_of(await made.exec("return [Object.keys(MCP), 'readGraph' in MCP.knowHow]"))
    assert value == [["$api", "knowHow"], True]
