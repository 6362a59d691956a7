"""Which lines zygotes and workers run: a plugin of pytest, for `make coverage` alone.

Coverage.py cannot follow them: they start without site and without an environment, open no file once they are
confined, and most of them end by a signal. But memory that was mapped before stays writable: each zygote maps
one file and traces itself and its forks into it, one byte a line. So they are confined as they always are.
When pytest ends, the file becomes data for `coverage combine`.

Not seen: zygotes of the hosts that tests start as processes of their own.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import codemode_runtime
import coverage
import pytest

from codemode.workers import head_start

# Runs before anything else in a zygote. The map outlives the closing of its descriptor.
_TRACE = """
import mmap, os, sys, threading
def trace(path, offsets):
    descriptor = os.open(path, os.O_RDWR)
    hits = mmap.mmap(descriptor, 0)
    os.close(descriptor)
    def tracer(offset):
        def on_line(frame, event, _):
            hits[offset + frame.f_lineno] = 1
            return on_line
        return on_line
    tracers = {name: tracer(offset) for name, offset in offsets.items()}
    def on_call(frame, event, _):
        return tracers.get(frame.f_code.co_filename)
    threading.settrace(on_call)
    sys.settrace(on_call)
"""


class WorkerLines:
    """One byte for each line of the execution plane; `save` hands those that ran to coverage.py."""

    def __init__(self) -> None:
        self._offsets: dict[str, int] = {}
        size = 0
        for path in sorted(Path(codemode_runtime.__file__).parent.rglob("*.py")):
            self._offsets[str(path)] = size
            size += len(path.read_bytes().splitlines()) + 1  # lines count from one
        self._hits = tempfile.NamedTemporaryFile(prefix="worker-lines-")  # noqa: SIM115 - until `save`
        self._hits.truncate(size)

    @property
    def boot(self) -> str:
        return f"{_TRACE}\ntrace({self._hits.name!r}, {self._offsets!r})\n"

    def save(self, data_file: str) -> None:
        hits = Path(self._hits.name).read_bytes()
        ends = [*list(self._offsets.values())[1:], len(hits)]
        lines = {
            name: [line for line in range(end - offset) if hits[offset + line]]
            for (name, offset), end in zip(self._offsets.items(), ends, strict=True)
        }
        data = coverage.CoverageData(data_file, suffix=True)
        data.add_lines(lines)
        data.write()
        self._hits.close()


def pytest_configure(config: pytest.Config) -> None:
    measuring = coverage.Coverage.current()
    if measuring is None:
        raise pytest.UsageError("tests.harness.worker_lines is for `make coverage`")
    lines = WorkerLines()
    patch = pytest.MonkeyPatch()
    patch.setattr(head_start, "_BOOT", lines.boot + head_start._BOOT)  # pyright: ignore[reportPrivateUsage] - no setting is for this alone
    config.add_cleanup(patch.undo)
    config.add_cleanup(lambda: lines.save(str(measuring.get_option("run:data_file"))))
