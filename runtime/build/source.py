"""Where C source comes from that is not ours: sdists, fetched by name with pip, checked by hash.

Nothing of it is ever committed. Files in the cache appear whole or not at all, so that builds may run side
by side, and are compared with the pinned hash every time. The makers of image, runner and compiler call it.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


class BuildError(Exception):
    """The guest image cannot be built; the message says what is wrong and, where it can, what to do."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One sdist: no other bytes are built from. `subfolder` is where its C files lie."""

    package: str
    version: str
    sha256: str
    subfolder: str

    @property
    def archive(self) -> str:
        return f"{self.package.replace('-', '_')}-{self.version}.tar.gz"


QUICKJS = Pin(
    package="quickjs-ng",
    version="0.17.0.2",
    sha256="43d2e48272208721a7aaea8e3f02d4b9318f12ef20cc4f5421b59d9a470706ef",
    subfolder="upstream-quickjs",
)


def fetch(pin: Pin, cache: Path) -> Path:
    """The folder with the C files; downloads once, verifies every time."""
    archive = cache / pin.archive
    data = read_if_there(archive)
    if data is None or hashlib.sha256(data).hexdigest() != pin.sha256:
        data = _download(pin)
        write_whole(archive, data)
    folder = cache / f"{pin.package}-{pin.version}"
    for name, content in _c_files(data, pin.subfolder).items():
        if read_if_there(folder / name) != content:
            write_whole(folder / name, content)
    return folder


def cache() -> Path:
    """Where what was fetched is kept for this user."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "codemode" / "source"


def write_whole(path: Path, data: bytes) -> None:
    """Other processes see the old file or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)


def _download(pin: Pin) -> bytes:
    # with the hash on the requirement pip checks the sdist before it runs anything of it
    with tempfile.TemporaryDirectory() as scratch:
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text(f"{pin.package}=={pin.version} --hash=sha256:{pin.sha256}\n")
        command = [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"),
            *(
                "--no-binary",
                pin.package,
                "--require-hashes",
                "--dest",
                scratch,
                "--requirement",
                str(wanted),
            ),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        data = read_if_there(Path(scratch) / pin.archive)
    if done.returncode or data is None:
        raise BuildError(
            f"pip could not fetch the source of {pin.package} {pin.version} with the pinned hash "
            f"(is the package index within reach?): {_reason(done.stderr)}"
        )
    return data


def _reason(errors: str) -> str:
    """pip's first complaint; later lines are consequences."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    complaints = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (complaints or lines[-1:] or ["pip said nothing"])[0]


def _c_files(archive: bytes, subfolder: str) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            content = tar.extractfile(member) if path.suffix in {".c", ".h"} else None
            if content is not None and path.parent.name == subfolder:
                found[path.name] = content.read()
    return found


def read_if_there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
