"""`tools.toolSearch`: what may be written, what it becomes, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import ConfigError
from codemode.config import ToolSearchConfig, load_tool_search, read_document


@pytest.mark.guarantee("tool-search-is-off-by-default")
@pytest.mark.parametrize("written", [None, False, {}, {"tools": {}}, {"tools": {"codeMode": True}}])
def test_it_is_off_unless_somebody_asks_for_it(written: object) -> None:
    assert load_tool_search(written) == ToolSearchConfig()
    assert load_tool_search(written).enabled == "off"


@pytest.mark.parametrize(
    ("written", "gate"),
    [
        (True, "on"),
        ({"mode": "tools"}, "on"),
        ({"enabled": True}, "on"),
        ({"enabled": "on"}, "on"),
        ({"enabled": "auto"}, "auto"),
        ({"enabled": False, "mode": "tools"}, "off"),
        ({"enabled": "off"}, "off"),
        ({"tools": {"toolSearch": {"enabled": "auto"}}}, "auto"),
    ],
)
def test_true_and_an_object_switch_it_on_unless_the_object_says_otherwise(written: object, gate: str) -> None:
    assert load_tool_search(written).enabled == gate


def test_the_defaults_are_these() -> None:
    assert load_tool_search(True).to_dict() == {
        "enabled": "on",
        "mode": "code",
        "fallback": "tools",
        "coreTools": [],
        "contextWindowTokens": 128_000,
        "contextSharePercent": 10,
        "directoryMaxChars": 18_000,
        "directoryMaxSchemas": 8,
        "codeTimeoutMs": 10_000,
        "searchDefaultLimit": 8,
        "maxSearchLimit": 50,
    }


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("contextWindowTokens", 1_000, 10_000_000),
        ("contextSharePercent", 1, 100),
        ("directoryMaxChars", 500, 200_000),
        ("codeTimeoutMs", 100, 60_000),
        ("maxSearchLimit", 1, 50),
    ],
)
def test_numbers_out_of_range_are_clamped(key: str, low: int, high: int) -> None:
    assert load_tool_search({key: -1}).to_dict()[key] == low
    assert load_tool_search({key: 10**12}).to_dict()[key] == high


def test_the_default_limit_is_not_above_the_largest() -> None:
    assert load_tool_search({"maxSearchLimit": 3}).search_default_limit == 3


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("yes", 'tools.toolSearch: must be true, false or an object, not "yes".'),
        ({"mod": "tools"}, 'tools.toolSearch.mod: unknown key. Did you mean "mode"?'),
        ({"mode": "shell"}, 'tools.toolSearch.mode: must be "code", "tools" or "directory", not "shell".'),
        ({"enabled": "maybe"}, 'tools.toolSearch.enabled: must be "off", "on" or "auto", not "maybe".'),
        ({"enabled": 1}, 'tools.toolSearch.enabled: must be "off", "on" or "auto", not 1.'),
        ({"coreTools": "read"}, "tools.toolSearch.coreTools: must be a list of tool names, ids or groups"),
        ({"coreTools": ["read", ""]}, "tools.toolSearch.coreTools: must be a list"),
        ({"codeTimeoutMs": "10s"}, "tools.toolSearch.codeTimeoutMs: must be a number from 100 to 60000"),
        ({"tools": []}, "tools: must be an object, not an empty list."),
        (
            {"coreTools": ["read"], "tools": {}},
            "coreTools: nothing reads this beside `tools`: write it as tools.t",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_key(written: object, told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_tool_search(written)
    assert str(refused.value).startswith(told)
    assert refused.value.code == "invalid_config"


def test_an_agents_fields_go_over_the_global_ones_one_by_one() -> None:
    whole: dict[str, Any] = {"enabled": "auto", "mode": "tools", "coreTools": ["read"]}
    assert load_tool_search(whole, overlay={"mode": "directory"}) == ToolSearchConfig(
        enabled="auto", mode="directory", core_tools=("read",)
    )
    assert load_tool_search(False, overlay={"mode": "directory"}).enabled == "off"
    assert load_tool_search(whole, overlay=False).enabled == "off"


def test_what_it_resolves_to_can_be_written_and_read_again(tmp_path: Path) -> None:
    config = load_tool_search({"mode": "directory", "coreTools": ["group:fs"], "contextSharePercent": 5})
    assert load_tool_search(config.to_dict()) == load_tool_search(config) == config
    file = tmp_path / "host.toml"
    file.write_text(
        '[tools.toolSearch]\nmode = "directory"\ncoreTools = ["group:fs"]\ncontextSharePercent = 5\n'
    )
    assert load_tool_search(read_document(file)) == config
