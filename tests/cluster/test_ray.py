"""Engines in actors of a real Ray: an actor that is killed loses no run. Skipped without Ray."""

from __future__ import annotations

import json
import tempfile

import pytest
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.harness.processes import python

pytest.importorskip("ray", reason="Ray is no part of the development environment: it needs 260 MB")
KEY = bytes(range(32))


@pytest.mark.timeout(300)
def test_a_run_whose_actor_was_killed_is_finished_by_another(database: str) -> None:
    migrate(database, key_id(KEY).hex())
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="ray-") as folder:  # Ray's sockets need short paths
        done = python("-m", "tests.cluster.ray_host", database, folder, env={"CODEMODE_STORE_KEY": KEY.hex()})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "went on": True,
        "killed": True,
        "elsewhere": True,
        "restarted": [1, 1],
    }
