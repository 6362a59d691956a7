"""Any configuration is loaded within its clamps or refused in one way; what was loaded loads again."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from codemode.config import CodeModeConfig, ConfigError, load_config
from codemode.config.relaxed_json import JsonRefused, parse_json

KEYS = sorted(load_config().to_dict())
LIMITS = {
    "timeoutMs": (100, 60_000),
    "memoryLimitBytes": (1 << 20, 1 << 30),
    "maxOutputBytes": (1 << 10, 10 << 20),
    "maxSnapshotBytes": (1 << 10, 256 << 20),
    "maxPendingToolCalls": (1, 128),
    "snapshotTtlSeconds": (1, 86_400),
    "searchDefaultLimit": (1, 50),
    "maxSearchLimit": (1, 50),
}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
NUMBERS = st.dictionaries(
    st.sampled_from(sorted(LIMITS)), st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(), PLAIN | st.floats()) | PLAIN)
def test_any_value_is_loaded_or_refused_as_configuration(value: object) -> None:
    with suppress(ConfigError):
        assert_within_clamps(load_config(value))


@given(NUMBERS, NUMBERS)
def test_numbers_end_within_their_clamps_whatever_is_overlaid(
    overall: dict[str, float], agent: dict[str, float]
) -> None:
    config = load_config(overall, overlay=agent)
    assert_within_clamps(config)
    assert load_config(config) == load_config(config.to_dict()) == config
    for key, value in agent.items():
        low, high = LIMITS[key]
        if key != "searchDefaultLimit":
            assert config.to_dict()[key] == int(min(max(value, low), high))


def assert_within_clamps(config: CodeModeConfig) -> None:
    found = config.to_dict()
    for key, (low, high) in LIMITS.items():
        assert low <= found[key] <= high
    assert config.search_default_limit <= config.max_search_limit


@given(PLAIN)
def test_all_plain_json_is_relaxed_json(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert parse_json(text) == json.loads(text)


@given(st.text() | st.text("{}[]:,\"'\\/*+-.0123456789xeEINa \n"))
def test_any_text_is_relaxed_json_or_refused(text: str) -> None:
    with suppress(JsonRefused):
        json.dumps(parse_json(text))
