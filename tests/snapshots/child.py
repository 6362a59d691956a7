"""The other process in test_sqlite_processes.py. Says each thing it does in a line, only after it is done."""

import random
import sys
from collections.abc import Callable
from itertools import count

from codemode_snapshots import Claimed, new_owner
from codemode_snapshots.sqlite import SqliteStore

from tests.snapshots.samples import NOW, sealed


def main(command: str, path: str, *rest: str) -> None:
    commands: dict[str, Callable[..., None]] = {
        "claim": claim_all,
        "create": create,
        "recover": recover,
        "write": write_until_killed,
    }
    commands[command](path, *rest)


def claim_all(path: str, runs: str, seed: str) -> None:
    store, owner = SqliteStore(path), new_owner()
    order = random.Random(seed).sample(range(int(runs)), int(runs))
    _wait_for_go()
    for number in order:
        if isinstance(store.claim(f"run-{number}", owner, now_ms=NOW), Claimed):
            _say(f"run-{number}")


def create(path: str, name: str) -> None:
    _wait_for_go()
    SqliteStore(path).save(sealed(name), new_owner())


def recover(path: str) -> None:
    store = SqliteStore(path)
    _wait_for_go()
    for stone in store.recover(NOW, lambda owner: False):
        _say(stone.run_id)


def write_until_killed(path: str, prefix: str, delta_bytes: str) -> None:
    """Each run: save version 0, then claim and save the next version, again and again, a few runs in turn."""
    store, owner = SqliteStore(path), new_owner()
    delta = b"d" * int(delta_bytes)
    for version in count():
        for number in range(3):
            run_id = f"{prefix}-{number}"
            claim = None
            if version:
                outcome = store.claim(run_id, owner, now_ms=NOW)
                assert isinstance(outcome, Claimed)
                claim = outcome.claim
                _say(f"claimed {run_id} {version - 1}")
            store.save(sealed(run_id, state=str(version).encode(), delta=delta), owner, claim=claim)
            _say(f"saved {run_id} {version}")


def _wait_for_go() -> None:
    _say("ready")
    sys.stdin.readline()


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
