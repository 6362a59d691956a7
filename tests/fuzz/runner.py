"""Drives one fuzzer for a while: seeded, bounded, and every failing input is kept to be replayed.

A fuzzer's input is bytes, whatever it stands for, so that all of them are saved and replayed alike. Its check
returns, or raises anything: then the input is a failure, and the fuzzer goes on with a fresh subject.
"""

from __future__ import annotations

import hashlib
import os
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Protocol

FOUND = Path(__file__).parent / "found"
_MAX_FAILURES = 10  # one defect is found again and again
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Subject(Protocol):
    """What is fuzzed. `check` is bounded in time by itself where it waits for anything."""

    def make(self, dice: Random) -> bytes: ...
    def check(self, data: bytes) -> None: ...


Opener = Callable[[], AbstractContextManager[Subject]]


@dataclass
class Report:
    """`growth` is how much more memory this process has than after the first tenth of the inputs."""

    name: str
    tried: int = 0
    size: int = 0  # bytes of all inputs
    seconds: float = 0.0
    growth: int = 0
    failures: list[tuple[bytes, str]] = field(default_factory=list[tuple[bytes, str]])

    def __str__(self) -> str:
        rate = self.tried / max(self.seconds, 1e-9)
        return (
            f"{self.name}: {self.tried} tried, {self.size} bytes, {len(self.failures)} failures, "
            f"{self.seconds:.1f} s ({rate:.0f}/s), memory {self.growth / (1 << 20):+.1f} MiB"
        )


def fuzz(
    name: str,
    opener: Opener,
    *,
    seed: int,
    seconds: float,
    tries: int | None = None,
    folder: Path | None = None,
    most_failures: int = _MAX_FAILURES,
    on_failure: Callable[[bytes, str], None] | None = None,
) -> Report:
    """Ends after `tries` inputs, `seconds` or `most_failures`. The same seed makes the same inputs.

    With a `folder`, the input that is being tried is in it as `NAME.last`: for when it ends the process.
    """
    report = Report(name)
    dice = Random(f"{name} {seed}")
    began = time.monotonic()
    settled: int | None = None

    def goes_on() -> bool:
        return (
            (tries is None or report.tried < tries)
            and time.monotonic() - began < seconds
            and len(report.failures) < most_failures
        )

    with _trail(name, folder) as leave:
        while goes_on():
            last, complaint = b"", ""
            try:
                with opener() as subject:
                    while goes_on():
                        last = subject.make(dice)
                        leave(last)
                        report.tried += 1
                        report.size += len(last)
                        subject.check(last)
                        if settled is None and _is_warm(report, tries, began, seconds):
                            settled = _resident()
            except Exception:  # any failure at all is what we are looking for
                complaint = traceback.format_exc()
            if complaint:
                report.failures.append((last, complaint))
                if on_failure is not None:
                    on_failure(last, complaint)
    report.seconds = time.monotonic() - began
    report.growth = 0 if settled is None else _resident() - settled
    return report


def replay(opener: Opener, data: bytes) -> None:
    """Raises what the check raises."""
    with opener() as subject:
        subject.check(data)


def save(folder: Path, name: str, data: bytes, complaint: str) -> Path:
    """Under a name that says which fuzzer it is for, beside what was said about it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    path.with_name(path.name + ".txt").write_text(complaint)
    return path


def fuzzer_of(path: Path) -> str:
    """The fuzzer a saved input is for."""
    return path.name.partition(".")[0]


def _is_warm(report: Report, tries: int | None, began: float, seconds: float) -> bool:
    """A tenth of the work is done: what is loaded and cached once has been."""
    done = 0.0 if tries is None else report.tried / tries
    return max(done, (time.monotonic() - began) / seconds) >= 0.1


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


@contextmanager
def _trail(name: str, folder: Path | None) -> Generator[Callable[[bytes], None]]:
    if folder is None:
        yield lambda _: None
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.last"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)

    def leave(data: bytes) -> None:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, data, 0)

    try:
        yield leave
    finally:
        os.close(descriptor)
        path.unlink()
