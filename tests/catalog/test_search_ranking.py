"""Search: what counts, what breaks ties, what is found at all."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.catalog import Catalog
from codemode.catalog.search import SearchIndex
from codemode.catalog.words import stem, terms
from tests.catalog.search_set.labelled import load_questions, load_tools
from tests.harness.tool_samples import make, takes


def names(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["name"] for hit in hits]


def test_a_hit_is_an_entry_with_a_call_that_is_ready_to_use() -> None:
    catalog = Catalog([make("web_search", "Search the web.", parameters=takes("query"))])

    assert catalog.search("web") == [
        {
            "id": "openclaw:core:web_search",
            "name": "web_search",
            "description": "Search the web.",
            "source": "openclaw",
            "call": "tools.web_search({ query })",
        }
    ]


@pytest.mark.parametrize("query", ["", "   ", "!?", "***"])
def test_an_empty_query_finds_nothing(query: str) -> None:
    assert Catalog([make("read", "Reads a file.")]).search(query) == []


def test_a_word_that_no_tool_has_finds_nothing() -> None:
    assert Catalog([make("read", "Reads a file.")]).search("zebra") == []


@pytest.mark.parametrize(
    "tool",
    [
        make("zebra_count"),
        make("count", source="plugin", owner="zebra"),
        make("count", label="Zebra"),
        make("count", "Counts zebras."),
        make("count", parameters={"type": "object", "properties": {"zebra": {}}}),
        make("count", parameters={"type": "object", "properties": {"n": {"description": "of zebras"}}}),
        make("countZebras"),
        make("ZEBRACount"),
    ],
    ids=["name", "owner", "label", "description", "parameter", "about parameter", "camel", "caps"],
)
def test_every_field_can_be_found(tool: Any) -> None:
    assert len(Catalog([tool, make("other")]).search("zebra")) == 1


def test_an_exact_name_comes_first() -> None:
    catalog = Catalog([make("read"), make("read_file", "read read read"), make("reader", "read read")])

    for query in ("read", "READ", " read ", "openclaw:core:read"):
        assert names(catalog.search(query))[0] == "read"
    for query in ("read_file", "readFile", "read file", "read-file"):
        assert names(catalog.search(query))[0] == "read_file"


def test_a_name_can_be_typed_without_its_separators() -> None:
    assert names(Catalog([make("web_search"), make("web_fetch")]).search("websearch")) == ["web_search"]


def test_ties_are_broken_by_id() -> None:
    catalog = Catalog([make(name, "Same words.") for name in ("c", "a", "b")])

    assert names(catalog.search("same words")) == ["a", "b", "c"]


def test_little_words_tell_names_apart_and_nothing_else() -> None:
    catalog = Catalog([make("turn_off_light"), make("turn_on_light"), make("other", "on the wall")])

    assert names(catalog.search("turn on the light"))[0] == "turn_on_light"
    assert "other" not in names(catalog.search("turn on the light"))


def test_the_limit_holds() -> None:
    catalog = Catalog([make(f"tool_{number}") for number in range(30)])

    assert len(catalog.search("tool", 8)) == 8
    assert catalog.search("tool", 0) == []


def test_mcp_tools_are_found_by_hosts_only() -> None:
    catalog = Catalog([make("create_issue", source="mcp")])

    assert catalog.search("issue") == []
    assert names(catalog.search("issue", with_mcp=True)) == ["create_issue"]


@pytest.mark.parametrize(
    "words",
    [
        ("create", "creates", "created", "creating", "creation"),
        ("apply", "applies", "applied"),
        ("file", "files"),
        ("search", "searches", "searching"),
        ("run", "running"),
        ("translate", "translation", "translating"),
        ("summarize", "summarization"),
    ],
)
def test_forms_of_a_word_meet(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_different_words_stay_apart() -> None:
    assert len({stem(word) for word in ("apple", "apply", "news", "new", "bus", "status", "class")}) == 7


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("HTTPServer_v2", ["http", "serv", "v2"]),
        ("straße Ünïcode", ["strass", "ünïcode"]),
        ("天気予報", ["天気", "気予", "予報"]),
        ("ｆｕｌｌ", ["full"]),
    ],
)
def test_words_of_any_script_are_found(text: str, found: list[str]) -> None:
    assert terms(text) == found


def test_a_huge_description_does_not_bury_the_rest() -> None:
    flood = make("flood", "alpha beta gamma " * 100_000, source="client")
    catalog = Catalog([flood, make("alpha_reader", "Reads alpha.")])

    assert names(catalog.search("alpha"))[0] == "alpha_reader"


@pytest.mark.parametrize(
    "parameters", [{"properties": []}, {"properties": {"a": True}}, {"properties": None}, {}]
)
def test_odd_schemas_are_searchable(parameters: dict[str, Any]) -> None:
    assert len(Catalog([make("odd", parameters=parameters | {"x": 1})]).search("odd")) == 1


_LABELLED = sorted(load_tools(), key=lambda tool: tool.id)
_INDEX = SearchIndex(_LABELLED)
_VOCABULARY = sorted({word for question in load_questions() for word in question.text.split()})


@given(st.lists(st.sampled_from(_VOCABULARY), max_size=8), st.integers(1, 20))
@settings(max_examples=150)
def test_a_short_list_is_the_beginning_of_the_long_one(words: list[str], limit: int) -> None:
    """The pruning that makes search fast depends on the limit; the ranking must not."""
    query = " ".join(words)

    assert _INDEX.search(query, limit) == _INDEX.search(query, len(_LABELLED))[:limit]


@given(st.text(max_size=60))
@settings(max_examples=150)
def test_any_text_can_be_asked_and_described(text: str) -> None:
    _INDEX.search(text, 5)
    odd = dataclasses.replace(_LABELLED[0], description=text.encode("utf-8", "replace").decode())
    Catalog([odd]).search(text)
