"""Runs the official conformance suite against this engine, and reads what it found.

Scenarios of the server run one after the other against one server; each of the client starts a client.
"""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.harness.npm import environment, installed, node
from tests.harness.processes import PROJECT

PACKAGE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
REVISIONS = ("2026-07-28", "2025-11-25")
_LEG_SECONDS = 280
_SCENARIO_MS = 30_000
_AT_ONCE = 3
_LINE = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Checks of one scenario. `untested`: it passed without any check of its own."""

    passed: int
    failed: int
    problems: tuple[str, ...] = ()

    @property
    def has_passed(self) -> bool:
        return not self.failed and self.passed > 0

    def __str__(self) -> str:
        if not self.passed and not self.failed:
            return "skipped by the suite"
        return "passed" if self.has_passed else f"{self.passed} of {self.passed + self.failed} checks"


def run_server_leg(revision: str) -> dict[str, Outcome]:
    port = _free_port()
    command = [sys.executable, "-m", "tests.conformance.server", str(port)]
    server = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        return _run("server", "--url", f"http://127.0.0.1:{port}/mcp", "--requirements", revision)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def run_client_leg(revision: str) -> dict[str, Outcome]:
    """One process of the suite for each scenario: left to itself it starts all clients at once."""
    script = PROJECT / "tests" / "conformance" / "client.py"
    command = ("--command", f"{sys.executable} {script}", "--spec-version", revision)

    def one(name: str) -> dict[str, Outcome]:
        return _run("client", *command, "--scenario", name, name=name)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        parts = list(pool.map(one, _client_scenarios(revision)))
    return {name: outcome for part in parts for name, outcome in part.items()}


def _client_scenarios(revision: str) -> list[str]:
    """Those that the revision requires, and those that it has outside of its score."""
    text = (_folder() / "requirements" / f"{revision}.yaml").read_text()
    required = text.partition("\nclient:\n")[2].partition("\n\n")[0]
    more = re.findall(r"- scenario: (\S+)\n    leg: client", text)
    return [*re.findall(r"^  - (\S+)$", required, re.MULTILINE), *more]


def _run(leg: str, *arguments: str, name: str = "") -> dict[str, Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [
                *(node(), str(_folder() / "dist" / "index.js"), leg, *arguments),
                *("--timeout", str(_SCENARIO_MS), "-o", folder),
            ],
            cwd=PROJECT,
            env={**environment(), "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=_LEG_SECONDS,
            check=False,
        )
        problems = _problems(Path(folder))
    told = _LINE.findall(done.stdout + done.stderr)
    if name:
        passed, total = (re.findall(r"Passed: (\d+)/(\d+)", done.stdout + done.stderr) or [("0", "0")])[-1]
        told = [(name, passed, int(total) - int(passed))]
    found = {
        scenario: Outcome(int(passed), int(failed), tuple(problems.get(scenario, ())))
        for scenario, passed, failed in told
    }
    assert found, f"the suite told nothing: {done.stdout[-500:]} {done.stderr[-500:]}"
    return found


def _folder() -> Path:
    return installed(PACKAGE) / "@modelcontextprotocol" / "conformance"


def _problems(folder: Path) -> dict[str, list[str]]:
    """What each scenario says of its failed checks."""
    found: dict[str, list[str]] = {}
    for file in folder.glob("**/checks.json"):
        name = str(file.parent.relative_to(folder))
        name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", name).removeprefix("server-")
        for check in json.loads(file.read_text()):
            if check["status"] == "FAILURE":
                told = check.get("errorMessage") or check.get("description", "")
                found.setdefault(name, []).append(f"{check['id']}: {told}"[:300])
    return found


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _wait_for(port: int) -> None:
    for _ in range(300):
        with socket.socket() as attempt:
            if attempt.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the server did not come up")
