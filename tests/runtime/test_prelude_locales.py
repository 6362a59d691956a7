"""Texts for people without Intl: en-US and UTC are right, and whatever else is asked for is told.

locales.json holds what Node makes of the same calls.
"""

from tests.harness.guests import run
from tests.runtime.prelude.context import load_cases, prelude_context, run_cases, unexpected


def ignored(program: str) -> list[str]:
    return [message["what"] for message in run(program).messages if message["type"] == "ignored"]


def test_numbers_dates_and_the_order_of_texts_are_those_of_node_in_english() -> None:
    cases = load_cases("locales.json")
    assert len(cases) >= 1000
    assert unexpected(cases, run_cases(cases)) == []


def test_methods_have_the_lengths_of_the_standard_and_construct_nothing() -> None:
    context = prelude_context()
    lengths = context.eval(
        "JSON.stringify([Number.prototype.toLocaleString.length, Date.prototype.toLocaleDateString.length,"
        " String.prototype.localeCompare.length, String.prototype.localeCompare.name])"
    )
    assert lengths == '[0,0,1,"localeCompare"]'
    assert context.eval("try { new (1).toLocaleString() } catch (e) { e.name }") == "TypeError"


def test_a_locale_a_time_zone_and_an_option_that_are_ignored_are_told_once_each() -> None:
    assert ignored(
        """for (let i = 0; i < 3; i++) {
          (1.5).toLocaleString("de-DE", { style: "currency", currency: "EUR" });
          new Date(0).toLocaleString("en-US", { timeZone: "America/New_York" });
          "a".localeCompare("b", "sv");
          (1e6).toLocaleString("en-US", { notation: "compact" });
        }
        return 1"""
    ) == [
        'locale "de-DE" (toLocaleString of a number)',
        'timeZone "America/New_York" (toLocaleString of a date)',
        'locale "sv" (localeCompare)',
        'notation "compact" (toLocaleString of a number)',
    ]


def test_what_is_right_is_not_told() -> None:
    assert (
        ignored(
            """(1.5).toLocaleString(); (1.5).toLocaleString("en-US", { style: "currency", currency: "USD" });
            new Date(0).toLocaleDateString("en-US", { timeZone: "UTC" }); "ä".localeCompare("z", "de");
            "ä".localeCompare("z", ["de-AT"]); (1.5).toLocaleString([]); return 1"""
        )
        == []
    )


def test_at_most_eight_things_are_told_and_long_ones_are_cut() -> None:
    told = ignored('for (let i = 0; i < 20; i++) "a".localeCompare("b", i + "x".repeat(50)); return 1')
    assert len(told) == 8
    assert told[1] == f'locale "1{"x" * 39}…" (localeCompare)'


def test_a_locale_that_is_no_text_does_not_end_the_program() -> None:
    done = run('return ["a".localeCompare("b", { toString() { throw 1 } }), (5).toLocaleString(Symbol())]')
    assert done.value == [-1, "5"]
