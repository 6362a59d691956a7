"""The feed of a SQLite file, where two looks at the file decide: what happens between them is not lost."""

import threading
from collections.abc import Collection

from codemode_snapshots.sqlite_feed import SqliteFeed


class File:
    """A file that another process writes to just when the watched runs are read for the first time."""

    def __init__(self) -> None:
        self.version = 1
        self.reads = 0

    def changes(self, run_ids: Collection[str]) -> dict[str, int]:
        self.reads += 1
        if self.reads == 1:
            self.version += 1
        return {}  # the run has ended


def test_a_run_that_ends_between_the_two_looks_of_its_first_watch_is_told() -> None:
    file, told = File(), threading.Event()
    heard: list[list[str]] = []

    def changed(run_ids: Collection[str]) -> None:
        heard.append([*run_ids])
        told.set()

    feed = SqliteFeed(lambda: file.version, file.changes, changed)
    feed.watch("run-1", soon=True)
    assert told.wait(20)
    feed.close()
    assert heard == [["run-1"]]
