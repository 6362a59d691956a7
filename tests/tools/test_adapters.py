"""`as_tool`: the tools people already have."""

from typing import Any

import pytest

from codemode.tools import CallContext, Tool, ToolDefinitionError, as_tool, as_tools, tool
from tests.harness.processes import modules_after

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def weather(city: str) -> dict[str, str]:
    """Weather of a city."""
    return {"city": city, "sky": "clear"}


async def later(**arguments: Any) -> Any:
    return arguments


async def run(made: Tool, **arguments: Any) -> Any:
    return await made.run(arguments, CallContext(sender="ada"))


def test_a_tool_is_itself() -> None:
    made = tool(weather)

    assert as_tool(made) is made


async def test_a_plain_function_is_read_like_a_decorated_one() -> None:
    made = as_tool(weather)

    assert (made.name, made.description) == ("weather", "Weather of a city.")
    assert await run(made, city="Rome") == {"city": "Rome", "sky": "clear"}


@pytest.mark.parametrize(
    "declared",
    [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Now.", "parameters": SCHEMA},
        },
        {"type": "function", "name": "get_weather", "description": "Now.", "parameters": SCHEMA},
        {"name": "get_weather", "description": "Now.", "input_schema": SCHEMA},
        {"name": "get_weather", "description": "Now.", "inputSchema": SCHEMA},
    ],
    ids=["openai-chat", "openai-responses", "anthropic", "mcp"],
)
async def test_a_providers_dict_with_its_callable_is_a_tool(declared: dict[str, Any]) -> None:
    for made in (as_tool(declared, run=weather), as_tool((declared, later))):
        assert (made.name, made.description, made.parameters) == ("get_weather", "Now.", SCHEMA)
    assert (await run(as_tool(declared, run=weather), city="Rome"))["city"] == "Rome"
    assert await run(as_tool((declared, later)), city="Rome") == {"city": "Rome"}


async def test_the_callable_of_a_dict_may_ask_for_the_context() -> None:
    async def who(city: str, context: CallContext) -> str:
        return f"{context.sender} in {city}"

    assert await run(as_tool({"name": "who", "input_schema": SCHEMA}, run=who), city="Rome") == "ada in Rome"


def test_a_dict_without_its_callable_is_refused() -> None:
    with pytest.raises(ToolDefinitionError, match="needs its callable"):
        as_tool({"name": "get_weather", "input_schema": SCHEMA})


@pytest.mark.parametrize("found", [7, "text", None, dict, {"description": "no name"}])
def test_what_is_no_tool_is_refused(found: Any) -> None:
    with pytest.raises(ToolDefinitionError):
        as_tool(found)


def test_many_keep_their_order() -> None:
    assert [made.name for made in as_tools([weather, tool(name="b")(later)])] == ["weather", "b"]


def test_adapting_imports_no_framework() -> None:
    loaded = modules_after("from codemode.tools import as_tool; as_tool(lambda x: x)")
    assert loaded & {"pydantic", "langchain_core", "pydantic_ai", "jsonschema_rs"} == set()


async def test_a_langchain_tool_is_a_tool() -> None:
    langchain = pytest.importorskip("langchain_core.tools", reason="langchain-core is not installed")

    @langchain.tool
    def shout(text: str) -> str:
        """Says it loudly."""
        return text.upper()

    made = as_tool(shout)

    assert (made.name, made.description) == ("shout", "Says it loudly.")
    assert made.parameters["required"] == ["text"]
    assert await run(made, text="hi") == "HI"


async def test_a_pydantic_ai_tool_is_a_tool() -> None:
    pydantic_ai = pytest.importorskip("pydantic_ai", reason="pydantic-ai is not installed")

    async def shout(text: str) -> str:
        """Says it loudly."""
        return text.upper()

    made = as_tool(pydantic_ai.Tool(shout, requires_approval=True))

    assert (made.name, made.description, made.hints.requires_approval) == ("shout", "Says it loudly.", True)
    assert await run(made, text="hi") == "HI"


async def test_pydantic_models_go_in_and_come_out() -> None:
    pydantic = pytest.importorskip("pydantic", reason="pydantic is not installed")
    model = pydantic.create_model("Order", item=(str, ...), count=(int, 1))

    async def double(order: Any) -> Any:
        return model(item=order.item, count=2 * order.count)

    double.__annotations__["order"] = model
    made = as_tool(double)

    assert made.parameters["properties"]["order"]["properties"]["count"]["type"] == "integer"
    assert (await run(made, order={"item": "tea", "count": 2})).count == 4
