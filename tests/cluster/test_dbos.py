"""exec and wait as steps of a DBOS workflow, on the database that the runs are in. Skipped without DBOS."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.e2e.durable_host import Witness
from tests.harness.processes import python

pytest.importorskip("dbos", reason="DBOS is no part of the development environment")
KEY = bytes(range(32))


@pytest.mark.timeout(200)
def test_a_workflow_whose_process_was_killed_after_exec_is_recovered_and_nothing_runs_twice(
    database: str, tmp_path: Path
) -> None:
    migrate(database, key_id(KEY).hex())
    keys = {"CODEMODE_STORE_KEY": KEY.hex()}
    begun = python("-m", "tests.cluster.dbos_host", database, str(tmp_path / "witness"), "begin", env=keys)
    assert begun.returncode == -9, begun.stderr
    again = python("-m", "tests.cluster.dbos_host", database, str(tmp_path / "witness"), "recover", env=keys)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout.splitlines()[-1]) == "done and finished"
    assert len(Witness(tmp_path / "witness").lines()) == 1
