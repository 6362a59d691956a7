"""What a stretch of a test leaves behind: processes, threads, descriptors, temporary files."""

from __future__ import annotations

import ctypes
import os
import select
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.harness.patience import PATIENCE_SECONDS

_PR_SET_CHILD_SUBREAPER = 36


@contextmanager
def nothing_left(folder: Path) -> Generator[None]:
    """Fails if there is more of anything than before. Temporary files are made in `folder`."""
    # orphans of the test become our children, so that they are found
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    previous, tempfile.tempdir = tempfile.tempdir, str(folder)
    threads = set(threading.enumerate())
    descriptors = _descriptors()
    processes = descendants(os.getpid())
    try:
        yield
    finally:
        tempfile.tempdir = previous
    left = [pid for pid in descendants(os.getpid()) - processes if not ends(pid)]
    assert left == [], "processes were left behind"
    for thread in set(threading.enumerate()) - threads:
        thread.join(PATIENCE_SECONDS)  # what waits for a process of the test ends just after it
    assert set(threading.enumerate()) - threads == set()
    assert _descriptors() - descriptors == set()
    assert list(folder.iterdir()) == []


def descendants(root: int) -> set[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found: set[int] = set()
    fresh = {root}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def ends(pid: int) -> bool:
    """Waits, bounded, for the end of a process that need not be our child; reaps it if it is."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        ended = bool(select.select([descriptor], [], [], PATIENCE_SECONDS)[0])
    finally:
        os.close(descriptor)
    if ended:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    return ended


def _descriptors() -> set[str]:
    found: set[str] = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found.add(f"{name} -> {os.readlink(f'/proc/self/fd/{name}')}")
    return {entry for entry in found if "/proc/" not in entry}
