"""This engine as a node of its run store: its lease, and what happens when it is lost.

Beats come from a thread of their own: a tool that holds up the event loop must not cost the lease. A node
whose lease lapsed is dead for ever: others may have taken over what it held. So it stops that, and joins anew
under another name.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable

from codemode_snapshots import NodeInfo, Owner, RunStore, SnapshotError, Totals, new_owner

_log = logging.getLogger("codemode.engine")
_PATIENCE_S = 1.0  # before a beat that failed is tried again


class Node:
    """One engine's membership; `fenced` is called in the beating thread when the lease was lost."""

    def __init__(self, store: RunStore, key_ids: tuple[str, ...], totals: Callable[[], Totals]) -> None:
        self._store = store
        self._key_ids = key_ids
        self._totals = totals
        self._lease_s = store.lease_ms / 1000
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._good_until = 0.0
        self.name = ""
        self.is_draining = False

    def join(self, fenced: Callable[[], None]) -> None:
        """Blocks while the store does."""
        self._enter()
        if self._lease_s:
            self._thread = threading.Thread(
                target=self._beat_for_ever, args=(fenced,), name="codemode-beat", daemon=True
            )
            self._thread.start()

    def join_anew(self) -> None:
        self._enter()

    def drain(self) -> None:
        """Says so at once, and with every beat from now on. Blocks while the store does."""
        self.is_draining = True
        self._store.beat(self.name, self._totals(), draining=True)

    def leave(self) -> None:
        """Ends the beats first: a beat after this would say that the node was fenced."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.name:
            self._store.leave(self.name)

    def may_dispatch(self) -> bool:
        """Whether the lease holds for long enough to begin something that others must not do too."""
        return not self._lease_s or time.monotonic() < self._good_until

    def _enter(self) -> None:
        began, name = time.monotonic(), secrets.token_hex(8)
        process = Owner(name, *_process())
        self._store.join(NodeInfo(name, (), self._key_ids, process.encode()))
        self.name = name
        self._renew(began)

    def _renew(self, began: float) -> None:
        # a fifth of the lease stays for what is dispatched last to arrive at its tool
        self._good_until = began + self._lease_s * 0.8

    def _beat_for_ever(self, fenced: Callable[[], None]) -> None:
        pause = self._lease_s / 3
        while not self._over.wait(pause):
            began, name = time.monotonic(), self.name
            try:
                is_alive = self._store.beat(name, self._totals(), draining=self.is_draining)
            except SnapshotError as error:
                _log.warning("the lease on the store could not be renewed: %s", error)
                pause = min(_PATIENCE_S, self._lease_s / 10)
                continue
            pause = self._lease_s / 3
            if is_alive:
                self._renew(began)
            elif name == self.name:
                self._good_until = 0.0
                fenced()


def _process() -> tuple[int, str, str, str]:
    here = new_owner()
    return here.pid, here.started, here.boot, here.namespace
