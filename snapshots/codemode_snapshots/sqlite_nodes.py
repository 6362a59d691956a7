"""The nodes of a run store in SQLite: their leases, and which of them are dead.

All users of one file share one kernel, because WAL needs shared memory. So leases are kept by the clock that
counts since boot, which nobody sets; and the end of a process is seen at once, before its lease lapses.
"""

import sqlite3
import time
from collections.abc import Iterable

import msgspec

from codemode_snapshots.owner import Owner, is_alive, new_owner
from codemode_snapshots.records import NodeInfo

_SELF = new_owner()


class Nodes:
    """Reads and writes the table `nodes`. The caller has a transaction open.

    A node is judged once in a transaction. Otherwise a process that ends between two looks is alive when
    it is asked whether its run is over, dead when it is asked who holds it, and the run is given out again.
    """

    def __init__(self, connection: sqlite3.Connection, lease_ms: int) -> None:
        self._connection = connection
        self._lease_ms = lease_ms
        self._judged: dict[str, bool] = {}

    def begin(self) -> None:
        """Call at the start of a transaction."""
        self._judged.clear()

    def join(self, node: NodeInfo) -> None:
        known = self._connection.execute("SELECT 1 FROM nodes WHERE node = ?", (node.name,)).fetchone()
        if known is not None:
            raise ValueError(f"the node {node.name!r} has joined before")
        self._connection.execute(
            "INSERT INTO nodes (node, process, builds, key_ids, address, boot, lease_until_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                node.name,
                node.process,
                _listed(node.builds),
                _listed(node.key_ids),
                node.address,
                _SELF.boot,
                _ticks() + self._lease_ms,
            ),
        )

    def beat(self, node: str, *, draining: bool) -> bool:
        now = _ticks()
        return (
            self._connection.execute(
                "UPDATE nodes SET lease_until_ms = ?, is_draining = ? WHERE node = ? AND boot = ?"
                " AND lease_until_ms > ? AND lease_until_ms <= ?",
                (now + self._lease_ms, draining, node, _SELF.boot, now, now + self._lease_ms),
            ).rowcount
            > 0
        )

    def leave(self, node: str) -> None:
        self._connection.execute("DELETE FROM nodes WHERE node = ?", (node,))

    def dead(self, names: Iterable[str | None]) -> frozenset[str]:
        """Which of these are dead; a node that is not in the table is."""
        return frozenset(name for name in {*names} if name is not None and not self._judge(name))

    def forget_dead(self) -> None:
        rows = self._connection.execute("SELECT node FROM nodes").fetchall()
        for name in self.dead(name for (name,) in rows):
            self.leave(name)

    def _judge(self, name: str) -> bool:
        if name not in self._judged:
            self._judged[name] = self._is_alive(name)
        return self._judged[name]

    def _is_alive(self, name: str) -> bool:
        found = self._connection.execute(
            "SELECT process, boot, lease_until_ms FROM nodes WHERE node = ?", (name,)
        ).fetchone()
        if found is None:
            return False
        process, boot, until = found
        if not isinstance(until, int):
            return False  # no node wrote this
        now = _ticks()
        # a lease that ends later than one that begins now was written before the last boot
        if boot != _SELF.boot or not now < until <= now + self._lease_ms:
            return False
        return _is_running(process)


def _is_running(process: object) -> bool:
    try:
        owner = Owner.decode(process) if isinstance(process, str) and process else None
    except ValueError:
        return False  # no node wrote this
    if owner is None or (owner.pid, owner.started) == (_SELF.pid, _SELF.started):
        return True
    return is_alive(owner)


def _ticks() -> int:
    """Milliseconds by a clock that all processes of this machine share, and that nobody sets."""
    return int(time.monotonic() * 1000)


def _listed(names: tuple[str, ...]) -> str:
    return msgspec.json.encode(names).decode()
