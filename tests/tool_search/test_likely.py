"""Core tools that are never deferred in `auto`, and the few schemas that a directory shows at once."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import ConfigError, Engine
from codemode.tool_search import PreparedSearch
from codemode.tools import Tool
from tests.harness.mcp_servers import fast, servers
from tests.harness.tool_search import Log

CONTROLS = ["tool_search", "tool_describe", "tool_call"]
SMALL_WINDOW = 1_000  # tokens: any two tools take more than a tenth of it


def crm(log: Log) -> list[Tool]:
    return [
        log.tool("find_customer", "Finds a customer by name or number."),
        log.tool("cancel_order", "Cancels an order that was not shipped."),
        log.tool("send_invoice", "Sends an invoice to a customer by post."),
        log.tool("weather", "What the weather is like in a city."),
    ]


def named(prepared: PreparedSearch) -> list[str]:
    return [tool.name for tool in prepared.visible]


async def directory(
    tools: list[Tool], config: dict[str, Any] | None = None, *, mcp: Any = None, **options: Any
) -> PreparedSearch:
    async with Engine(tools, False, mcp=mcp) as engine:
        search = engine.tool_search({"mode": "directory", **(config or {})})
        return await search.prepare(session="s1", **options)


@pytest.mark.guarantee("core-tools-are-never-deferred")
@pytest.mark.parametrize("mode", ["tools", "code", "directory"])
async def test_auto_never_defers_core_tools_however_large_they_are(mode: str) -> None:
    log = Log()
    core = log.tool("read", "Reads a file. " * 500, source="openclaw")
    async with Engine([core, *crm(log)], False) as engine:
        search = engine.tool_search({"enabled": "auto", "mode": mode})
        prepared = await search.prepare(session="s1", context_window=SMALL_WINDOW)
        hidden = [tool.name for tool in (await prepared.catalog()).tools]
        answer = await prepared.call("read", {"subject": "x"})
    assert (prepared.decision.why, prepared.decision.deferrable_tools) == ("above_share", 4)
    assert named(prepared)[0] == "read"
    assert hidden == ["cancel_order", "find_customer", "send_invoice", "weather"]
    assert answer.value == {"did": "read", "subject": "x"}


@pytest.mark.guarantee("core-tools-are-never-deferred")
async def test_tools_that_an_engine_is_given_plainly_are_core_and_auto_leaves_them_alone() -> None:
    log = Log()
    plain = [log.tool(f"tool_{number}", "d" * 2_000, source="openclaw") for number in range(50)]
    async with Engine(plain, False) as engine:
        prepared = await engine.tool_search({"enabled": "auto"}).prepare(context_window=SMALL_WINDOW)
    assert (prepared.mode, prepared.decision.why, len(prepared.visible)) == (None, "nothing_to_defer", 50)


async def test_on_catalogs_everything_but_what_core_tools_names() -> None:
    log = Log()
    core = [log.tool(name, source="openclaw") for name in ("read", "write")]
    async with Engine([*core, *crm(log)], False) as engine:
        search = engine.tool_search({"enabled": "on", "mode": "tools", "coreTools": ["read"]})
        prepared = await search.prepare(session="s1")
        hidden = [tool.name for tool in (await prepared.catalog()).tools]
    assert named(prepared) == ["read", *CONTROLS]
    assert hidden == ["write", "cancel_order", "find_customer", "send_invoice", "weather"]


@pytest.mark.guarantee("directory-shows-likely-schemas")
async def test_a_directory_shows_what_is_required_with_its_schema_and_calls_it_by_name() -> None:
    log = Log()
    async with Engine(crm(log), False) as engine:
        search = engine.tool_search({"mode": "directory"})
        prepared = await search.prepare(required=["weather", "plugin:acme:send_invoice", "weather"])
        answers = [
            await prepared.call("weather", {"subject": "Bergen"}),
            await prepared.call("tool_call", {"id": "weather", "args": {"subject": "Oslo"}}),
        ]
    assert named(prepared) == [*CONTROLS, "weather", "send_invoice"]
    assert prepared.visible[-2].parameters["required"] == ["subject"]
    assert [answer.value["subject"] for answer in answers] == ["Bergen", "Oslo"]
    assert prepared.warnings == ()


@pytest.mark.guarantee("directory-shows-likely-schemas")
async def test_a_directory_shows_the_best_for_the_text_of_the_turn() -> None:
    prepared = await directory(crm(Log()), text="Please cancel the order of Mrs Ada")
    assert named(prepared) == [*CONTROLS, "cancel_order"]
    both = await directory(
        crm(Log()), {"directoryMaxSchemas": 2}, text="cancel the order", required=["weather"]
    )
    assert named(both) == [*CONTROLS, "weather", "cancel_order"]
    assert named(await directory(crm(Log()), text="  ")) == CONTROLS


@pytest.mark.guarantee("directory-shows-likely-schemas")
async def test_the_set_is_bounded_and_the_directory_stays_the_same_bytes_whatever_the_turn() -> None:
    log = Log()
    many = [log.tool(f"order_{number:03}", f"Does order number {number}.") for number in range(300)]
    plain, turn = await directory(many), await directory(many, text="order " * 9_000)
    assert len(turn.visible) == len(CONTROLS) + 8
    assert turn.directory == plain.directory
    none = await directory(many, {"directoryMaxSchemas": 0}, text="order", required=["order_001"])
    assert named(none) == CONTROLS
    assert none.warnings == (
        "required: plugin:acme:order_001 is not shown with its schema; directoryMaxSchemas is 0.",
    )


@pytest.mark.guarantee("directory-shows-likely-schemas")
async def test_a_tool_too_large_for_the_budget_is_not_guessed() -> None:
    log = Log()
    large = log.tool("order_huge", "order " * 4_000)
    prepared = await directory([large, log.tool("order_small", "Another order.")], text="order huge")
    assert named(prepared) == [*CONTROLS, "order_small"]
    assert "order_huge" in named(await directory([large], required=["order_huge"]))


async def test_tools_of_servers_are_never_guessed_but_may_be_required() -> None:
    given = servers(fast=fast())
    guessed = await directory(crm(Log()), mcp=given, text="add, make a point, cancel an order")
    assert named(guessed) == [*CONTROLS, "cancel_order"]
    required = await directory(crm(Log()), mcp=given, required=["mcp:fast:add"])
    assert named(required) == [*CONTROLS, "add"]


async def test_what_is_required_and_not_there_is_warned_about() -> None:
    log = Log()
    twins = [log.tool("ship", owner="a"), log.tool("ship", owner="b")]
    prepared = await directory([*crm(log), *twins], required=["wether", "ship", "plugin:a:ship", "weather"])
    assert named(prepared) == [*CONTROLS, "weather"]
    assert prepared.warnings == (
        'required: this run has no tool "wether". Did you mean "weather"?',
        'required: several tools are called "ship"; give an id.',
        'required: plugin:a:ship is not shown with its schema; another tool is called "ship", too.',
    )


async def test_what_the_policy_denies_is_neither_guessed_nor_required() -> None:
    async with Engine(crm(Log()), False, policy={"deny": ["weather"]}) as engine:
        search = engine.tool_search({"mode": "directory"})
        prepared = await search.prepare(required=["weather"], text="weather in the city")
    assert named(prepared) == CONTROLS
    assert len(prepared.warnings) == 1


async def test_other_modes_say_that_required_is_not_for_them() -> None:
    async with Engine(crm(Log()), False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare(required=["weather"], text="weather")
    assert named(prepared) == CONTROLS
    assert prepared.warnings == ('required is for mode "directory", not "tools".',)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"required": "weather"}, "required: must be a list of names or ids of tools"),
        ({"required": [1]}, "required: must be a list of names or ids of tools"),
        ({"text": None}, "text: must be a text, what the turn is about, not NoneType."),
    ],
)
async def test_wrong_words_about_the_turn_are_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("[", r"\[")):
        await directory(crm(Log()), **given)
