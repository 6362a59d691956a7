"""`tool`: schemas from hints and docstrings, arguments in the function's own types, functions kept."""

import contextvars
import dataclasses
import threading
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest

from codemode.config import ConfigError
from codemode.tools import CallContext, InvalidArguments, Tool, ToolDefinitionError, ToolHints, tool

REQUEST_ID: contextvars.ContextVar[str] = contextvars.ContextVar("request_id", default="none")


class Point(msgspec.Struct):
    x: int
    y: int = 0


@dataclasses.dataclass
class Label:
    text: str


class Size(TypedDict):
    width: int


async def run(made: Tool, **arguments: Any) -> Any:
    return await made.run(arguments, CallContext())


async def nothing(arguments: dict[str, Any], context: CallContext) -> None:
    return None


def test_the_schema_comes_from_the_hints() -> None:
    @tool
    async def search(query: str, limit: int = 8, kind: Literal["web", "news"] = "web") -> list[str]:
        return [query] * limit

    assert search.parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "limit": {"type": "integer", "default": 8},
            "kind": {"enum": ["news", "web"], "default": "web"},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert search.returns == {"type": "array", "items": {"type": "string"}}


def test_the_id_of_a_plain_tool_is_core() -> None:
    @tool
    async def echo(value: dict[str, Any]) -> dict[str, Any]:
        return value

    assert (echo.name, echo.id) == ("echo", "openclaw:core:echo")


def test_description_and_parameter_texts_come_from_the_docstring() -> None:
    @tool
    def move(source: str, target: str) -> None:
        """Moves a file.

        Args:
            source: where it is
            target (str): where it goes,
                also across disks
        """

    assert move.description == "Moves a file."
    assert move.parameters["properties"]["source"]["description"] == "where it is"
    assert move.parameters["properties"]["target"]["description"] == "where it goes, also across disks"


def test_an_annotated_text_describes_its_parameter() -> None:
    @tool
    def wait(seconds: Annotated[float, "how long"]) -> None: ...

    assert wait.parameters["properties"]["seconds"] == {"type": "number", "description": "how long"}


def test_explicit_words_and_hints_win_over_the_function() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    @tool(
        name="count-up",
        description="Counts.",
        parameters=schema,
        source="plugin",
        owner="math",
        label="Counter",
        read_only=True,
        idempotent=True,
        requires_approval=True,
        timeout_ms=50,
        concurrency=2,
    )
    def count(n: int) -> int:
        return n + 1

    assert (count.id, count.description, count.label) == ("plugin:math:count-up", "Counts.", "Counter")
    assert count.parameters == schema
    assert count.hints == ToolHints(True, False, True, True, 50, 2)


def test_calling_the_decorated_function_is_calling_the_function() -> None:
    @tool
    def add(left: int, right: int = 1) -> int:
        return left + right

    assert add(2) == 3


async def test_an_async_function_stays_awaitable() -> None:
    @tool(read_only=True)
    async def double(number: int) -> int:
        return 2 * number

    assert await double(4) == 8


async def test_arguments_arrive_as_the_types_the_function_names() -> None:
    @tool
    def draw(point: Point, label: Label, size: Size, tags: set[str]) -> dict[str, Any]:
        return {"x": point.x, "text": label.text, "width": size["width"], "tags": sorted(tags)}

    drawn = await run(draw, point={"x": 3}, label={"text": "a"}, size={"width": 9}, tags=["b", "a"])

    assert drawn == {"x": 3, "text": "a", "width": 9, "tags": ["a", "b"]}


async def test_a_value_of_the_wrong_type_is_refused_before_the_function_runs() -> None:
    calls: list[Point] = []

    @tool
    def draw(point: Point) -> None:
        calls.append(point)

    with pytest.raises(InvalidArguments, match='parameter "point": Expected `int`, got `str`'):
        await run(draw, point={"x": "three"})
    assert calls == []


def test_types_of_arguments_share_their_definitions() -> None:
    @tool
    def line(start: Point, end: Point) -> None: ...

    assert line.parameters["properties"]["end"] == {"$ref": "#/$defs/Point"}
    assert list(line.parameters["$defs"]) == ["Point"]


async def test_annotations_may_name_classes_of_the_enclosing_function() -> None:
    class Local(msgspec.Struct):
        name: str

    @tool
    def greet(who: "Local") -> str:
        return who.name

    assert await run(greet, who={"name": "Ada"}) == "Ada"


async def test_the_context_is_injected_and_not_in_the_schema() -> None:
    @tool
    async def who(context: CallContext, greeting: str = "hi") -> str:
        return f"{greeting} {context.sender}"

    assert list(who.parameters["properties"]) == ["greeting"]
    assert await who.run({}, CallContext(sender="ada")) == "hi ada"


async def test_a_sync_function_runs_in_another_thread_with_the_callers_context_variables() -> None:
    @tool
    def look() -> list[str]:
        return [REQUEST_ID.get(), str(threading.get_ident())]

    REQUEST_ID.set("r-7")
    request_id, thread = await look.run({}, CallContext())

    assert request_id == "r-7"
    assert thread != str(threading.get_ident())


async def test_keyword_parameters_accept_anything() -> None:
    @tool
    def collect(first: int, **rest: Any) -> dict[str, Any]:
        return {"first": first, **rest}

    assert collect.parameters["additionalProperties"] is True
    assert await run(collect, first=1, other=2) == {"first": 1, "other": 2}


async def test_positional_only_parameters_work() -> None:
    @tool
    def divide(left: int, right: int = 2, /) -> float:
        return left / right

    assert await run(divide, left=8) == 4
    assert await run(divide, left=8, right=4) == 2


async def test_a_sync_function_that_returns_an_awaitable_is_awaited() -> None:
    async def later(value: int) -> int:
        return value

    @tool
    def start(value: int) -> Any:
        return later(value)

    assert await run(start, value=5) == 5


async def test_partial_functions_and_callable_objects_are_tools() -> None:
    class Greeter:
        async def __call__(self, name: str) -> str:
            return f"hello {name}"

    def power(base: int, exponent: int) -> int:
        return base**exponent

    assert await run(tool(name="greet")(Greeter()), name="Ada") == "hello Ada"
    assert await run(tool(name="square")(partial(power, exponent=2)), base=5) == 25


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: tool(name="")(nothing), "a name has 1 to 256 characters"),
        (lambda: tool(name="x" * 257)(nothing), "a name has 1 to 256 characters"),
        (lambda: tool(owner="a:b")(nothing), "no colon"),
        (lambda: tool(name="\ud800")(nothing), "valid Unicode"),
        (lambda: tool(parameters={"properties": object()})(nothing), "JSON schema"),
        (lambda: tool(timeout_ms=0)(nothing), "at least 1"),
    ],
)
def test_a_tool_that_cannot_be_offered_is_refused(make: Callable[[], Tool], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        make()


def test_star_arguments_are_refused() -> None:
    def many(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(ToolDefinitionError, match=r"\*numbers has no place"):
        tool(many)


def test_a_type_without_a_schema_is_refused_with_the_name_of_the_tool() -> None:
    def lock(handle: threading.Thread) -> None: ...

    with pytest.raises(ToolDefinitionError, match='tool "lock": a type hint has no JSON schema'):
        tool(lock)


def test_a_tool_keeps_its_schema_when_the_original_is_changed() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    made = Tool("fixed", "", schema, nothing)

    schema["properties"]["late"] = {}

    assert made.parameters == {"type": "object", "properties": {}}


def test_a_function_can_be_made_a_tool_in_one_call_with_words_and_hints() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    made = tool(add, name="plus", description="Adds.", read_only=True, owner="maths", source="plugin")

    assert (made.id, made.description, made.hints.read_only) == ("plugin:maths:plus", "Adds.", True)
    assert made(1, 2) == 3
