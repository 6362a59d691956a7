"""The settings table: a row says everything about a field, and nothing else has to."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from codemode_runtime.shapes import Limits
from codemode_snapshots import StoreLimits
from msgspec import Struct

from codemode.config import CodeModeConfig, EngineSettings, ToolSearchConfig
from codemode.config.rows import Row, Says, help_of, in_words, rows_of
from codemode.config.rules import Flag, Number, OneOf, SomeOf

SECTIONS: list[type[Struct]] = [CodeModeConfig, EngineSettings, ToolSearchConfig]
ROWS = [row for section in SECTIONS for row in rows_of(section).values()]


class Example(Struct, rename="camel"):
    is_on: Annotated[bool, Says("a flag")] = False
    kind: Annotated[Literal["a", "b"], Says("a word of `two`")] = "a"
    kinds: Annotated[tuple[Literal["a", "b"], ...], Says("some words")] = ("b",)
    share: Annotated[int, Number(0, 100, "%"), Says("a number", reached="nothing")] = 50


def test_a_row_is_read_from_the_type_what_it_says_and_its_default() -> None:
    assert list(rows_of(Example).values()) == [
        Row("isOn", "is_on", False, Flag(), Says("a flag")),
        Row("kind", "kind", "a", OneOf(("a", "b")), Says("a word of `two`")),
        Row("kinds", "kinds", ("b",), SomeOf(("a", "b")), Says("some words")),
        Row("share", "share", 50, Number(0, 100, "%"), Says("a number", reached="nothing")),
    ]


def test_a_row_of_a_type_that_has_no_rule_is_refused() -> None:
    class Odd(Struct):
        share: Annotated[float, Says("a number")] = 0.5

    with pytest.raises(TypeError, match="has to say its rule"):
        rows_of(Odd)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.attribute)
def test_each_row_has_a_meaning_and_a_default_that_its_own_rule_takes_as_it_is(row: Row) -> None:
    assert row.says.meaning
    assert row.rule.read(row.key, row.default) == row.default


def test_each_number_has_a_unit_and_only_numbers_say_what_happens_at_the_limit() -> None:
    assert [row.key for row in ROWS if isinstance(row.rule, Number) and not row.rule.unit] == []
    assert [row.key for row in ROWS if row.says.reached and not isinstance(row.rule, Number)] == []


def test_the_planes_below_have_the_tables_numbers_where_nobody_sets_any() -> None:
    config, settings, limits, store = CodeModeConfig(), EngineSettings(), Limits(), StoreLimits()
    assert limits.memory_bytes == config.memory_limit_bytes
    assert limits.output_bytes == config.max_output_bytes
    assert limits.pending_calls == config.max_pending_tool_calls
    assert store.max_snapshot_bytes == config.max_snapshot_bytes
    assert store.max_snapshots == settings.max_suspended_runs
    assert store.max_total_bytes == settings.max_store_bytes


@pytest.mark.parametrize(
    ("number", "unit", "words"),
    [
        (0, "bytes", "0"),
        (1000, "bytes", "1,000 bytes"),
        (65536, "bytes", "64 KiB"),
        (10 << 20, "bytes", "10 MiB"),
        (1 << 50, "bytes", "1 PiB"),
        (500, "ms", "500 ms"),
        (10_000, "ms", "10 s"),
        (900, "s", "15 min"),
        (86_400, "s", "24 h"),
        (1000, "legs", "1,000 legs"),
        (7, "", "7"),
    ],
)
def test_a_number_is_told_in_the_largest_unit_that_leaves_it_whole(
    number: int, unit: str, words: str
) -> None:
    assert in_words(number, unit) == words


def test_the_help_of_an_option_has_no_markup_and_nothing_that_argparse_would_fill_in() -> None:
    rows = rows_of(Example)
    assert help_of(rows["kind"]) == "a word of two (default a)"
    assert help_of(rows["share"]) == "a number (default 50 %%)"
    assert help_of(rows_of(EngineSettings)["warmWorkers"]).endswith("(default one per core, at least 2)")
