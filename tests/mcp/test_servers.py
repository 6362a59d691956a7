"""A server made with the SDK's framework, over stdio and HTTP: what a program can do with it, end to end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine
from codemode.executor import AfterToolCall, ApprovalRequest, AuditEvent, BeforeToolCall, Block
from tests.harness.engine import engine, failure_of, statuses, texts, value_of, waiting
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, fast_at, fast_listening, free_port, give, servers

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@asynccontextmanager
async def over(transport: str, **options: Any) -> AsyncGenerator[Engine]:
    if transport == "stdio":
        async with engine((), mcp=servers(fast=fast()), **options) as made:
            yield made
        return
    port = free_port()
    async with fast_listening(port), engine((), mcp=servers(fast=fast_at(port)), **options) as made:
        yield made


both = pytest.mark.parametrize("transport", ["stdio", "http"])


@both
async def test_tools_give_their_structured_result_where_they_declare_one(transport: str) -> None:
    async with over(transport) as made:
        total, plain, point = value_of(
            await made.exec(
                "return await Promise.all([MCP.fast.add({ a: 2, b: 3 }), MCP.fast.plain({ text: 'hi' }),"
                " MCP.fast.makePoint({ x: 1, y: 2, tags: ['a'] })])"
            )
        )
    assert total == {"result": 5}
    assert plain == {"content": [{"type": "text", "text": "hi"}]}
    assert point == {"x": 1.0, "y": 2.0, "kind": "marked"}


@both
async def test_resources_and_prompts_are_there(transport: str) -> None:
    program = """
    const { resources: r, prompts: p } = MCP.fast;
    const { resources } = await r.list();
    const { contents } = await r.read({ uri: resources[0].uri });
    const { prompts } = await p.list();
    const { messages } = await p.get({ name: prompts[0].name, arguments: { name: "Ada" } });
    return [resources[0].uri, contents[0].text, prompts[0].name, messages[0].content.text];
    """
    async with over(transport) as made:
        value = value_of(await made.exec(program))
    assert value == ["memo://one", "the first memo", "greet", "Say hello to Ada."]


async def test_a_result_with_is_error_is_a_rejection_in_the_servers_words() -> None:
    program = """
    try { await MCP.fast.fail({ message: "no luck" }) }
    catch (e) { return [e.name, e.code, e.message] }
    """
    async with over("stdio") as made:
        caught = value_of(await made.exec(program))
        uncaught = await made.exec("await MCP.fast.fail({ message: 'x' })")
        text = failure_of(uncaught, "nested_tool_failed").error
    assert caught == ["McpError", "mcp_error", "Error executing tool fail: no luck"]
    assert "Error executing tool fail: x" in text


async def test_a_servers_own_words_cross_with_their_paths_and_ours_do_not(tmp_path: Path) -> None:
    gone = tmp_path / "no" / "such" / "server"
    told = "return await MCP.fast.fail({ message: 'Allowed: /srv/data' }).catch((e) => e.message)"
    async with engine([], mcp=servers(fast=fast(), gone={"command": str(gone)})) as made:
        assert value_of(await made.exec(told)) == "Error executing tool fail: Allowed: /srv/data"
        (found,) = [server for server in made.health().mcp if server["server"] == "gone"]
    assert str(gone) in found["reason"]  # for operators


async def test_wrong_arguments_are_refused_before_the_server_hears_of_them() -> None:
    async with over("stdio") as made:
        (code, text), (other, told) = value_of(
            await made.exec(
                "const f = (p) => p.catch((e) => [e.code, e.message]);"
                "return [await f(MCP.fast.add({ a: 'x' })), await f(MCP.fast.add(1))]"
            )
        )
    assert (code, other) == ("invalid_arguments", "invalid_arguments")
    assert '"a" must be integer, not string' in text
    assert "takes one object, not number" in told


async def test_mcp_tools_are_in_no_view_of_tools_but_searches_find_them() -> None:
    program = """
    const refused = await tools.call("mcp:fast:add", { a: 1 }).catch((e) => e.code);
    const described = await tools.describe("mcp:fast:add").catch((e) => e.code);
    const found = await tools.search("add numbers");
    return [ALL_TOOLS, found[0].call, Object.keys(tools).includes("add"), refused, described];
    """
    async with over("stdio") as made:
        assert value_of(await made.exec(program)) == [
            [], "MCP.fast.add({ a })", False, "unknown_tool", "unknown_tool",
        ]  # fmt: skip


async def test_declarations_are_read_without_a_call() -> None:
    program = """
    const { files } = await API.list();
    const { content } = await API.read("mcp/fast.d.ts");
    const one = await MCP.fast.$api("add", { schema: true });
    const bad = await Promise.all(["mcp/../mcp/fast.d.ts", "./mcp/fast.d.ts", "mcp/none.d.ts", "/etc/passwd"]
      .map((path) => API.read(path).catch((e) => e.name)));
    return [files.map((f) => f.path), content.includes("function makePoint(input: {"),
            one.schemas.add.input.required, one.header, (await MCP.$api()).servers,
            bad, (await API.list("nothing/")).files, await MCP.fast.$api("nope").catch((e) => e.name)];
    """
    async with over("stdio") as made:
        result = await made.exec(program)
        (files, has_point, required, header, all_servers, bad, nothing, unknown) = value_of(result)
        ledger = statuses(result)
    assert ledger == []
    assert files == ["mcp/index.d.ts", "mcp/fast.d.ts"]
    assert has_point
    assert required == ["a"]
    assert header == (
        "  /**\n   * Adds two numbers.\n"
        "   * @param input.b - The other one. *\\/ return 1 @default 1\n   */\n"
        "  function add(input: { a: number; b?: number }): Promise<{ result: number }>;\n"
    )
    assert all_servers == [{"name": "fast", "server": "fast", "tools": 10, "file": "mcp/fast.d.ts"}]
    assert bad == ["TypeError"] * 4
    assert nothing == []
    assert unknown == "TypeError"


async def test_hooks_policy_audit_and_the_ledger_see_the_real_tool() -> None:
    class Hook:
        def before_tool_call(self, event: BeforeToolCall) -> Block | None:
            seen.append((event.tool, event.tool_id))
            return Block("not today") if event.tool == "plain" else None

        def after_tool_call(self, event: AfterToolCall) -> None:
            seen.append(("after", event.tool_id))

    seen: list[tuple[str, str]] = []
    audited: list[str | None] = []

    def note(event: AuditEvent) -> None:
        audited.append(event.tool_id)

    async with over(
        "stdio",
        hooks=Hook(),
        policy={"deny": ["make_point"]},
        audit=note,
    ) as made:
        result = await made.exec(
            "await MCP.fast.add({ a: 1 });"
            "const e = await MCP.fast.plain({ text: '' }).catch((e) => e.code);"
            "const { content } = await API.read('mcp/fast.d.ts');"
            "return [e, 'makePoint' in MCP.fast, content.includes('makePoint')]"
        )
        found = value_of(result)
        ledger = statuses(result)
    assert found == ["denied", False, False]
    assert ledger == [("add", "ok"), ("plain", "denied")]
    assert [entry for entry in seen if entry[1]] == [
        ("add", "mcp:fast:add"),
        ("after", "mcp:fast:add"),
        ("plain", "mcp:fast:plain"),
    ]
    assert audited == ["mcp:fast:add", "mcp:fast:plain"]


@both
async def test_progress_arrives_as_updates_of_the_call(transport: str) -> None:
    async with over(transport) as made:
        events = made.events()
        value_of(await made.exec("return await MCP.fast.count({ to: 3 })"))
        events.close()
        found = [event.progress async for event in events if event.type == "call_update"]
    assert found == [{"progress": n, "total": 3, "message": f"step {n}"} for n in (1, 2, 3)]


@both
async def test_a_question_is_an_approval_and_the_call_goes_on_with_the_answer(transport: str) -> None:
    async with over(transport) as made:
        first = waiting(await made.exec("return await MCP.fast.delete2({ what: 'it' })"), "approval")
        approval = first.pending_tool_calls[0].approval
        assert approval is not None
        assert await made.approve(first.run_id, approval.id)
        yes = value_of(await made.wait(first.run_id))
        second = waiting(await made.exec("return await MCP.fast.delete2({ what: 'it' })"), "approval")
        other = second.pending_tool_calls[0].approval
        assert other is not None
        assert other.id != approval.id
        assert await made.deny(second.run_id, other.id)
        summary = approval.summary
        no = value_of(await made.wait(second.run_id))
    assert summary == "MCP server fast asks: Delete it?"
    assert yes == {"result": "it: accept"}
    assert no == {"result": "it: decline"}


async def test_the_hosts_own_handler_is_asked_first() -> None:
    asked: list[ApprovalRequest] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    async with over("stdio", approve=approve) as made:
        value = value_of(await made.exec("return await MCP.fast.delete2({ what: 'all' })"))
    assert value == {"result": "all: accept"}
    assert [(one.tool, one.tool_id, one.arguments["message"]) for one in asked] == [
        ("delete", "mcp:fast:delete", "Delete all?")
    ]


@both
async def test_tools_that_a_server_adds_are_there_for_the_next_run_and_not_for_this_one(
    transport: str,
) -> None:
    async with over(transport) as made:
        program = "await MCP.fast.grow({ name: 'sprout' }); return 'sprout' in MCP.fast"
        during = value_of(await made.exec(program))
        await until(lambda: any(one["tools"] == 15 for one in made.health()["mcp"]))
        assert during is False
        assert value_of(await made.exec("return (await MCP.fast.sprout()).content[0].text")) == "sprout"


async def test_filters_choose_by_name_and_exclusion_wins() -> None:
    chosen = fast(allow=["ad*", "FAIL", "plain"], exclude=["pl*", "prompts/*"])
    async with engine((), mcp=servers(fast=chosen)) as made:
        value = value_of(await made.exec("return Object.keys(MCP.fast)"))
    assert value == ["add", "fail", "resources", "$api"]


async def test_a_lazy_server_is_started_by_the_first_run() -> None:
    async with engine((), mcp=servers(fast=fast(connect="lazy"))) as made:
        before = made.health()["mcp"][0]["state"]
        value = value_of(await made.exec("return await MCP.fast.add({ a: 1 })"))
        assert before == "not connected yet"
        assert value == {"result": 2}
        assert made.health()["mcp"][0]["state"] == "connected"


async def test_a_child_gets_the_environment_it_was_given_and_no_secrets_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CODEMODE_TEST_SECRET", "hidden")
    monkeypatch.setenv("CODEMODE_TEST_TOKEN", "t0ken")
    given = fast(env={"ITS_TOKEN": "${CODEMODE_TEST_TOKEN}"})
    async with engine((), mcp=servers(fast=given)) as made:
        names = value_of(await made.exec("return (await MCP.fast.environment()).content[0].text.split(' ')"))
    assert "ITS_TOKEN" in names
    assert not {"CODEMODE_TEST_SECRET", "CODEMODE_TEST_TOKEN"} & set(names)


async def test_calls_to_one_server_run_at_once(tmp_path: Path) -> None:
    """The second call answers the first: one after the other would never end."""
    path = tmp_path / "answer"
    async with over("stdio") as made:
        leg = asyncio.create_task(
            made.exec(
                f"const held = MCP.fast.hold({{ path: {str(path)!r} }});"
                "text(await MCP.fast.add({ a: 1 }));"
                "return (await held).content[0].text"
            )
        )
        await until(lambda: (tmp_path / "answer.asked").exists())
        give(path, "held")
        result = await leg
        assert (value_of(result), texts(result)) == ("held", ['{"result":2}'])


async def test_no_more_calls_reach_a_server_than_it_may_have_at_once(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    paths = json.dumps([str(first), str(second)])
    async with engine((), mcp=servers(fast=fast(concurrency=1))) as made:
        program = f"return await Promise.all({paths}.map((path) => MCP.fast.hold({{ path }})))"
        leg = asyncio.create_task(made.exec(program))
        await until((tmp_path / "first.asked").exists)
        early = (tmp_path / "second.asked").exists()
        first.touch()
        await until((tmp_path / "second.asked").exists)
        second.touch()
        assert (early, len(value_of(await leg))) == (False, 2)
