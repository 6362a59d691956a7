"""FastMCP's own code mode, with this engine in the slot of its sandbox, asked by FastMCP's own client."""

from __future__ import annotations

import asyncio

import pytest
from fastmcp import Client, FastMCP
from fastmcp.exceptions import ToolError
from mcp.types import TextContent

from codemode.adapters.fastmcp import CodemodeSandbox, code_mode

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def shop(sandbox: CodemodeSandbox) -> FastMCP:
    server = FastMCP("shop", transforms=[code_mode(sandbox)])

    @server.tool
    def price(item: str) -> int:  # pyright: ignore[reportUnusedFunction] - registered
        """What an item costs."""
        if item == "moon":
            raise ToolError("not for sale")
        return len(item)

    return server


async def execute(code: str) -> object:
    async with CodemodeSandbox() as sandbox, Client(shop(sandbox)) as client:
        result = await client.call_tool("execute", {"code": code})
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


async def test_a_program_calls_tools_of_the_server_side_by_side_and_returns_a_value() -> None:
    program = """
    const found = await Promise.all(["tea", "bread"].map((item) => call_tool("price", { item })));
    return found.map(({ result }) => result * 2);
    """
    assert await execute(program) == "[6,10]"


async def test_a_failed_call_is_thrown_and_can_be_caught() -> None:
    program = 'return await call_tool("price", { item: "moon" }).catch((e) => e.message)'
    assert await execute(program) == "call_tool('price') failed: not for sale"


async def test_a_program_that_fails_is_an_error_that_says_where() -> None:
    with pytest.raises(ToolError, match=r"^ReferenceError: nothing_here is not defined \(1:8\)"):
        await execute("return nothing_here // gone")


async def test_the_description_speaks_of_javascript() -> None:
    async with CodemodeSandbox() as sandbox, Client(shop(sandbox)) as client:
        tools = {tool.name: tool.description for tool in await client.list_tools()}
    assert sorted(tools) == ["execute", "get_schema", "search"]
    assert "JavaScript" in (tools["execute"] or "")


async def test_programs_of_two_callers_get_their_own_functions_and_inputs() -> None:
    async with CodemodeSandbox() as sandbox:

        async def one(who: str) -> object:
            return await sandbox.run(
                "return [who, await whoami()]",
                inputs={"who": who},
                external_functions={"whoami": lambda: who},
            )

        assert await asyncio.gather(one("ada"), one("bob")) == [["ada", "ada"], ["bob", "bob"]]


async def test_tools_and_names_that_cannot_be_are_refused() -> None:
    with pytest.raises(TypeError, match="give none"):
        CodemodeSandbox(tools=[])
    async with CodemodeSandbox() as sandbox:
        with pytest.raises(ValueError, match="no name for a program"):
            await sandbox.run("return 1", inputs={"a;b": 1})
