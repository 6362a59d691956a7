"""What models really send: read where there is one way to read it, else refused in clear words."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode import Engine
from codemode.tool_search.repair import (
    Unreadable,
    read_bridge_call,
    read_call,
    read_code,
    read_describe,
    read_object,
    read_search,
)
from codemode.tools import Tool
from tests.harness.tool_samples import make, takes
from tests.harness.tool_search import Log

PLAIN = make("plain", source="plugin", parameters=takes("subject"))
# Its parameters have the names that models use for other things.
TRICKY = make("tricky", source="plugin", parameters=takes("name", "input", id={}, args={}))
OTHER = make("other", source="plugin")
KNOWN = {word: tool for tool in (PLAIN, TRICKY, OTHER) for word in (tool.name, tool.id)}


def find(word: str) -> Tool | None:
    return KNOWN.get(word)


@pytest.mark.guarantee("repairs-are-visible")
@pytest.mark.parametrize(
    ("sent", "args", "repairs"),
    [
        ({"id": "plain", "args": {"subject": "x"}}, {"subject": "x"}, ()),
        ({"id": "plain"}, {}, ()),
        ({"id": "plain", "args": None}, {}, ()),
        ({"id": "plain", "subject": "x"}, {"subject": "x"}, ("flattened",)),
        ({"id": "plain", "args": {}, "subject": "x"}, {"subject": "x"}, ("flattened",)),
        ({"id": "plain", "args": '{"subject":"x"}'}, {"subject": "x"}, ("json_string:args",)),
        ({"toolId": "plain", "args": {"subject": "x"}}, {"subject": "x"}, ("alias:toolId",)),
        ({"name": "plain", "input": {"subject": "x"}}, {"subject": "x"}, ("alias:name", "alias:input")),
        (
            {"name": "plain", "arguments": {"subject": "x"}},
            {"subject": "x"},
            ("alias:name", "alias:arguments"),
        ),
        (
            {"tool": "plain", "input": '{"subject":"x"}'},
            {"subject": "x"},
            ("alias:tool", "alias:input", "json_string:input"),
        ),
        ({"toolId": "plain", "subject": "x"}, {"subject": "x"}, ("alias:toolId", "flattened")),
        ({"id": {"id": "plain", "name": "plain"}, "args": {}}, {}, ("entry_as_id",)),
        ({"id": "plain", "name": "plain", "args": {"subject": "x"}}, {"subject": "x"}, ("second_id:name",)),
        ('{"id":"plain","args":{"subject":"x"}}', {"subject": "x"}, ("json_arguments",)),
    ],
)
def test_tool_call_is_read_as_it_was_meant(sent: object, args: object, repairs: tuple[str, ...]) -> None:
    read = read_call(sent, find)
    assert (read.id, read.args, read.repairs) == ("plain", args, repairs)


@pytest.mark.parametrize(
    ("sent", "args"),
    [
        ({"id": "tricky", "name": "Bob", "input": "text"}, {"name": "Bob", "input": "text"}),
        ({"id": "tricky", "name": "Bob", "input": {"a": 1}}, {"name": "Bob", "input": {"a": 1}}),
        ({"id": "tricky", "name": "plain", "input": "x"}, {"name": "plain", "input": "x"}),
        ({"id": "tricky", "args": {"name": "Bob", "input": "x"}}, {"name": "Bob", "input": "x"}),
        (
            {"id": "tricky", "args": ["-l"], "name": "ls", "input": ""},
            {"args": ["-l"], "name": "ls", "input": ""},
        ),
        ({"toolId": "tricky", "id": "7", "name": "Bob"}, {"id": "7", "name": "Bob"}),
    ],
)
def test_a_key_that_the_tool_itself_declares_stays_its_argument(sent: object, args: object) -> None:
    read = read_call(sent, find)
    assert (read.id, read.args) == ("tricky", args)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        ({}, "the `id` of a tool is missing"),
        ({"args": {"subject": "x"}}, "the `id` of a tool is missing"),
        ({"id": "  "}, "the `id` of a tool is missing"),
        ([1], "tool_call takes one object"),
        ("plain", "tool_call takes one object"),
        ({"id": "plain", "toolId": "other", "args": {}}, "this names two tools"),
        ({"id": "misspelt", "name": "plain", "subject": "x"}, "this names two tools"),
        ({"id": "plain", "args": {"subject": "x"}, "limit": 3}, "these are beside it: limit"),
    ],
)
def test_what_can_be_read_in_two_ways_or_none_is_refused(sent: object, told: str) -> None:
    with pytest.raises(Unreadable, match=told):
        read_call(sent, find)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"query": "x"}, ("x", None, ())),
        ({"query": "x", "limit": 3}, ("x", 3, ())),
        ({"query": "x", "limit": "3"}, ("x", 3, ("number_string:limit",))),
        ({"query": "x", "limit": None}, ("x", None, ())),
        ({"q": "x", "max_results": 2}, ("x", 2, ("alias:q", "alias:max_results"))),
        ("what it does", ("what it does", None, ("bare_query",))),
        ('{"query":"x"}', ("x", None, ("json_arguments",))),
    ],
)
def test_tool_search_is_read_as_it_was_meant(sent: object, read: tuple[Any, ...]) -> None:
    found = read_search(sent)
    assert (found.query, found.limit, found.repairs) == read


@pytest.mark.parametrize(
    "sent", [{}, {"query": 3}, {"query": "x", "limit": "many"}, {"query": "x", "limit": True}, 3]
)
def test_a_search_without_a_query_or_with_no_number_for_a_limit_is_refused(sent: object) -> None:
    with pytest.raises(Unreadable, match="tool_search"):
        read_search(sent)


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"id": "plain"}, ("plain", ())),
        ({"name": "plain"}, ("plain", ("alias:name",))),
        ("plain", ("plain", ("bare_id",))),
        ({"id": {"id": "plain"}}, ("plain", ("entry_as_id",))),
    ],
)
def test_tool_describe_is_read_as_it_was_meant(sent: object, read: tuple[Any, ...]) -> None:
    found = read_describe(sent)
    assert (found.text, found.repairs) == read


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ({"code": "return 1"}, ("return 1", ())),
        ({"javascript": "return 1"}, ("return 1", ("alias:javascript",))),
        ("return 1", ("return 1", ("bare_code",))),
        ('{"code":"return 1"}', ("return 1", ("json_arguments",))),
    ],
)
def test_tool_search_code_is_read_as_it_was_meant(sent: object, read: tuple[Any, ...]) -> None:
    found = read_code(sent)
    assert (found.text, found.repairs) == read


BRIDGE_CALLS: list[tuple[list[object], tuple[Any, ...]]] = [
    (["plain", {"subject": "x"}], ("plain", {"subject": "x"}, ())),
    (["plain"], ("plain", {}, ())),
    (["plain", '{"subject":"x"}'], ("plain", {"subject": "x"}, ("json_string:args",))),
    ([{"id": "plain", "call": "…"}, {"subject": "x"}], ("plain", {"subject": "x"}, ("entry_as_id",))),
    ([{"id": "plain", "args": {"subject": "x"}}], ("plain", {"subject": "x"}, ())),
]


@pytest.mark.parametrize(("sent", "read"), BRIDGE_CALLS)
def test_calls_of_a_program_are_read_as_they_were_meant(sent: list[object], read: tuple[Any, ...]) -> None:
    found = read_bridge_call(sent, find)
    assert (found.id, found.args, found.repairs) == read


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["id", "toolId", "name", "tool", "args", "input", "arguments", "query", "limit", "code", "x"]
)
SENT = JSON | st.dictionaries(KEYS, JSON | st.sampled_from(["plain", "tricky", '{"subject":1}']), max_size=5)


@given(sent=SENT)
def test_whatever_is_sent_is_read_or_refused_and_nothing_else(sent: Any) -> None:
    readers: list[Callable[[object], object]] = [
        lambda form: read_call(form, find),
        read_search,
        read_describe,
        read_code,
        read_object,
    ]
    for form in (sent, json.dumps(sent)):
        for read in readers:
            with contextlib.suppress(Unreadable):
                read(form)


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.guarantee("repairs-are-visible")
async def test_each_repair_is_in_the_answer_and_in_telemetry_and_the_tool_gets_the_right_call() -> None:
    log = Log()
    sent: list[Any] = [
        {"id": "ship", "subject": "flat"},
        {"toolId": "ship", "args": '{"subject":"string"}'},
        {"name": "ship", "input": {"subject": "alias"}},
    ]
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        answers = [await prepared.call("tool_call", arguments) for arguments in sent]
        program = await engine.tool_search({"mode": "code"}).prepare()
        text = (
            "const [hit] = await openclaw.tools.search('ship');\n"
            "return await openclaw.tools.call(hit, { subject: 'entry' })"
        )
        ran = await program.call("tool_search_code", {"code": text})
        told = (await prepared.telemetry()).repairs
        told_of_program = (await program.telemetry()).repairs
    assert [call["subject"] for _, call in log.ran] == ["flat", "string", "alias", "entry"]
    assert [answer.repairs for answer in answers] == [
        ("flattened",),
        ("alias:toolId", "json_string:args"),
        ("alias:name", "alias:input"),
    ]
    assert answers[0].to_envelope()["meta"]["repairs"] == ["flattened"]
    assert told == {
        "flattened": 1,
        "alias:toolId": 1,
        "json_string:args": 1,
        "alias:name": 1,
        "alias:input": 1,
    }
    assert (ran.repairs, told_of_program) == (("entry_as_id",), {"entry_as_id": 1})


@pytest.mark.usefixtures("leaves_nothing")
async def test_arguments_that_no_repair_can_save_come_back_with_the_tools_parameters() -> None:
    log = Log()
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        wrong = await prepared.call("tool_call", {"id": "ship", "subjct": "x"})
        unreadable = await prepared.call("tool_call", {"args": {}})
    assert (wrong.code, wrong.repairs) == ("invalid_arguments", ("flattened",))
    assert wrong.error is not None
    assert "subjct" in wrong.error.message
    assert "Parameters: { subject: string" in wrong.error.message
    assert unreadable.code == "invalid_arguments"
    assert log.ran == []
