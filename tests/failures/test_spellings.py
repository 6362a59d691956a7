"""Every spelling is met: errors that hold the line that works, as a model reads them."""

# ruff: noqa: E501 - a program and its text read best side by side

from typing import Any

import pytest

from codemode import ToolError, tool
from codemode.tools import Tool
from tests.harness.engine import engine, failure_of, value_of
from tests.harness.tool_samples import make, takes


@tool
async def fire(n: int) -> Any:
    """Fires."""
    return n


SEARCH = make("search", "Searches the web.", parameters=takes("query"))
DELETE = make("delete", "Deletes a file.", source="plugin", owner="files", parameters=takes("path"))
GEO = make("geo-lookup", "Finds a place.", parameters=takes("place"))
TICKETS = make("list_tickets", "Lists tickets.", source="mcp", owner="helpdesk", parameters=takes("page"))
TOOLS = (fire, SEARCH, DELETE, GEO, TICKETS)


async def last_line(program: str) -> str:
    async with engine(TOOLS) as made:
        return failure_of(await made.exec(program), "guest_error").error.splitlines()[-1]


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("return search('x')", 'Tools are called through `tools`: `await tools.search("words")`.'),
        ("return tools.$search('x')", 'There is no `tools.$search`: write `await tools.search("words")`.'),
        ("return catalog.search('x')", 'There is no `catalog` here: write `await tools.search("words")`.'),
        ("return codemode.search('x')", 'There is no `codemode` here: write `await tools.search("words")`.'),
        ("return await codemode.fire({ n: 1 })", "There is no `codemode` here: write `await tools.fire({ n: integer })`."),
        ("return fire({ n: 1 })", "Tools are called through `tools`: `await tools.fire({ n: integer })`."),
        ("return tools.delete({ path: 'x' })", 'There is no `tools.delete`: write `await tools.call("plugin:files:delete", {…})`.'),
        ("return tools['geo-lookup']({ place: 'x' })", 'There is no `tools.geo-lookup`: write `await tools.geo_lookup({…})`.'),
        ("return await tools.search({ query: 'x' })", '`tools.search` searches the tools. The tool named search is called by id: `await tools.call("openclaw:core:search", {…})`.'),
        ("return MCP.helpdesk.list_tickets({})", "There is no `MCP.helpdesk.list_tickets`: write `await MCP.helpdesk.listTickets({…})`."),
        ("return MCP.helpdesk.listTicket({})", "There is no `MCP.helpdesk.listTicket`: write `await MCP.helpdesk.listTickets({…})`."),
    ],
)  # fmt: skip
@pytest.mark.guarantee("every-spelling-is-met")
async def test_a_call_in_another_spelling_is_answered_with_the_line_that_works(
    program: str, line: str
) -> None:
    assert await last_line(program) == line


@pytest.mark.guarantee("every-spelling-is-met")
async def test_a_search_finds_the_tools_of_servers_and_says_how_to_call_them() -> None:
    async with engine(TOOLS) as made:
        hits = value_of(await made.exec("return tools.search('list tickets', { limit: 1 })"))
        listed = value_of(await made.exec("return ALL_TOOLS.map((entry) => entry.name)"))
        unknown = failure_of(
            await made.exec("return tools.describe('mcp:helpdesk:list_tickets')"), "nested_tool_failed"
        )

    assert [(hit["id"], hit["call"]) for hit in hits] == [
        ("mcp:helpdesk:list_tickets", "MCP.helpdesk.listTickets({ page })")
    ]
    assert "list_tickets" not in listed
    assert unknown.error.splitlines()[0].startswith(
        'UnknownTool: No tool "mcp:helpdesk:list_tickets" in tools. MCP tools are called as '
        "MCP.helpdesk.listTickets({ page }); API.list() names the files that declare them."
    )


def described(*tools: Tool) -> str:
    from codemode.catalog import Catalog
    from codemode.surface import describe_exec

    return describe_exec(Catalog(tools))


def test_the_description_names_the_servers_with_what_they_have() -> None:
    read = make("resources/read", source="mcp", owner="helpdesk")
    other = make("navigate", source="mcp", owner="chrome-devtools")
    text = described(fire, TICKETS, read, other)

    assert (
        "- MCP servers: `MCP.chromeDevtools` (chrome-devtools: 1 tool), `MCP.helpdesk` (1 tool, resources). "
        in text
    )
    assert "gives entries with a ready `call`, of MCP tools too;" in text
    assert "MCP" not in described(fire)
    assert "namespaces" not in described(fire)


async def test_a_name_that_cannot_be_written_has_its_call_in_all_tools() -> None:
    async with engine(TOOLS) as made:
        listed = value_of(await made.exec("return ALL_TOOLS.map((entry) => [entry.name, entry.call])"))

    assert listed == [
        ["fire", None],
        ["geo-lookup", "tools.geo_lookup({ place })"],
        ["search", 'tools.call("openclaw:core:search", { query })'],
        ["delete", 'tools.call("plugin:files:delete", { path })'],
    ]


async def test_a_tools_own_error_is_followed_by_what_the_parameter_says_that_it_names() -> None:
    @tool
    async def run_report(report: str) -> None:
        """Runs a report.

        Args:
            report: one of revenue, churn and signups
        """
        raise ToolError("unknown report 'sales'")

    async with engine([run_report]) as made:
        result = failure_of(
            await made.exec("return tools.run_report({ report: 'sales' })"), "nested_tool_failed"
        )

    assert result.error.splitlines() == [
        "ToolError: unknown report 'sales' (1:14)",
        "    return tools.run_report({ report: 'sales' })",
        "                 ^",
        "`report`: one of revenue, churn and signups",
    ]
