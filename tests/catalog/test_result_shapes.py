"""What an engine learns of results: from few of them, per agent and declaration, steady within a session."""

from typing import Any

import msgspec
import pytest

from codemode import tool
from codemode.catalog import result_shapes
from codemode.catalog.result_shapes import ResultShapes
from codemode.tools.sketch import sketch
from tests.harness.engine import engine, value_of
from tests.harness.tool_samples import make, takes

LIST = make("list_customers", "Lists customers.", parameters=takes("region"))
PAGE = msgspec.json.encode({"customers": [{"id": "c1", "name": "Ada"}], "total": 1})
SHAPE = "{ customers: Array<{ id: string, name: string }>, total: number }"


def known(shapes: ResultShapes, agent: str = "main", of: Any = LIST) -> str | None:
    found = shapes.returns(agent, of)
    return None if found is None else sketch(found)


def test_a_shape_belongs_to_one_agent_and_to_the_tool_as_it_is_declared() -> None:
    shapes = ResultShapes()
    shapes.note("main", LIST, PAGE)

    assert known(shapes) == SHAPE
    assert known(shapes, "other") is None
    assert known(shapes, of=make("list_customers", "Lists customers.", parameters=takes("country"))) is None


def test_nothing_is_learned_of_declared_results_of_mcp_tools_or_where_it_is_switched_off() -> None:
    shapes, off = ResultShapes(), ResultShapes(enabled=False)
    declared, served = make("a", returns={"type": "string"}), make("b", source="mcp", owner="server")
    shapes.note("main", declared, PAGE)
    shapes.note("main", served, PAGE)
    off.note("main", LIST, PAGE)

    assert (known(shapes, of=declared), known(shapes, of=served), known(off)) == (None, None, None)


def test_few_of_many_equal_results_are_looked_at_and_large_ones_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[object] = []
    observe = result_shapes.observe

    def counting(shape: Any, value: object) -> bool:
        looked.append(value)
        return observe(shape, value)

    monkeypatch.setattr(result_shapes, "observe", counting)
    shapes = ResultShapes()
    shapes.note("main", LIST, b'["' + b"x" * 200_000 + b'"]')
    assert (looked, known(shapes)) == ([], None)
    for _ in range(10_000):
        shapes.note("main", LIST, PAGE)

    assert len(looked) == 10


def test_what_was_learned_elsewhere_is_taken_where_nothing_is_known() -> None:
    shapes, later = ResultShapes(), ResultShapes()
    shapes.note("main", LIST, PAGE)
    learned = shapes.learned("main", LIST.id)
    assert learned is not None
    later.learn("main", learned)

    assert known(later) == SHAPE


def test_keys_that_may_be_data_leave_no_engine_and_are_learned_anew_elsewhere() -> None:
    shapes, later = ResultShapes(), ResultShapes()
    shapes.note("main", LIST, b'{"rows": {"ada": 1, "bob": 2}, "total": 2}')
    learned = shapes.learned("main", LIST.id)
    assert learned is not None
    assert b"ada" not in msgspec.json.encode(learned)
    later.learn("main", learned)
    later.note("main", LIST, b'{"rows": {"ada": 1, "carl": 2}, "total": 2}')
    told = later.returns("main", LIST)

    assert told is not None
    assert told["properties"]["rows"] == {"type": "object", "additionalProperties": {"type": "number"}}


@tool
async def list_customers(region: str = "eu") -> Any:
    """Lists customers, 20 a page."""
    return msgspec.json.decode(PAGE)


@pytest.mark.guarantee("results-are-learned")
async def test_describe_tells_an_observed_result_and_the_next_session_sees_it_in_the_index() -> None:
    async with engine([list_customers]) as made:
        before = (await made.prepare(session="one")).exec_description
        unknown = value_of(await made.exec("return tools.describe('list_customers')", session="one"))
        await made.exec("return tools.list_customers()", session="one")
        described = value_of(await made.exec("return tools.describe('list_customers')", session="one"))
        same = (await made.prepare(session="one")).exec_description
        after = (await made.prepare(session="two")).exec_description

    assert "returns" not in unknown
    assert (sketch(described["returns"]), described["returnsSource"]) == (SHAPE, "observed")
    assert before == same
    assert before.splitlines()[-1] == (
        'list_customers({ region?: string = "eu" }) -> ? // Lists customers, 20 a page'
    )
    assert after.splitlines()[-2:] == [
        "Tools, as tools.name(input) -> result (~ observed in earlier calls):",
        f'list_customers({{ region?: string = "eu" }}) -> ~{SHAPE} // Lists customers, 20 a page',
    ]


async def test_a_declared_result_says_so() -> None:
    @tool
    async def count() -> int:
        """Counts."""
        return 3

    async with engine([count]) as made:
        described = value_of(await made.exec("return tools.describe('count')"))

    assert (described["returns"], described["returnsSource"]) == ({"type": "integer"}, "declared")


async def test_learning_can_be_switched_off() -> None:
    async with engine([list_customers], {"learnResultShapes": False}) as made:
        await made.exec("return tools.list_customers()")
        described = value_of(await made.exec("return tools.describe('list_customers')"))

    assert "returns" not in described
