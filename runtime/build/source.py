"""Where the engine's C source comes from: the quickjs-ng sdist, fetched by name with pip, checked by hash.

Nothing of it is ever committed. Called by make_image.py only.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

PACKAGE = "quickjs-ng"
VERSION = "0.17.0.2"
SHA256 = "43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef"
SUBFOLDER = "upstream-quickjs"


class BuildError(Exception):
    """The guest image cannot be built; the message is one sentence that says what to do."""


def fetch(cache: Path) -> Path:
    """The folder with quickjs.c and its neighbours; downloads once, verifies every time."""
    archive = cache / f"quickjs_ng-{VERSION}.tar.gz"
    if not archive.exists() or _digest(archive) != SHA256:
        _download(cache)
    if not archive.exists():
        raise BuildError(f"pip fetched {PACKAGE} {VERSION} under another name than {archive.name}: check the pin")
    if (found := _digest(archive)) != SHA256:
        archive.unlink()
        raise BuildError(
            f"the {PACKAGE} {VERSION} sdist has sha256 {found}, not the pinned one: do not build from it"
        )
    folder = cache / f"quickjs_ng-{VERSION}"
    if not (folder / SUBFOLDER / "quickjs.c").exists():
        with tarfile.open(archive) as tar:
            tar.extractall(cache, filter="data")
    return folder / SUBFOLDER


def _download(cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"),
        *("--no-deps", "--no-binary", ":all:", "-d", str(cache), f"{PACKAGE}=={VERSION}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise BuildError(
            f"pip could not fetch the {PACKAGE} {VERSION} source (network or index out of reach?): {reason}"
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
