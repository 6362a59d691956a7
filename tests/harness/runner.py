"""Single functions of the native runner, called from tests: a driver in C, linked with the runner's files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.harness.processes import PROJECT

sys.path.append(str(PROJECT / "runtime" / "build"))  # as pytest does; fuzzers run without it

import make_runner
import source

DRIVER = PROJECT / "tests" / "runtime" / "runner_driver.c"
PROBES = PROJECT / "tests" / "workers" / "runner_probes.c"


SANITIZED = (
    *("-O1", "-g", "-D_GNU_SOURCE", "-DNDEBUG", "-fno-omit-frame-pointer", "-w"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
)


class Functions:
    """A process that answers `call`s. Ends with an error if the C ends by itself."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self, function: str, data: bytes) -> str:
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None
        to.write(f"{function} {len(data)}\n".encode() + data)
        to.flush()
        line = back.readline().decode()
        assert line, f"the runner ended in {function} with {self._process.wait()}"
        return line.rstrip("\n")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0


@contextmanager
def runner_functions(*, sanitized: bool = False) -> Generator[Functions]:
    """Builds the driver where it is not built yet. `sanitized`: if the system has a compiler that can."""
    without = (make_runner.SOURCES / "main.c",)
    program = _sanitized(without) if sanitized else None
    functions = Functions(program or _built("driver", DRIVER, without=without))
    try:
        yield functions
    finally:
        functions.close()


def probing_image(folder: Path) -> Path:
    """A folder like that of the image, with a runner that tries what a worker may do (runner_probes.c)."""
    runner = _built("probing", PROBES, flags=("-DCR_PROBES",))
    for name in ("guest.wasm", "manifest.json"):
        (folder / name).symlink_to(make_runner.FOLDER / name)
    (folder / make_runner.NAME).symlink_to(runner)
    return folder


def _sanitized(without: tuple[Path, ...]) -> Path | None:
    """The driver with AddressSanitizer and UBSan; None without a compiler that has both (zig has not)."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    out = _cached("sanitized", DRIVER)
    zstd = source.fetch(make_runner.ZSTD, source.cache())
    library = out.with_name(f"zstd-{make_runner.ZSTD.version}.o")  # as it is: it is not ours, and takes long
    if not library.exists() and not _made(library, compiler, "-O1", "-w", "-c", zstd / "zstd.c"):
        return None
    files = [path for path in make_runner.sources() if path not in without]
    folders = (f"-I{make_runner.SOURCES}", f"-I{zstd}")
    whole = (*SANITIZED, *folders, *files, DRIVER, library, "-ldl")
    return out if out.exists() or _made(out, compiler, *whole) else None


def _made(out: Path, compiler: str, *arguments: str | Path) -> bool:
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        made = Path(scratch) / out.name
        done = subprocess.run([compiler, *arguments, "-o", made], capture_output=True, check=False)
        if done.returncode == 0:
            made.replace(out)
    return done.returncode == 0


def _cached(name: str, extra: Path) -> Path:
    files = [extra, *sorted(make_runner.SOURCES.glob("*.[ch]")), Path(make_runner.__file__)]
    key = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    out = PROJECT / ".cache" / "runner" / f"{name}-{key}"
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def _built(name: str, extra: Path, without: tuple[Path, ...] = (), flags: tuple[str, ...] = ()) -> Path:
    """The program, from the cache of this clone if nothing has changed."""
    tag = make_runner.own_target()
    assert tag is not None
    out = _cached(name, extra)
    if not out.exists():
        with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
            made = make_runner.compile_runner(
                Path(scratch), tag, extra=(extra,), without=without, flags=flags
            )
            made.replace(out)
    return out
