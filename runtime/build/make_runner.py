"""Builds the native runner: our C of runtime/runner and zstd, whose source comes from the sdist of zstandard.

zig is the compiler, as for the guest, so no other is needed, and it builds for every platform of `TARGETS`
from one machine. `python runtime/build/make_runner.py [target folder]` from a clone; make_image.py calls
`build` for this machine. Does nothing when the runner on disk was made from the same inputs.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import source
from source import BuildError, Pin, write_whole

RUNTIME = Path(__file__).resolve().parent.parent
FOLDER = RUNTIME / "codemode_runtime" / "image"
SOURCES = RUNTIME / "runner"
NAME = "codemode-runner"
ZSTD = Pin(
    package="zstandard",
    version="0.25.0",
    sha256="7713e1179d162cf5c7906da876ec2ccb9c3a9dcbdffef0cc7f70c3667a205f0b",
    subfolder="zstd",
)
# By what a wheel is tagged with: zig's name of the platform. glibc 2.17 is what the oldest of them has.
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
}
FLAGS = ("-O2", "-DNDEBUG", "-D_GNU_SOURCE", "-std=gnu11", "-fstack-protector-strong", "-fPIE")
STRICT = ("-Wall", "-Wextra", "-Werror")
HARDENED = ("-s", "-pie", "-Wl,-z,relro,-z,now")  # what ELF linkers know


def build(folder: Path = FOLDER, say: Callable[[str], None] = print, target: str | None = None) -> None:
    """Makes the runner in `folder` up to date. Raises BuildError."""
    tag = target or own_target()
    if tag is None:
        return say("no native runner for this platform")
    inputs = _inputs(tag)
    manifest, product = folder / "runner.json", folder / NAME
    if _is_current(manifest, product, inputs):
        return None
    say("building the native runner (C, half a minute the first time) …")
    with tempfile.TemporaryDirectory() as scratch:
        made = compile_runner(Path(scratch), tag)
        data = made.read_bytes()
    write_whole(product, data)
    product.chmod(0o755)
    facts = {"sha256": hashlib.sha256(data).hexdigest(), "inputs": inputs}
    write_whole(manifest, json.dumps(facts, indent=2).encode())  # last: it vouches for the other file
    say(f"native runner for {tag}: {len(data) // 1024} KiB")
    return None


def own_target() -> str | None:
    """The tag of this machine, or None where there is no runner."""
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if sys.platform == "linux":
        tag = f"manylinux_2_17_{machine}"
    else:
        tag = f"macosx_11_0_{'arm64' if machine == 'aarch64' else machine}"
    return tag if tag in TARGETS and sys.platform in {"linux", "darwin"} else None


def compile_runner(
    scratch: Path,
    tag: str,
    *,
    extra: tuple[Path, ...] = (),
    without: tuple[Path, ...] = (),
    flags: tuple[str, ...] = (),
) -> Path:
    """The program for a platform, in `scratch`. A test adds flags and files, or leaves one out."""
    zstd = source.fetch(ZSTD, source.cache())
    out, library = scratch / NAME, scratch / "zstd.o"
    target = ("-target", TARGETS[tag])
    zig = sys.executable, "-m", "ziglang", "cc"
    _run([*zig, *target, *FLAGS, "-w", "-c", str(zstd / "zstd.c"), "-o", str(library)])
    hardened = HARDENED if "linux" in tag else ("-s",)
    ours = [path for path in sources() if path.name not in {one.name for one in without}]
    files = [str(path) for path in (*ours, *extra, library)]
    folders = (f"-I{SOURCES}", f"-I{zstd}")
    _run([*zig, *target, *FLAGS, *STRICT, *hardened, *flags, *folders, *files, "-o", str(out)])
    return out


def sources() -> list[Path]:
    return sorted(SOURCES.glob("*.c"))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"the C compiler refused the runner:\n{done.stderr.strip()[-4000:]}")


def _inputs(tag: str) -> dict[str, Any]:
    try:
        zig = importlib.metadata.version("ziglang")
    except importlib.metadata.PackageNotFoundError:
        raise BuildError("the build needs ziglang: run `make`, or pip install ziglang") from None
    files = [*sorted(SOURCES.glob("*.[ch]")), Path(__file__).resolve()]
    return {
        "source": {"package": ZSTD.package, "version": ZSTD.version, "sha256": ZSTD.sha256},
        "ziglang": zig,
        "target": tag,
        "files": {
            path.relative_to(RUNTIME).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
        },
    }


def _is_current(manifest: Path, product: Path, inputs: dict[str, Any]) -> bool:
    try:
        facts = json.loads(manifest.read_bytes())
        made = product.read_bytes()
    except (OSError, ValueError):
        return False
    return facts.get("inputs") == inputs and hashlib.sha256(made).hexdigest() == facts.get("sha256")


if __name__ == "__main__":
    try:
        if len(sys.argv) > 2:
            build(Path(sys.argv[2]), target=sys.argv[1])
        else:
            build()
    except (BuildError, OSError) as error:
        sys.exit(f"cannot build the native runner: {error}")
