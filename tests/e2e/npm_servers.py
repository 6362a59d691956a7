"""The reference servers from npm: installed once, at fixed versions, into a cache outside the repository."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

VERSION = "2026.8.31"
PACKAGES = ("server-everything", "server-filesystem", "server-memory")


def server_script(name: str) -> list[str]:
    """The command of a reference server, such as "everything". Skips where there is no node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        assert not os.environ.get("CI"), "node and npm must be there in CI"
        pytest.skip("node and npm are not installed: the reference MCP servers cannot run")
    folder = _cache() / VERSION
    script = folder / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js"
    if not script.exists():
        _install(npm, folder)
    return [node, str(script)]


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "codemode" / "npm"


def _install(npm: str, folder: Path) -> None:
    """One process at a time: tests may run in parallel."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "done").exists():
            return
        (folder / "package.json").write_text('{"private": true}')
        wanted = [f"@modelcontextprotocol/{package}@{VERSION}" for package in PACKAGES]
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *wanted],
            cwd=folder,
            check=True,
            capture_output=True,
            timeout=110,
        )
        (folder / "done").touch()
