"""Each example runs as it is, in an interpreter that treats warnings as errors."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout


@pytest.mark.guarantee("resume-in-another-process")
def test_the_demo_suspends_in_one_process_and_finishes_in_another() -> None:
    printed = run("demo_guest.py")
    events = [line.split()[1] for line in printed.splitlines() if line.startswith("  process ")]
    first, second = dict.fromkeys(events)
    assert events == [first] * events.count(first) + [second] * events.count(second)
    assert printed.splitlines()[-1] == 'returned {"refunded": 2240, "orders": ["Ada-1", "Ada-2"]}'
