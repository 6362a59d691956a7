"""Hints from node to node over a real server: who hears what, and what happens when the line is cut."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Collection, Iterator

import pytest
from codemode_snapshots.postgres_feed import HintLine

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.postgres import postgres_server, run_sql

AGAIN = "watched, and changed by nobody"  # a hint at it says that whatever is watched is looked at again
CUT = """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE application_name = 'codemode feed' AND datname = current_database()"""


class Ear:
    """A node on a line of its own, as in a process of its own, and the hints it got, in order."""

    names = itertools.count(1)

    def __init__(self, url: str) -> None:
        self._heard: queue.Queue[str] = queue.Queue()
        self.node = f"node-{next(self.names)}"
        self.line = HintLine(url)
        self.feed = self.line.feed(self.node, self._changed)

    def _changed(self, run_ids: Collection[str]) -> None:
        for run_id in run_ids:
            self._heard.put(run_id)

    def watch(self, *run_ids: str) -> None:
        for run_id in run_ids:
            self.feed.watch(run_id)

    def tell(self, *run_ids: str) -> None:
        self.line.tell(run_ids, self.node)

    def next(self) -> str:
        return self._heard.get(timeout=PATIENCE_SECONDS)

    def until(self, wanted: str) -> list[str]:
        heard = [self.next()]
        while heard[-1] != wanted:
            heard.append(self.next())
        return heard


def pair(url: str) -> tuple[Ear, Ear]:
    """Two that hear each other, and have heard nothing but that."""
    both = Ear(url), Ear(url)
    for ear in both:
        ear.watch(AGAIN)
        while not ear.line.is_listening:
            pass
        ear.watch("ready")
    for ear in both:
        ear.tell("ready")
    for ear in both:
        ear.until("ready")
    return both


@pytest.fixture
def ears(database: str) -> Iterator[tuple[Ear, Ear]]:
    both = pair(database)
    yield both
    for ear in both:
        ear.line.close()


def test_what_one_node_changes_the_others_hear_and_it_does_not(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    for ear in ears:
        ear.watch("run-1", "run-2", "run-3")
    ours.tell("run-1", "run-2")
    assert theirs.until("run-2") == ["run-1", "run-2"]
    theirs.tell("run-3")
    assert ours.next() == "run-3"


def test_nodes_of_one_process_hear_each_other_without_the_server(tmp_path: str) -> None:
    line = HintLine(f"postgresql:///x?host={tmp_path}")
    heard: list[tuple[str, Collection[str]]] = []
    for node in ("node-a", "node-b"):
        line.feed(node, lambda run_ids, node=node: heard.append((node, run_ids))).watch("run-1")
    line.tell(["run-1", "run-2"], "node-a")
    assert heard == [("node-b", ("run-1",))]
    line.close()


def test_a_node_hears_only_of_what_it_watches(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    theirs.watch("run-2", "run-3")
    theirs.feed.forget("run-2")
    ours.tell("run-1", "run-2", "run-3")
    assert theirs.next() == "run-3"


def test_many_hints_arrive_each_once(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    names = [f"run-{number:04}-{'x' * 100}" for number in range(500)]
    theirs.watch(*names)
    for name in names:
        ours.tell(name)
    assert theirs.until(names[-1]) == names


def test_ids_of_any_letters_arrive_as_they_are(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    names = ["a b", "line\nbreak", '"quoted", [1]', "ü" * 500, "\x01" * 1000]
    theirs.watch(*names)
    ours.tell(*names)
    assert theirs.until(names[-1]) == names


def test_a_line_that_was_cut_is_mended_and_everything_is_looked_at_again(
    ears: tuple[Ear, Ear], database: str
) -> None:
    run_sql(database, CUT)
    for ear in ears:
        ear.watch("run-1")
        ear.until(AGAIN)
    ears[0].tell("run-1")
    ears[1].until("run-1")


def test_a_server_that_was_away_has_everything_looked_at_again() -> None:
    with postgres_server() as server:
        ours, theirs = pair(server.url())
        server.stop()
        server.start()
        for ear in (ours, theirs):
            ear.until(AGAIN)
        theirs.watch("run-1")
        ours.tell("run-1")
        theirs.until("run-1")
        ours.line.close()
        theirs.line.close()


def test_more_hints_than_can_wait_become_a_look_at_everything(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    ours.tell(*(f"run-{number}" for number in range(20_000)))
    assert theirs.until(AGAIN)[-1] == AGAIN


def test_a_notification_of_another_program_is_a_look_at_everything(
    ears: tuple[Ear, Ear], database: str
) -> None:
    run_sql(database, "NOTIFY codemode, 'not ours'")
    for ear in ears:
        ear.until(AGAIN)


def test_a_closed_feed_hears_nothing_more(ears: tuple[Ear, Ear]) -> None:
    ours, theirs = ears
    theirs.watch("run-1")
    other = theirs.line.feed("node-x", theirs._changed)  # pyright: ignore[reportPrivateUsage] - the same ear
    other.watch("run-2")
    theirs.feed.close()
    ours.tell("run-1", "run-2")
    assert theirs.next() == "run-2"


@pytest.mark.usefixtures("leaves_nothing")
def test_a_closed_line_has_told_what_it_was_given_and_leaves_nothing(database: str) -> None:
    ours, theirs = pair(database)
    theirs.watch("last")
    ours.tell("last")
    ours.line.close()
    ours.line.close()
    theirs.until("last")
    theirs.line.close()


@pytest.mark.usefixtures("leaves_nothing")
def test_a_line_to_a_server_that_was_never_there_can_be_closed(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    line = HintLine(f"postgresql:///x?host={tmp_path_factory.mktemp('empty')}")
    line.tell(["run-1"], None)
    line.close()
