"""The exact texts that a model reads where it used to guess, one test for each thing that cost models calls.

The tools are those of the scripted evaluation (bench/models/catalog.py): none of them declares its result.
"""

# ruff: noqa: E501 - what a model reads is shown as it reads it

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bench.models.catalog import World, tools_of
from codemode import Engine
from tests.harness.engine import engine
from tests.harness.mcp_servers import fast, servers

SHAPE = "{ customers: Array<{ id: number, name: string, region: string, spent_cents: number }>, page: number, total_pages: number }"
TAKES = "{ region?: string /* EU or US */, page?: integer >= 1, page_size?: integer 1..20 }"
ABOUT = "Lists customers, 20 a page; total_pages says how many pages there are"


@asynccontextmanager
async def company(**options: Any) -> AsyncGenerator[tuple[Engine, World]]:
    world = World()
    async with engine(tools_of(world), **options) as made:
        yield made, world


async def read(made: Engine, program: str) -> dict[str, Any]:
    """What the model is shown, without what is empty."""
    shown = (await made.exec(program)).for_model()
    return {name: value for name, value in shown.items() if value != []}


async def description(made: Engine, session: str = "next") -> list[str]:
    return (await made.prepare(session=session)).exec_description.splitlines()


@pytest.mark.guarantee("models-read-what-they-need")
async def test_1_what_a_tool_gives_is_told_after_its_first_call() -> None:
    async with company() as (made, _):
        before = await description(made, "first")
        await made.exec("return await tools.list_customers()")
        described = await read(
            made,
            "const d = await tools.describe('list_customers'); return [d.returnsSource, d.returns.required]",
        )
        after = await description(made)

    assert f"list_customers({TAKES}) -> ? // {ABOUT}" in before
    assert f"list_customers({TAKES}) -> ~{SHAPE} // {ABOUT}" in after
    assert "Tools, as tools.name(input) -> result (~ observed in earlier calls):" in after
    assert described["value"] == ["observed", ["customers", "page", "total_pages"]]


async def test_2_an_error_tells_what_the_result_is() -> None:
    async with company() as (made, _):
        shown = await read(
            made, "const customers = await tools.list_customers();\nreturn customers.map((c) => c.id);"
        )

    assert shown["error"] == (
        "TypeError: not a function: `customers` is an object with keys customers, page, total_pages; `map` is not one of them (2:18)\n"
        "    return customers.map((c) => c.id);\n"
        "                     ^"
    )


async def test_3_and_4_a_refusal_and_the_list_of_tools_tell_ranges_forms_names_and_paging() -> None:
    async with company() as (made, _):
        shown = await read(made, "return await tools.list_customers({ page_size: 50 })")
        lines = await description(made)

    assert shown["error"] == (
        'InvalidArguments: list_customers: "page_size": 50 is greater than the maximum of 20. '
        f"Parameters: {TAKES} (1:20)\n"
        "    return await tools.list_customers({ page_size: 50 })\n"
        "                       ^"
    )
    assert (
        "list_issues({ repo: string /* owner/name, as acme/web */ }) -> ? // Lists open issues of a repository"
        in lines
    )
    assert (
        "run_report({ name: string /* One of revenue_monthly, churn_weekly */ }) -> ? // Runs a report"
        in lines
    )


async def test_5_what_was_done_is_told_whether_it_was_awaited_or_something_else_failed() -> None:
    async with company() as (made, world):
        unawaited = await read(made, "tools.send_mail({ to: 'ada@x.org', subject: 'Hi' }); return 1")
        rejected = await read(
            made,
            "return await Promise.all(['bob@x.org', 'nobody'].map((to) => tools.send_mail({ to, subject: 'Hi' })))",
        )

    assert unawaited["notes"] == ["Not awaited, and made all the same: send_mail ×1 ok."]
    assert rejected["notes"] == ["Already done: send_mail ×1 ok, send_mail ×1 error."]
    assert world.sent == ["ada@x.org", "bob@x.org"]


async def test_6_a_program_without_return_is_told_the_line_to_write() -> None:
    only = "Nothing was returned: only `return` gives a value."
    async with company() as (made, _):
        told = [
            await read(made, program)
            for program in ("1 + 1", "(async () => 7)()", "await tools.stock_levels()")
        ]

    assert [one["notes"] for one in told] == [
        [f"{only} Write `return 1 + 1`."],
        [f"{only} Write `return await (async () => 7)()`."],
        [f"{only} Write `return await tools.stock_levels()`."],
    ]


async def test_7_a_thousand_calls_cost_a_model_no_more_than_one() -> None:
    async with company() as (made, _):
        one = await read(made, "await tools.stock_levels(); return 'done'")
        many = await read(made, "for (let i = 0; i < 1000; i++) await tools.stock_levels(); return 'done'")

    assert one == many == {"status": "completed", "value": "done"}


async def test_8_a_long_line_is_clipped_and_the_program_goes_on() -> None:
    async with company() as (made, _):
        shown = await read(made, "console.log('x'.repeat(200_000)); text('after'); return 1")
        large = await read(
            made, "return { rows: Array.from({ length: 9000 }, (_, id) => ({ id, name: 'row ' + id })) }"
        )

    assert shown["value"] == 1
    assert shown["output"][1] == {"type": "text", "text": "after"}
    assert shown["notes"] == [
        "One item of output was too long and was clipped in the middle: it had 200,000 bytes."
    ]
    assert large["error"].startswith(
        "The returned value is 267790 bytes of JSON; with the output, a result may have 64 KiB. "
        "Return less: select fields, slice lists, summarise. What it looks like:\n"
    )


async def test_9_texts_for_people_are_en_us_and_what_was_ignored_is_told() -> None:
    async with company() as (made, _):
        right = await read(
            made,
            "return [(1234.5).toLocaleString('en-US', { style: 'currency', currency: 'USD' }), new Date(0).toLocaleDateString()]",
        )
        german = await read(
            made, "return (1234.5).toLocaleString('de-DE', { style: 'currency', currency: 'EUR' })"
        )
        zone = await read(
            made, "return new Date(0).toLocaleString('en-US', { timeZone: 'America/New_York' })"
        )
        lines = await description(made)

    assert right == {"status": "completed", "value": ["$1,234.50", "1/1/1970"]}
    head = "Ignored, as there is no Intl (texts are en-US, in UTC): "
    assert german["notes"] == [f'{head}locale "de-DE" (toLocaleString of a number).']
    assert (zone["value"], zone["notes"]) == (
        "1/1/1970, 12:00:00 AM",
        [f'{head}timeZone "America/New_York" (toLocaleString of a date).'],
    )
    assert any("There is no Intl: locales are en-US, the time zone is UTC." in line for line in lines)


async def test_10_how_many_calls_may_be_made_at_once_is_told_before_and_after() -> None:
    program = "return (await Promise.all(Array.from({ length: 47 }, () => tools.stock_levels()))).length"
    async with company() as (made, _):
        lines, shown = await description(made), await read(made, program)
    async with company(config={"maxQueuedToolCalls": 100}) as (made, _):
        queued, done = await description(made), await read(made, program)

    assert any("At most 16 calls at once; one more ends the program." in line for line in lines)
    assert shown["error"] == (
        "More than 16 tool calls at once. None of the last batch was started. Make them in chunks:\n"
        "    for (let i = 0; i < items.length; i += 16)\n"
        "      results.push(...await Promise.all(items.slice(i, i + 16).map(async (item) => …)));"
    )
    assert any("At most 16 calls run at once; 100 more wait in line" in line for line in queued)
    assert done["value"] == 47


async def test_11_mcp_servers_are_named_their_tools_found_and_their_files_read_as_text() -> None:
    async with company(mcp=servers(helpdesk=fast())) as (made, _):
        lines = await description(made)
        found = await read(made, "return (await tools.search('add two numbers', { limit: 1 }))[0].call")
        snake = await read(made, "return await MCP.helpdesk.make_point({})")
        text = await read(made, "text(await API.read('mcp/helpdesk.d.ts')); return 1")

    assert (
        "- MCP servers: `MCP.helpdesk` (10 tools, resources, prompts). `await API.list()` gives `{ files: [{ path, bytes, description }] }`, also iterated and indexed as that array; "
        '`await API.read("mcp/<server>.d.ts")` gives `{ path, content, description, bytes }`, which text(v), console and `${v}` show as its content. Call as `await MCP.<server>.<tool>({...})`.'
    ) in lines
    assert found["value"] == "MCP.helpdesk.add({ a })"
    assert (
        snake["error"].splitlines()[-1]
        == "There is no `MCP.helpdesk.make_point`: write `await MCP.helpdesk.makePoint({…})`."
    )
    assert text["output"][0]["text"].startswith(
        '/** MCP server "helpdesk". Call as: await MCP.helpdesk.<tool>({ ... }).'
    )


async def test_12_an_error_tells_whether_to_try_again_and_what_the_parameter_is() -> None:
    async with company() as (made, _):
        down = await read(made, "return await tools.exchange_rate({ pair: 'EURUSD' })")
        wrong = await read(made, "return await tools.list_issues({ repo: 'web' })")
        caught = await read(
            made, "try { await tools.list_issues({ repo: 'x' }) } catch (e) { return [e.code, e.retryable] }"
        )

    assert down["error"].splitlines()[-1] == "The same call may succeed later (`retryable`)."
    assert wrong["error"] == (
        "ToolError: 404 repo not found: web (1:20)\n"
        "    return await tools.list_issues({ repo: 'web' })\n"
        "                       ^\n"
        "`repo`: owner/name, as acme/web"
    )
    assert caught["value"] == ["tool_error", False]


async def test_13_console_names_of_tools_and_what_there_is_not() -> None:
    async with company() as (made, _):
        logged = await read(
            made,
            "console.table([{ a: 1 }]); try { await tools.list_issues({ repo: 'x' }) } catch (e) { console.log(e) } return 1",
        )
        hyphen = await read(made, "return await tools['geo-lookup']({ city: 'Vienna' })")
        entry = await read(made, "return ALL_TOOLS.find((t) => t.name === 'geo-lookup').call")
        deleted = await read(made, "return await tools.delete({ id: 1 })")
        search = await read(made, "return await tools.search({ query: 'x' })")
        exec_tool, lines = (await made.prepare()).visible[0], await description(made)

    assert [item["text"] for item in logged["output"]] == [
        '[{"a":1}]',
        '{"name":"ToolError","message":"404 repo not found: x","code":"tool_error"}',
    ]
    assert (
        hyphen["error"].splitlines()[-1]
        == "There is no `tools.geo-lookup`: write `await tools.geo_lookup({…})`."
    )
    assert entry["value"] == "tools.geo_lookup({ city })"
    assert (
        deleted["error"].splitlines()[-1]
        == 'There is no `tools.delete`: write `await tools.call("openclaw:core:delete", {…})`.'
    )
    assert search["error"].splitlines()[-1] == (
        '`tools.search` searches the tools. The tool named search is called by id: `await tools.call("openclaw:core:search", {…})`.'
    )
    assert not any(word in line for line in lines for word in ("namespaces", "$api", "MCP"))
    assert exec_tool.parameters["properties"]["code"]["description"] == "The program. Give this one."
    assert (
        exec_tool.parameters["properties"]["command"]["description"] == "Another name for code. Leave it out."
    )


async def test_14_the_description_says_what_counts() -> None:
    async with company() as (made, _):
        text = "\n".join(await description(made))

    assert "Only `return` gives a value, never the last expression: end with `return ...`." in text
    assert "Types are stripped, not checked." in text
    assert (
        "- To poll, loop inside one program, with `await new Promise((done) => setTimeout(done, 1000))`."
        in text
    )
    assert "ALL_TOOLS (id, name, description, source of each)" in text


async def test_the_description_of_a_session_is_the_same_bytes_whatever_its_programs_do() -> None:
    async with company() as (made, _):
        before = (await made.prepare(session="one")).exec_description
        for program in (
            "return await tools.list_customers()",
            "return 1 +",
            "return await tools.stock_levels()",
        ):
            await made.exec(program, session="one")
            assert (await made.prepare(session="one")).exec_description == before
