"""Where the native runner is and how it is started. The host calls this; it loads nothing of WebAssembly.

The runner (runtime/runner, C) is zygote and worker in one program. It opens the shared library that the wheel
of wasmtime brings, and gets the facts of the image by its arguments: it reads no JSON.
"""

from __future__ import annotations

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from codemode_runtime import image as images
from codemode_runtime.image import ImageUnavailable

FOLDER = images.FOLDER  # of image and runner; tests have others
NAME = "codemode-runner"


def command(control: int, host_pid: int, image: Path | None = None) -> list[str]:
    """What starts it, for the image in that folder or our own. Raises ImageUnavailable."""
    runner = FOLDER / NAME
    if not os.access(runner, os.X_OK):
        raise ImageUnavailable(
            f"there is no native runner in {FOLDER}: run `make` in a clone, or install this platform's wheel"
        )
    library = _library()
    guest = image or FOLDER
    facts = images.load_manifest(guest)
    paths = (library, guest / "guest.wasm", images.compiled_suffix(library.parent.parent.parent))
    hashes = (facts.build_id, facts.sha256)
    places = (facts.block, facts.memory_bytes, facts.scratch, facts.scratch_bytes)
    return [str(runner), str(control), str(host_pid), *map(str, (*paths, *hashes, *places))]


def _library() -> Path:
    """The shared library in the wheel of wasmtime; the package itself is not imported."""
    spec = find_spec("wasmtime")
    if spec is None or spec.origin is None:
        raise ImageUnavailable("wasmtime is not installed")
    machine = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system, ending = ("darwin", "dylib") if sys.platform == "darwin" else ("linux", "so")
    return Path(spec.origin).parent / f"{system}-{machine}" / f"_libwasmtime.{ending}"
