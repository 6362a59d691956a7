"""The other process in test_sqlite_processes.py. Says each thing it does in a line, only after it is done."""

import random
import sys
from collections.abc import Callable
from itertools import count

from codemode_snapshots import Claimed, DecidedHere, Hold, NodeInfo, Pending, Snapshot, new_owner
from codemode_snapshots.sqlite import SqliteStore

from tests.snapshots.samples import BUILD, NOW, SCOPE, label, sealed


def main(command: str, path: str, *rest: str) -> None:
    commands: dict[str, Callable[..., None]] = {
        "claim": claim_all,
        "create": create,
        "decide": decide_all,
        "expire": expire,
        "settle": settle_all,
        "write": write_until_killed,
    }
    commands[command](path, *rest)


def joined(path: str) -> tuple[SqliteStore, str]:
    store, owner = SqliteStore(path, clock=lambda: NOW), new_owner()
    store.join(NodeInfo(owner.engine_id, (BUILD,), (), owner.encode()))
    return store, owner.engine_id


def claim_all(path: str, runs: str, seed: str) -> None:
    store, name = joined(path)
    order = random.Random(seed).sample(range(int(runs)), int(runs))
    _wait_for_go()
    for number in order:
        got = store.claim(f"run-{number}", SCOPE, (BUILD,), name)
        # untouched, it would be another's when this process has ended
        if isinstance(got, Claimed) and store.touch(got.claim):
            _say(f"run-{number}")


def decide_all(path: str, runs: str, seed: str) -> None:
    store, name = joined(path)
    order = random.Random(seed).sample(range(int(runs)), int(runs))
    _wait_for_go()
    for number in order:
        if isinstance(store.decide(f"run-{number}", SCOPE, f"ask-{number}", b"yes", name), DecidedHere):
            _say(f"run-{number}")


def settle_all(path: str, name: str, seed: str) -> None:
    """Settles each of 100 calls of the node `name`, as its other threads would, in an order of its own."""
    store = SqliteStore(path, clock=lambda: NOW)
    _wait_for_go()
    for number in random.Random(seed).sample(range(100), 100):
        if store.settle(Hold("run-1", str(number), name, 1), b"done"):
            _say(str(number))


def create(path: str, name: str) -> None:
    _wait_for_go()
    SqliteStore(path).save(sealed(name), (), "nobody")


def expire(path: str) -> None:
    store, _ = joined(path)
    _wait_for_go()
    for ending in store.expire():
        _say(ending.run_id)


def write_until_killed(path: str, prefix: str, delta_bytes: str) -> None:
    """Each run: save version 0, then claim, touch and save the next version, a few runs in turn."""
    store, name = joined(path)
    delta = b"d" * int(delta_bytes)
    for version in count():
        for number in range(3):
            run_id = f"{prefix}-{number}"
            claim = None
            if version:
                outcome = store.claim(run_id, SCOPE, (BUILD,), name)
                assert isinstance(outcome, Claimed)
                claim = outcome.claim
                _say(f"claimed {run_id} {version - 1}")
                assert store.touch(claim)
                _say(f"touched {run_id} {version - 1}")
            snapshot = Snapshot(label(run_id), str(version).encode(), delta)
            store.save(snapshot, (Pending(str(version)),), name, claim=claim)
            _say(f"saved {run_id} {version}")


def _wait_for_go() -> None:
    _say("ready")
    sys.stdin.readline()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
