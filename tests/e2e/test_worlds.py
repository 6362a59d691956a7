"""Each program of a session in a host of its own, which is killed at once: the next one has its variables."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.e2e.world_host import KEY
from tests.harness.processes import PROJECT, environment

CELLS = [
    ("const log = []; let n = 1; class Box { #v = 2; get v() { return this.#v } } return n", 1),
    ("log.push(await tools.echo({ value: n })); const box = new Box(); n = 5; return log", [1]),
    ("n = 99; throw new Error('no')", None),
    ("log.push(n, box.v, box instanceof Box); return log", [1, 5, 2, True]),
]


def run_and_kill(store: str, program: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.e2e.world_host", store, program]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=PROJECT, env=environment())
    try:
        assert host.stdout is not None
        return json.loads(host.stdout.readline())
    finally:
        host.kill()
        host.communicate()


@pytest.mark.guarantee("worlds-survive-the-engine")
def test_a_session_goes_on_though_its_engine_is_killed_after_every_program(tmp_path: Path) -> None:
    for program, value in CELLS:
        assert run_and_kill(str(tmp_path / "runs.sqlite"), program).get("value") == value


@pytest.mark.guarantee("worlds-survive-the-engine")
def test_so_it_does_on_postgresql(database: str) -> None:
    migrate(database, key_id(KEY).hex())
    for program, value in CELLS:
        assert run_and_kill(database, program).get("value") == value
