"""Hints between processes that share one SQLite file: a thread asks SQLite whether another one has written.

Asking takes a few microseconds and reads no data; only after a change are the watched runs compared. While
nothing is watched the thread sleeps.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection

from codemode_snapshots.errors import StoreUnavailable
from codemode_snapshots.run_store import Changed

_log = logging.getLogger("codemode.store")
_SOON_S = 0.003
_ALONE_S = 0.025  # while a caller waits, but no other process has written for a while
_QUIET_S = 0.2
_FAILING_S = 1.0
_ALONE_AFTER_S = 20.0  # longer than two beats of another node are apart


class SqliteFeed:
    """Feed of one node. The thread begins with the first run that is watched."""

    def __init__(
        self,
        version: Callable[[], int],
        changes: Callable[[Collection[str]], dict[str, int]],
        changed: Changed,
    ) -> None:
        self._version = version
        self._changes = changes
        self._changed = changed
        self._watched: dict[str, bool] = {}  # and whether a caller waits for it
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._seen = version()

    def watch(self, run_id: str, *, soon: bool = False) -> None:
        with self._news:
            self._watched[run_id] = soon
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(target=self._poll, name="codemode-feed", daemon=True)
                self._thread.start()
            self._news.notify()

    def forget(self, run_id: str) -> None:
        with self._news:
            self._watched.pop(run_id, None)

    def close(self) -> None:
        with self._news:
            self._is_closed = True
            self._news.notify()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _poll(self) -> None:
        known: dict[str, int | None] = {}
        written_at, is_failing = time.monotonic(), False
        while (watched := self._pause(time.monotonic() - written_at, is_failing=is_failing)) is not None:
            try:
                version = self._version()
                has_changed = version != self._seen
                if not has_changed and watched.keys() <= known.keys():
                    continue
                found = self._changes(watched.keys())
                # a run that is new here may have changed between the two looks above: nobody would hear of it
                has_changed = has_changed or self._version() != version
                is_failing = False
            except StoreUnavailable as error:
                if not is_failing:
                    _log.warning("the store could not be asked for changes: %s", error)
                known, self._seen, is_failing = {}, -1, True
                continue
            if has_changed:
                self._seen, written_at = version, time.monotonic()
            before, known = known, {run_id: found.get(run_id) for run_id in watched}
            # nobody knows what a run was before that is new here, so after a change it counts as changed
            told = [id for id in watched if (before[id] != known[id] if id in before else has_changed)]
            if told:
                self._changed(told)

    def _pause(self, quiet_s: float, *, is_failing: bool) -> dict[str, bool] | None:
        """Waits until it is time to ask again; what is watched then, or None at the end."""
        with self._news:
            while not self._watched and not self._is_closed:
                self._news.wait()
            if not self._is_closed:
                self._news.wait(self._pause_s(quiet_s, is_failing=is_failing))
            return None if self._is_closed else dict(self._watched)

    def _pause_s(self, quiet_s: float, *, is_failing: bool) -> float:
        if is_failing:
            return _FAILING_S
        if not any(self._watched.values()):
            return _QUIET_S
        return _ALONE_S if quiet_s > _ALONE_AFTER_S else _SOON_S
