"""Hints between nodes by LISTEN and NOTIFY: "these runs changed". They carry no data and may be lost.

One thread and one connection of its own do both. A hint is sent after the change was committed, never inside
the writing transaction: NOTIFY holds a lock of the whole database until its transaction ends, which makes
writers wait for each other. Hints that come close together travel in one notification.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import select
import threading
import time
from collections.abc import Callable, Collection, Iterable

import msgspec
import psycopg

from codemode_snapshots.errors import StoreUnavailable
from codemode_snapshots.postgres_connections import Connection, connect

_log = logging.getLogger("codemode.store")

CHANNEL = "codemode"
_PAYLOAD_BYTES_MAX = 7_500  # a notification takes less than 8,000
_WAITING_MAX = 10_000  # hints kept while the server is away; past it "everything" is shorter
_EVERYTHING: tuple[str, ...] = ()
_BACKOFF_S = (0.05, 5.0)


class PostgresFeed:
    """One node's end of the hints: passes on those for runs that the node watches."""

    def __init__(
        self, node: str, changed: Callable[[Collection[str]], None], end: Callable[[PostgresFeed], None]
    ) -> None:
        self.node = node
        self._changed = changed
        self._end = end
        self._watched: set[str] = set()
        self._is_closed = False

    def watch(self, run_id: str, *, soon: bool = False) -> None:  # noqa: ARG002 - nothing here is polled
        self._watched.add(run_id)

    def forget(self, run_id: str) -> None:
        self._watched.discard(run_id)

    def close(self) -> None:
        self._is_closed = True
        self._end(self)

    def pass_on(self, run_ids: Iterable[str]) -> None:
        watched = tuple(run_id for run_id in run_ids if run_id in self._watched)
        if watched and not self._is_closed:
            self._changed(watched)

    def look_again(self) -> None:
        """Hints were missed: whatever is watched may have changed."""
        self.pass_on(tuple(self._watched))


class HintLine:
    """The line between this process and the others: one thread, one connection, any number of feeds."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._feeds: tuple[PostgresFeed, ...] = ()
        self._pending: dict[str, None] = {}
        self._sends_everything = False
        self._is_closed = False
        self._guard = threading.Lock()
        self._woken, self._wakes = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(self._wakes, False)
        self.is_listening = False
        self._thread = threading.Thread(target=self._run, name="codemode-feed", daemon=True)
        self._thread.start()

    def feed(self, node: str, changed: Callable[[Collection[str]], None]) -> PostgresFeed:
        feed = PostgresFeed(node, changed, self._forget)
        with self._guard:
            self._feeds = (*self._feeds, feed)
        return feed

    def tell(self, run_ids: Collection[str], by: str | None) -> None:
        """Other nodes hear of it: those of this process now, the others soon. Never raises."""
        for feed in self._feeds:
            if feed.node != by:
                feed.pass_on(run_ids)
        with self._guard:
            was_empty = not self._pending and not self._sends_everything
            self._pending.update(dict.fromkeys(run_ids))
            if len(self._pending) > _WAITING_MAX:
                self._pending.clear()
                self._sends_everything = True
        if was_empty:
            self._wake()

    def close(self) -> None:
        """Sends what is waiting, if the server is there, and ends the thread."""
        if self._is_closed:
            return
        self._is_closed = True
        self._wake()
        self._thread.join()
        os.close(self._woken)
        os.close(self._wakes)

    def _forget(self, feed: PostgresFeed) -> None:
        with self._guard:
            self._feeds = tuple(other for other in self._feeds if other is not feed)

    def _look_again(self) -> None:
        for feed in self._feeds:
            feed.look_again()

    def _run(self) -> None:
        pause_s, is_told = _BACKOFF_S[0], False
        while not self._is_closed:
            try:
                with contextlib.closing(
                    connect(self._url, prepared=False, name="codemode feed")
                ) as connection:
                    connection.execute(b"SET synchronous_commit = off")
                    connection.execute(f"LISTEN {CHANNEL}".encode())
                    pause_s, is_told = _BACKOFF_S[0], False
                    self._look_again()
                    self.is_listening = True
                    self._serve(connection)
            except (psycopg.Error, StoreUnavailable, OSError) as error:
                if not is_told:  # once for each time that the server is away
                    _log.warning("hints of other nodes are late, PostgreSQL is looked for again: %s", error)
                is_told = True
            finally:
                self.is_listening = False
            if not self._is_closed:
                self._pause(pause_s * random.uniform(0.5, 1.5))  # noqa: S311 - nodes must not return in step
                pause_s = min(2 * pause_s, _BACKOFF_S[1])

    def _serve(self, connection: Connection) -> None:
        waiting = select.poll()
        waiting.register(connection.pgconn.socket, select.POLLIN)
        waiting.register(self._woken, select.POLLIN)
        heard: list[str] = []
        own = connection.info.backend_pid

        def hear(notice: psycopg.Notify) -> None:
            if notice.pid != own:
                heard.append(notice.payload)

        connection.add_notify_handler(hear)  # for those that come with the answer to a statement
        while True:
            self._send(connection)
            while (notice := connection.pgconn.notifies()) is not None:
                if notice.be_pid != own:
                    heard.append(notice.extra.decode())
            self._pass_on(heard)
            heard.clear()
            if self._is_closed:
                return
            waiting.poll()
            self._drain()
            connection.pgconn.consume_input()

    def _send(self, connection: Connection) -> None:
        with self._guard:
            if self._sends_everything:
                payloads = [msgspec.json.encode(_EVERYTHING)]
            else:
                payloads = list(_payloads(self._pending))
            self._pending.clear()
            self._sends_everything = False
        try:
            for payload in payloads:
                connection.execute(b"SELECT pg_notify(%s, %s)", (CHANNEL, payload.decode()))
        except psycopg.Error:
            self._sends_everything = True  # as soon as the server is back
            raise

    def _pass_on(self, payloads: Iterable[str]) -> None:
        changed: dict[str, None] = {}
        for payload in payloads:
            try:
                run_ids = msgspec.json.decode(payload, type=tuple[str, ...])
            except msgspec.MsgspecError:  # of another program; whatever it meant, looking again is right
                run_ids = _EVERYTHING
            if run_ids == _EVERYTHING:
                self._look_again()
            changed.update(dict.fromkeys(run_ids))
        for feed in self._feeds if changed else ():
            feed.pass_on(changed)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full: the thread will wake
            os.write(self._wakes, b"\0")

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, 4096)

    def _pause(self, seconds: float) -> None:
        """Sleeps; hints that arrive meanwhile wait, the end does not."""
        until = time.monotonic() + seconds
        waiting = select.poll()
        waiting.register(self._woken, select.POLLIN)
        while not self._is_closed and (left := until - time.monotonic()) > 0:
            if waiting.poll(left * 1000):
                self._drain()


def _payloads(run_ids: Iterable[str]) -> Iterable[bytes]:
    batch: list[str] = []
    size = 0
    for run_id in run_ids:
        cost = len(msgspec.json.encode(run_id)) + 1
        if batch and size + cost > _PAYLOAD_BYTES_MAX:
            yield msgspec.json.encode(batch)
            batch, size = [], 0
        batch.append(run_id)
        size += cost
    if batch:
        yield msgspec.json.encode(batch)
