"""Convenience names and call expressions."""

import pytest

from codemode.catalog import Catalog, safe_name
from codemode.tools import Tool
from tests.harness.tool_samples import make, takes


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("web_search", "web_search"),
        ("webSearch", "webSearch"),
        ("$find", "$find"),
        ("chrome-devtools", "chrome_devtools"),
        ("a.b/c d", "a_b_c_d"),
        ("2fa", "_2fa"),
        ("größe", "größe"),
        ("読む", "読む"),
        ("😀", "_"),
        ("́x", "_́x"),
        ("delete", None),
        ("await", None),
        ("search", None),
        ("describe", None),
        ("call", None),
        ("then", None),
        ("__proto__", None),
        ("constructor", None),
        ("__openclaw_bridge", None),
    ],
)
def test_a_name_becomes_an_identifier_or_nothing(name: str, safe: str | None) -> None:
    assert safe_name(name) == safe


def test_names_that_become_the_same_get_no_convenience_function() -> None:
    catalog = Catalog([make("web-search"), make("web_search"), make("read")])

    assert catalog.convenience_names() == ["read"]
    assert catalog.convenience("web_search") is None


def test_one_name_from_two_owners_gets_no_convenience_function() -> None:
    assert Catalog([make("read"), make("read", source="client")]).convenience_names() == []


def test_mcp_tools_have_no_convenience_functions_and_take_none_away() -> None:
    catalog = Catalog([make("read", source="mcp"), make("read")])

    assert catalog.convenience("read") == "openclaw:core:read"


@pytest.mark.parametrize(
    ("tool", "expression"),
    [
        (make("web_search", parameters=takes("query", limit={})), "tools.web_search({ query })"),
        (make("now"), "tools.now()"),
        (make("list", parameters=takes(limit={})), "tools.list({})"),
        (make("delete", parameters=takes("path")), 'tools.call("openclaw:core:delete", { path })'),
        (make("delete"), 'tools.call("openclaw:core:delete")'),
        (
            make("go", parameters=takes("user-id", "class", "in")),
            'tools.go({ "user-id": user_id, "class": class_, "in": in_ })',
        ),
    ],
)
def test_a_call_expression_is_ready_to_use(tool: Tool, expression: str) -> None:
    assert Catalog([tool]).call_expression(tool) == expression
