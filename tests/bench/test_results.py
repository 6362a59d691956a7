"""The side by side benchmark, from samples to the page: what it computes, and that it hides nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bench.side_by_side import __main__ as command
from bench.side_by_side import page, plots, prose, results, tables
from bench.side_by_side.compare import compare
from bench.side_by_side.footprint import per_run
from bench.side_by_side.lineup import LINEUP, Package, Subject
from bench.side_by_side.peers import install
from bench.side_by_side.results import Point, Results, SubjectFacts
from bench.side_by_side.rounds import Collected
from bench.side_by_side.samples import AnyCell, Cell, NoCell, summarise
from bench.side_by_side.verdicts import goals, standings
from bench.side_by_side.works import COLD

WORKER = LINEUP[0]


def steady(value: float) -> Cell:
    return summarise([[value], [value]])


def made(**cells: dict[str, AnyCell]) -> Results:
    """Results of a run in which these subjects took part; keys have _ for -."""
    titles = {subject.key: subject for subject in LINEUP}
    found = Results(
        {"cpu": "a", "cores": 2, "memory_gib": 1, "kernel": "k", "python": "p", "wasmtime": "w"}, {}
    )
    found.machine |= {"commit": "abc", "at": "then"}
    found.pace = {"rounds": 2, "is_quick": False}
    for name, row in cells.items():
        key = name.replace("_", "-")
        subject = titles[key]
        escape = "confined process" if subject.role == "ours" else "host"
        found.subjects[key] = SubjectFacts(
            subject.title, subject.role, subject.boundary, "1.0", escape=escape
        )
        found.cells[key] = row
    return found


def test_a_cell_is_the_median_of_the_rounds_and_shows_how_far_they_lie_apart() -> None:
    cell = summarise([[1.0, 2.0, 3.0], [4.0, 4.0, 4.0], [2.0, 3.0, 100.0]])
    expected = Cell(p50=3.0, p99=100.0, least=1.0, samples=9, rounds=(2.0, 4.0, 3.0), spread=1.0)
    assert cell == expected


def test_a_wrong_answer_in_one_round_leaves_no_time_of_that_work() -> None:
    collected = Collected()
    collected.add(WORKER, COLD, {"columns": {"ms": [1.0]}})
    collected.add(WORKER, COLD, {"error": "WrongAnswer: answered 3, expected 2"})
    failure = NoCell("WrongAnswer: answered 3, expected 2", failed=True)
    assert collected.cells() == {"worker": {"cold": failure}}


def test_memory_that_did_not_grow_is_a_failure_and_not_a_run_that_costs_nothing() -> None:
    shrunk = NoCell("memory went from 500 to 400 KiB with 10 runs more", failed=True)
    assert per_run(500, 400, 10) == shrunk
    assert per_run(500, 550, 10) == summarise([[5.0]])


def test_what_a_subject_does_not_have_is_no_failure() -> None:
    found = made(native={"hold tiny": NoCell("has no snapshot", failed=False)})
    assert found.failures() == []
    assert found.p50("native", "hold tiny.bytes") is None


def test_a_result_file_reads_as_it_was_written(tmp_path: Path) -> None:
    found = made(worker={"warm.ms": steady(1.5), "limit": NoCell("died", failed=True)})
    found.growth = {"tools": [Point(10, {"exec_ms": steady(1.0)})]}
    found.busy = [{"load": 0.5, "fixed_ms": 9.0}]
    file = tmp_path / "deep" / "a.json"
    results.write(found, file)
    assert results.read(file) == found
    assert found.failures() == ["worker, limit: died"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"machine": {}, "pace": {}, "format": 99}'])
def test_a_file_that_holds_no_results_is_refused_with_its_name(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    assert command.main(["compare", str(file), str(file)]) == 2
    assert str(file) in capsys.readouterr().err


def test_a_comparison_shows_changes_beyond_noise_and_no_others() -> None:
    before = made(
        worker={"warm.ms": steady(1.0), "one.ms": summarise([[1.0], [2.0]]), "par16.ms": steady(1.0)}
    )
    after = made(
        worker={"warm.ms": steady(2.0), "one.ms": summarise([[1.5], [2.5]]), "par16.ms": steady(1.05)}
    )
    lines = compare(before, after).splitlines()
    assert lines[0] == "3 numbers in both; 1 changed by more than their noise"
    assert [line.split() for line in lines[3:]] == [["worker:", "warm.ms", "1", "2", "2.00x", "±0", "%"]]


def test_a_comparison_takes_one_round_for_noise_until_it_is_twice_as_much() -> None:
    before = made(worker={"warm.ms": summarise([[1.0]]), "one.ms": summarise([[1.0]])})
    after = made(worker={"warm.ms": summarise([[1.9]]), "one.ms": summarise([[2.1]])})
    assert [line.split()[1] for line in compare(before, after).splitlines()[3:]] == ["one.ms"]


def test_a_comparison_says_first_what_makes_two_runs_incomparable() -> None:
    before, after = made(native={}), made(native={})
    after.machine["kernel"] = "other"
    after.subjects["native"].version = "2.0"
    before.busy, after.busy = [{"load": 0.1, "fixed_ms": 10.0}], [{"load": 9.0, "fixed_ms": 15.0}]
    assert compare(before, after).splitlines()[:3] == [
        "not the same kernel: k and other",
        "quickjs-ng, native: 1.0 and 2.0",
        "a fixed stretch of computing took 10.0 ms before and 15.0 ms after (1.50x)",
    ]


def test_a_lost_row_names_the_winner_and_where_its_escape_lands() -> None:
    found = made(worker={"warm.ms": steady(2.0)}, quickjs_emscripten={"warm.ms": steady(0.5)})
    (standing,) = standings(found)
    assert (standing.best, standing.is_won, standing.factor) == ("quickjs-emscripten", False, 4.0)
    told = prose.won_and_lost(found)
    assert told[0] == (
        "With the engines inside the host's process for company, codemode with a confined process for each"
        " leg is first in 0 of 1 rows."
    )
    assert told[2].startswith(
        "* lost: **1 + 1**, 2 ms against 0.5 of quickjs-emscripten, 4 times; an escape from that one lands"
    )


def test_the_verdict_counts_rows_among_engines_outside_the_hosts_process() -> None:
    found = made(
        worker={"warm.ms": steady(2.0), "crowd 8.per_second": steady(900)},
        session={"warm.ms": steady(0.9), "crowd 8.per_second": steady(3000)},
        monty={"warm.ms": steady(1.0), "crowd 8.per_second": steady(1000)},
        quickjs_emscripten={"warm.ms": steady(0.1), "crowd 8.per_second": steady(9000)},
    )
    found.subjects["monty"].escape = "own process"
    assert [one.is_won for one in standings(found, outside=True)] == [False, False]
    assert [one.is_won for one in standings(found, "session", outside=True)] == [True, True]
    assert prose.outside(found)[0].startswith(
        "codemode is first with a confined process for each leg in 0 of 2,"
        " with processes used again within a session in 2 of 2 rows. "
    )
    assert tables.outside(found) == [
        "|  | codemode | codemode, workerReuse within a session | pydantic-monty (Python) |",
        "| --- | --- | --- | --- |",
        "| 1 + 1 | 2 / 2 | **0.9 / 0.9** | 1 / 1 |",
        "| 8 callers (runs/s) | 900 | **3,000** | 1,000 |",
        "",
    ]
    told = {goal.title: goal.met for goal in goals(found)}
    assert told["1 + 1: ahead of pydantic-monty"] is False
    assert told["1 + 1, within a session: ahead of pydantic-monty"] is True
    assert told["8 callers: at least 0.8 times pydantic-monty's runs a second"] is True
    assert told["8 callers, within a session: at least 1 times pydantic-monty's runs a second"] is True


def test_what_a_run_costs_is_on_the_page_with_its_goals() -> None:
    found = made(worker={"warm.ms": steady(2.0)})
    found.costs = {"host, one call": 0.2, "worker, single-use": 0.7}
    told = {goal.title: goal.met for goal in goals(found)}
    assert told["processor time of the host for a run with one call, workers used again: at most 0.35 ms"]
    assert not told["processor time of a worker from fork to exit: at most 0.6 ms"]
    assert "| worker, single-use | 0.7 |" in page.render(found, {})


def test_throughput_is_won_by_the_higher_number() -> None:
    found = made(worker={"crowd 8.per_second": steady(900)}, isolated_vm={"crowd 8.per_second": steady(300)})
    assert [(one.is_won, one.factor) for one in standings(found)] == [(True, 3.0)]


def test_the_reference_wins_nothing_because_it_is_no_sandbox() -> None:
    assert standings(made(worker={"warm.ms": steady(2.0)}, native={"warm.ms": steady(0.1)})) == []


@pytest.mark.parametrize(("theirs", "met"), [(600_000, True), (599_999, False)])
def test_a_goal_is_met_at_its_bound_and_not_below(theirs: int, met: bool) -> None:
    sizes: dict[str, AnyCell] = {"hold tiny.bytes": Cell(theirs, theirs, theirs, 1, (theirs,), 0.0)}
    found = made(worker={"hold tiny.bytes": steady(3000)}, quickjs_rs=sizes)
    whole = next(goal for goal in goals(found) if "200 times" in goal.title)
    assert whole.met is met


def test_a_goal_without_its_peer_is_neither_met_nor_missed() -> None:
    monty = next(
        goal for goal in goals(made(worker={"hold tiny.bytes": steady(3000)})) if "monty" in goal.title
    )
    assert (monty.met, monty.facts) == (None, "nobody to compare with in this run")


def test_growth_beyond_the_bound_is_not_flat() -> None:
    found = made(worker={})
    found.growth = {
        "suspended": [
            Point(10, {"suspend_ms": steady(1.0), "resume_ms": steady(1.0)}),
            Point(1000, {"suspend_ms": steady(1.6), "resume_ms": steady(1.4)}),
        ]
    }
    flat = [(goal.title, goal.met) for goal in goals(found) if "flat" in goal.title]
    assert flat == [
        ("suspending one more stays flat to 1,000 suspended runs", False),
        ("resuming one stays flat to 1,000 suspended runs", True),
    ]


def test_the_page_reports_a_missing_peer_and_a_failed_one_in_its_tables(tmp_path: Path) -> None:
    found = made(
        worker={"warm.ms": steady(1.5)},
        quickjs_rs={"warm": NoCell("WrongAnswer: answered 3", failed=True)},
        monty={},
    )
    found.subjects["monty"].missing = "no such version"
    page.write(found, tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "| pydantic-monty (Python) | confined process | missing |" not in text
    assert "| pydantic-monty (Python) | host | missing |" in text
    assert "missing: no such version |" in text
    assert "| quickjs-rs | host | **failed**: WrongAnswer: answered 3 |" in text
    assert "| codemode | confined process | 1.5 / 1.5 |" in text


def test_every_plot_is_well_formed_and_labels_are_escaped() -> None:
    found = made(worker={"warm.ms": steady(0.02)}, monty={"warm.ms": steady(300.0)})
    found.subjects["monty"].title = "<b> & co"
    found.growth = {"tools": [Point(10, {"exec_ms": steady(1.0)}), Point(100, {"exec_ms": steady(1.0)})]}
    drawn = plots.draw(found)
    assert list(drawn) == ["warm", "growth-tools"]
    texts = [text for svg in drawn.values() for text in ElementTree.fromstring(svg).itertext()]
    assert "<b> & co" in texts


def test_a_peer_that_cannot_be_installed_is_missing_with_the_reason() -> None:
    nobody = Subject("nobody", "nobody", "peer", "monty.py", "", 1, Package("pypi", "no such name", "1"))
    try:
        missing = install(nobody)
    finally:
        nobody.folder.rmdir()
    assert missing is not None
    assert missing.startswith("no such name 1 could not be installed: ")
