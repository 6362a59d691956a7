"""Rounds: in each, every subject does every work, in turns, so that drift of the machine hits all alike.

A round starts its processes anew, and each round begins with another subject.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

from bench.side_by_side.lineup import Subject
from bench.side_by_side.samples import AnyCell, NoCell, summarise
from bench.side_by_side.session import Session, SubjectFailed
from bench.side_by_side.works import COLD, FLOORS, Pace, Work, works_of

PAUSE_SECONDS = 0.02  # what one subject still does after its answer is not the next one's to pay
ONCE = Pace(rounds=1, seconds=0.0, least=1, at_most_seconds=0.0)


class Collected:
    """Samples by subject, metric and round; and why there are none."""

    def __init__(self) -> None:
        self._samples: dict[tuple[str, str], list[list[float]]] = {}
        self._reasons: dict[tuple[str, str], NoCell] = {}

    def add(self, subject: Subject, work: Work, reply: dict[str, Any]) -> None:
        if "lacks" in reply:
            self._reasons[subject.key, work.key] = NoCell(reply["lacks"], failed=False)
        elif "error" in reply:
            self._reasons[subject.key, work.key] = NoCell(reply["error"], failed=True)
        else:
            for column, values in reply["columns"].items():
                self._samples.setdefault((subject.key, f"{work.key}.{column}"), []).append(values)

    def cells(self) -> dict[str, dict[str, AnyCell]]:
        """By subject and metric. A work that failed in one round has no times at all."""
        found: dict[str, dict[str, AnyCell]] = {}
        for (subject, work), reason in self._reasons.items():
            found.setdefault(subject, {})[work] = reason
        for (subject, metric), rounds in self._samples.items():
            if (subject, metric.rpartition(".")[0]) not in self._reasons:
                found.setdefault(subject, {})[metric] = summarise(rounds)
        return found


def run_round(
    collected: Collected, subjects: Sequence[Subject], number: int, pace: Pace, tell: Callable[[str], None]
) -> None:
    turn = number % len(subjects)
    order = [*subjects[turn:], *subjects[:turn]]
    tell("cold start")
    _cold_starts(collected, order, pace)
    take_turns(collected, order, works_of(pace, number), pace, tell)


def take_turns(
    collected: Collected,
    subjects: Sequence[Subject],
    works: Sequence[Work],
    pace: Pace,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Each work by each subject, in processes that are started for this and end with it."""
    with ExitStack() as stack:
        sessions = {subject.key: stack.enter_context(Session(subject)) for subject in subjects}
        for work in works:
            tell(work.key)
            for subject in subjects:
                if (work in FLOORS) == (subject.role == "floor"):
                    time.sleep(PAUSE_SECONDS)
                    request = work.request(subject.language, pace)
                    collected.add(subject, work, _reply(sessions[subject.key], request))


def _reply(session: Session, request: dict[str, Any] | None) -> dict[str, Any]:
    if request is None:
        return {"lacks": "cannot be said in its language"}
    try:
        return session.ask(request)
    except SubjectFailed as failure:  # and so will whatever it is asked next
        return {"error": str(failure)}


def _cold_starts(collected: Collected, subjects: Sequence[Subject], pace: Pace) -> None:
    """From nothing to the answer of 1 + 1, with whatever the subject keeps on disk in place."""
    times: dict[str, list[float]] = {}
    for _ in range(pace.cold_starts):
        for subject in subjects:
            if subject.role == "floor":
                continue
            with Session(subject) as session:
                reply = _reply(session, COLD.request(subject.language, ONCE))
                took = (time.perf_counter() - session.began) * 1000
            if "columns" in reply:
                times.setdefault(subject.key, []).append(took)
            else:
                collected.add(subject, COLD, reply)
    for subject in subjects:
        if subject.key in times:
            collected.add(subject, COLD, {"columns": {"ms": times[subject.key]}})
