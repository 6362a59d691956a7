"""When tools are deferred: the share of the context window, core tools, and runs with nothing to defer."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import ConfigError, Engine
from codemode.config import load_tool_search
from codemode.tool_search.gate import decide, expose, schema_chars, split_tools
from codemode.tools import Tool
from tests.harness.tool_samples import make

AUTO: dict[str, Any] = {"enabled": "auto", "mode": "tools"}
SHARE = 10  # percent, the default


def tools_of(chars: int, **options: Any) -> list[Tool]:
    """Two tools whose schemas together have exactly so many characters."""
    for_one = make("one", "", source="plugin", **options)
    spare = chars - schema_chars([for_one, make("two", source="plugin", **options)])
    assert spare >= 0
    return [for_one, make("two", "d" * spare, source="plugin", **options)]


def window_for(chars: int) -> int:
    """Of which these characters, at four for a token, are exactly the share."""
    assert chars % 4 == 0
    return chars // 4 * 100 // SHARE


def decided(tools: list[Tool], window: int, **config: Any) -> tuple[str | None, str]:
    read = load_tool_search(AUTO | config)
    decision = decide(split_tools(tools, read), read, window)
    return decision.mode, decision.why


@pytest.mark.guarantee("auto-gate-follows-the-share")
@pytest.mark.parametrize(
    ("more", "expected"),
    [(-1, (None, "below_share")), (0, (None, "below_share")), (1, ("tools", "above_share"))],
)
def test_auto_defers_above_the_share_and_not_at_it(more: int, expected: tuple[str | None, str]) -> None:
    assert decided(tools_of(4_000 + more), window_for(4_000)) == expected


@pytest.mark.guarantee("auto-gate-follows-the-share")
@pytest.mark.parametrize(
    ("more", "expected"),
    [(0, (None, "below_share")), (1, ("tools", "above_share"))],
)
def test_core_tools_do_not_count_however_large_they_are(more: int, expected: tuple[str | None, str]) -> None:
    core = make("read", "c" * 100_000)
    assert decided([core, *tools_of(4_000 + more)], window_for(4_000), coreTools=["read"]) == expected


def test_the_same_tools_are_deferred_for_a_small_window_and_shown_for_a_large_one() -> None:
    tools = tools_of(4_000)
    assert decided(tools, window_for(4_000) - 10) == ("tools", "above_share")
    assert decided(tools, window_for(4_000) + 10) == (None, "below_share")


def test_the_share_is_a_setting() -> None:
    tools = tools_of(4_004)
    assert decided(tools, window_for(4_000)) == ("tools", "above_share")
    assert decided(tools, window_for(4_000), contextSharePercent=11) == (None, "below_share")


@pytest.mark.parametrize(
    ("enabled", "expected"),
    [("off", (None, "off")), ("on", ("tools", "on")), ("auto", (None, "below_share"))],
)
def test_on_and_off_do_not_look_at_the_share(enabled: str, expected: tuple[str | None, str]) -> None:
    assert decided(tools_of(4_000), 10_000_000, enabled=enabled) == expected


def test_with_nothing_but_core_tools_there_is_nothing_to_defer() -> None:
    assert decided(tools_of(4_000), 1_000, enabled="on", coreTools=["*"]) == (None, "nothing_to_defer")


def test_a_decision_says_what_it_was_made_of() -> None:
    read = load_tool_search(AUTO)
    assert decide(split_tools(tools_of(4_002), read), read, window_for(4_000)).to_dict() == {
        "mode": "tools",
        "why": "above_share",
        "deferrableTools": 2,
        "deferrableTokens": 1_001,
        "thresholdTokens": 1_000,
        "contextWindowTokens": 10_000,
        "fallbackReason": "",
    }


def test_an_estimate_counts_characters_and_bytes_are_bytes() -> None:
    plain, other = expose([make("a", "xx")]), expose([make("a", "öö")])
    assert plain.tokens == other.tokens
    assert other.schema_bytes == plain.schema_bytes + 2


@pytest.mark.usefixtures("leaves_nothing")
async def test_an_engine_asks_the_gate_with_the_window_of_the_model() -> None:
    tools = tools_of(4_000)
    async with Engine(tools, False) as engine:
        search = engine.tool_search(AUTO)
        small = await search.prepare(context_window=window_for(4_000) - 10)
        large = await search.prepare(context_window=window_for(4_000) + 10)
        unset = await search.prepare()
    assert [tool.name for tool in small.visible] == ["tool_search", "tool_describe", "tool_call"]
    assert large.visible == tuple(tools)
    assert unset.decision.context_window_tokens == 128_000


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.guarantee("tool-search-is-off-by-default")
async def test_off_shows_the_tools_as_they_are_and_calls_still_go_through_the_executor() -> None:
    tools = (make("b"), make("a", source="mcp", owner="srv"), make("c", source="client"))
    async with Engine(tools, False) as engine:
        prepared = await engine.tool_search(None).prepare()
        called = await prepared.call("a", {})
        control = await prepared.call("tool_call", {"id": "a"})
    assert prepared.visible == tools
    assert (prepared.mode, prepared.decision.why, prepared.directory) == (None, "off", "")
    assert called.tool is not None
    assert (called.status, called.tool.id) == ("completed", "mcp:srv:a")
    assert control.code == "denied"


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_run_that_has_no_tools_on_purpose_has_no_control_either() -> None:
    async with Engine([make("a")], False) as engine:
        search = engine.tool_search({"mode": "tools"})
        options: list[dict[str, Any]] = [{"disable_tools": True}, {"allow": ()}]
        for given in options:
            prepared = await search.prepare(tools=[make("own")], **given)
            answer = await prepared.call("a", {})
            assert (prepared.visible, prepared.decision.why, answer.code) == (
                (),
                "no_tools",
                "unknown_tool",
            )


@pytest.mark.usefixtures("leaves_nothing")
async def test_an_unknown_group_of_core_tools_is_said_when_tool_search_is_made() -> None:
    async with Engine([make("a")], False) as engine:
        with pytest.raises(ConfigError, match=r'tools.toolSearch.coreTools: unknown group "group:fss"'):
            engine.tool_search({"coreTools": ["group:fss"]})
