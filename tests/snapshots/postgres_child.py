"""The other process in test_postgres_processes.py: one node. Says each thing it won in a line.

python -m tests.snapshots.postgres_child ORDER URL NODE RUNS
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.records import Claim, Claimed, DecidedHere, ExecRequest, Hold

from tests.snapshots.places import KEEP_MS, node
from tests.snapshots.samples import BUILD, SCOPE, TTL


def claim(store: PostgresStore, me: str, run_id: str) -> bool:
    return isinstance(store.claim(run_id, SCOPE, (BUILD,), me), Claimed)


def settle(store: PostgresStore, me: str, run_id: str) -> bool:
    """As the node `a` does that holds the call, from several threads or after a mistake."""
    return store.settle(Hold(run_id, "1", "a", 1), me.encode())


def decide(store: PostgresStore, me: str, run_id: str) -> bool:
    return isinstance(store.decide(run_id, SCOPE, "ask-1", me.encode(), me), DecidedHere)


def finish(store: PostgresStore, me: str, run_id: str) -> bool:
    return store.finish(run_id, "aborted", caller=SCOPE, result=me.encode(), keep_ms=KEEP_MS)


def reserve(store: PostgresStore, me: str, run_id: str) -> bool:
    """The same requests by all; the winner ends its run at once, which must let nobody begin it again."""
    won = store.reserve(ExecRequest(SCOPE, run_id, b""), f"{me}-{run_id}", me, TTL)
    if isinstance(won, Claim):
        assert store.finish(won.run_id, "completed", claim=won, result=b"", keep_ms=KEEP_MS)
    return isinstance(won, Claim)


def main(order: str, url: str, me: str, runs: str) -> None:
    store = PostgresStore(url)
    store.join(node(me))
    _say("ready")
    sys.stdin.readline()
    if order == "expire":
        for ending in store.expire():
            _say(ending.run_id)
        return
    orders: dict[str, Callable[[PostgresStore, str, str], bool]] = {
        "claim": claim,
        "settle": settle,
        "decide": decide,
        "finish": finish,
        "reserve": reserve,
    }
    names = [f"run-{number}" for number in range(int(runs))]
    # nearly the same order, so that they often want the same run in the same moment
    names.sort(key=lambda name: int(name[4:]) + random.Random(me + name).random() * 3)
    for name in names:
        if orders[order](store, me, name):
            _say(name)
    store.close()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
