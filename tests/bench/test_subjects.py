"""The processes of the side by side benchmark: programs give their answers, failures are said."""

from __future__ import annotations

from typing import Any

import pytest

from bench.side_by_side import footprint, plots, programs, tables
from bench.side_by_side.footprint import IN_HOST
from bench.side_by_side.lineup import LINEUP, Subject
from bench.side_by_side.measure import grow
from bench.side_by_side.programs import KERNELS, Program
from bench.side_by_side.results import Results
from bench.side_by_side.samples import NoCell
from bench.side_by_side.session import Session, SubjectFailed
from bench.side_by_side.subjects.growth import SERIES
from bench.side_by_side.works import QUICK, Pace, Work

pytestmark = pytest.mark.usefixtures("leaves_nothing")

ONCE = Pace(rounds=1, seconds=0.0, least=1, at_most_seconds=60.0)
SUBJECTS = {subject.key: subject for subject in LINEUP}
GUEST, WORKER, NATIVE = SUBJECTS["guest"], SUBJECTS["worker"], SUBJECTS["native"]
RUN = {
    "one plus one": programs.ONE_PLUS_ONE,
    "one call": programs.ONE_CALL,
    "sequence": programs.sequential(5),
    "parallel": programs.PARALLEL,
    **KERNELS,
}


def asked(session: Session, verb: str, program: Program, **extra: Any) -> dict[str, Any]:
    request = Work("test", verb, program, warm_up=False, extra=extra).request("javascript", ONCE)
    assert request is not None
    return session.ask(request)


def columns(reply: dict[str, Any]) -> set[str]:
    assert "columns" in reply, reply
    return set(reply["columns"])


@pytest.mark.parametrize("subject", [GUEST, WORKER, NATIVE], ids=lambda subject: subject.key)
def test_every_program_gives_the_answer_it_is_checked_for(subject: Subject) -> None:
    with Session(subject) as session:
        replies = {name: asked(session, "run", program) for name, program in RUN.items()}
    assert {name: columns(reply) for name, reply in replies.items()} == {
        name: {"ms", "inner_ms"} for name in RUN
    }


@pytest.mark.parametrize("subject", [GUEST, WORKER], ids=lambda subject: subject.key)
def test_both_levels_suspend_resume_and_know_typescript(subject: Subject) -> None:
    with Session(subject) as session:
        assert {"suspend_ms", "resume_ms", "bytes"} <= columns(asked(session, "hold", programs.HOLD_TINY))
        assert {"suspend_ms", "resume_ms", "bytes"} <= columns(asked(session, "hold", programs.hold_rows(50)))
        assert columns(asked(session, "run", programs.TYPESCRIPT)) == {"ms", "inner_ms"}
        assert columns(asked(session, "run", programs.TYPESCRIPT_ENUM)) == {"ms", "inner_ms"}
        assert columns(asked(session, "limit", programs.ENDLESS, limit_ms=100)) == {"ms"}
        assert columns(asked(session, "crowd", programs.ONE_CALL, callers=3)) == {"ms", "per_second"}


def test_a_wrong_answer_is_an_error_and_not_a_time() -> None:
    with Session(GUEST) as session:
        reply = asked(session, "run", Program("return 3", None, 2))
    assert reply == {"error": "WrongAnswer: answered 3, expected 2"}


def test_what_a_subject_cannot_do_is_a_lack_and_not_an_error() -> None:
    with Session(NATIVE) as session:
        assert asked(session, "hold", programs.HOLD_TINY) == {
            "lacks": "has no snapshot of a program that waits"
        }
        assert asked(session, "run", programs.TYPESCRIPT) == {"lacks": "runs no typescript"}


def test_a_process_that_cannot_start_is_reported_with_its_last_words() -> None:
    nobody = Subject("nobody", "nobody", "peer", "no_such_script.py", "", 1)
    with Session(nobody) as session, pytest.raises(SubjectFailed, match=r"ended.*no_such_script"):
        asked(session, "run", programs.ONE_PLUS_ONE)


def test_a_process_that_stays_silent_is_ended() -> None:
    with Session(GUEST) as session, pytest.raises(SubjectFailed, match="did not answer in time"):
        session.ask({"verb": "run"}, patience=0.0)


def test_an_escape_lands_in_the_host_only_where_there_is_no_worker() -> None:
    assert footprint.escape_lands_in(GUEST) == IN_HOST
    assert footprint.escape_lands_in(WORKER) != IN_HOST


def test_growth_is_measured_at_each_size_and_its_failure_costs_no_other_number() -> None:
    found = Results({}, {})
    grow(found, "calls", QUICK)
    grow(found, "nothing", QUICK)
    assert [(point.x, list(point.cells)) for point in found.growth["calls"]] == [
        (calls, ["ms_per_call"]) for calls in (1, 10, 100, 1000)
    ]
    assert found.cells == {"worker": {"growth, nothing": NoCell("KeyError: 'nothing'", failed=True)}}


def test_every_series_of_growth_has_a_table_and_a_plot() -> None:
    assert list(SERIES) == list(tables.GROWS) == list(plots.LINES)


@pytest.mark.parametrize("name", [*KERNELS, "one plus one"])
def test_the_python_twin_of_a_program_computes_the_same(name: str) -> None:
    program = RUN[name]
    assert program.python is not None
    *lines, last = program.python.splitlines()
    body = "\n".join(f"    {line}" for line in [*lines, f"return {last}"])  # in a function, where it is quick
    names: dict[str, Any] = {}
    exec(f"def program():\n{body}", names)
    assert names["program"]() == program.answer_in("python")
