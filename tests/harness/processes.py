"""Interpreters of their own for tests: what can only be seen in a fresh process, or in one that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
# tells a child of `make coverage` to load coverage.py, and all that it needs
MEASURED = "COVERAGE_PROCESS_CONFIG"
_SECONDS = 100.0


def environment() -> dict[str, str]:
    """Ours; a child finds every module that this process finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def python(
    *arguments: str | Path, cwd: Path = PROJECT, env: Mapping[str, str] | None = None, without: str = ""
) -> subprocess.CompletedProcess[str]:
    """This interpreter, until it ends; in our environment without `without` and with `env`."""
    ours = {name: value for name, value in environment().items() if name != without}
    return subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=cwd,
        env={**ours, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )


def modules_after(program: str) -> set[str]:
    """The names of all modules that a fresh interpreter has loaded when it has run this."""
    script = f"{program}\nimport sys\nprint(*sys.modules)"
    done = python("-c", script, without=MEASURED)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())
