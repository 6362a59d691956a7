"""What a TypeError tells of the value that a program used wrongly: the texts that a model reads."""

# ruff: noqa: E501 - a program and its text read best side by side

from typing import Any

import pytest

from codemode import tool
from tests.harness.engine import engine, failure_of, value_of

CUSTOMERS = {"customers": [{"id": "c1", "name": "Ada"}], "total": 1, "empty": []}
HAS = "an object with keys customers, total, empty"


@tool
async def list_customers() -> Any:
    """Lists customers."""
    return CUSTOMERS


@pytest.mark.parametrize(
    ("program", "headline"),
    [
        ("return customers.map((c) => c.id)", f"not a function: `customers` is {HAS}; `map` is not one of them (1:66)"),
        ("return customers.items.map((c) => c.id)", f"cannot read property 'map' of undefined: `customers` is {HAS}; `items` is not one of them (1:56)"),
        ("return customers.items[0]", f"cannot read property '0' of undefined: `customers` is {HAS}; `items` is not one of them (1:56)"),
        ("for (const c of customers.items) text(c)", f"cannot read property 'Symbol.iterator' of undefined: `customers` is {HAS}; `items` is not one of them (1:65)"),
        ("const { items } = customers; return items.length", f"cannot read property 'length' of undefined: `customers` is {HAS}; `items` is not one of them (1:85)"),
        ("for (const c of customers) text(c)", f"value is not iterable: `customers` is {HAS} (1:65)"),
        ("return [...customers]", f"value is not iterable: `customers` is {HAS} (1:60)"),
        ("return customers.empty[0].id", "cannot read property 'id' of undefined: element 0 was looked for in an empty array (1:56)"),
        ("const [first] = customers.empty; return first.id", "cannot read property 'id' of undefined (1:89)"),
        ("const list = customers.customers; return list[3].id", "cannot read property 'id' of undefined: `list` is an array of 1 object with keys id, name; it has no element 3 (1:90)"),
        ("const list = customers.customers; return list.total.toFixed()", "cannot read property 'toFixed' of undefined: `list` is an array of 1 object with keys id, name; it has no `total` (1:90)"),
        ("return customers.customers.map((c) => c.address.city)", "cannot read property 'city' of undefined: `c` is an object with keys id, name; `address` is not one of them (1:87)"),
        ("return customers.customers[0].name.map((x) => x)", "not a function: `map` was looked for in a string of 3 characters (1:84)"),
        ("return customers.total()", "not a function: it is a number (1:66)"),
        ("return (() => customers.filter(Boolean))()", f"not a function: `customers` is {HAS}; `filter` is not one of them (1:73)"),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
@pytest.mark.guarantee("type-errors-tell-the-shape")
async def test_a_type_error_tells_the_shape_of_the_result_that_was_used_wrongly(
    program: str, headline: str
) -> None:
    async with engine([list_customers]) as made:
        result = failure_of(
            await made.exec(f"const customers = await tools.list_customers(); {program}"), "guest_error"
        )

    assert result.error.splitlines()[0] == f"TypeError: {headline}"


async def test_a_caught_type_error_tells_it_too() -> None:
    async with engine([list_customers]) as made:
        told = value_of(
            await made.exec(
                "const r = await tools.list_customers(); try { r.map(String) } catch (e) { return e.message }"
            )
        )

    assert told == f"not a function: `r` is {HAS}; `map` is not one of them"


async def test_a_promise_that_was_not_awaited_is_named() -> None:
    async with engine([list_customers]) as made:
        result = failure_of(
            await made.exec("const r = tools.list_customers();\nreturn r.items.map((x) => x)"), "guest_error"
        )

    assert result.error.splitlines() == [
        "TypeError: cannot read property 'map' of undefined: `r` is a promise: "
        "put `await` before the call that gives it (2:8)",
        "    return r.items.map((x) => x)",
        "           ^",
    ]
