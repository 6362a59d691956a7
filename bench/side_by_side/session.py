"""One subject's process, from start to end: a request in, a reply out, within a time.

The process leads a group of its own, so that whatever it started ends with it.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import Any, Self

from bench.side_by_side.lineup import PROJECT, Subject

PATIENCE_SECONDS = 120.0


class SubjectFailed(Exception):
    """The process ended or stayed silent; the session is over."""


class Session:
    def __init__(self, subject: Subject) -> None:
        self.began = time.perf_counter()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the session
        self._process = subprocess.Popen(
            subject.command(),
            cwd=PROJECT,
            env=subject.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._rest = b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any], patience: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """The reply, which may say that the subject lacks this or failed at it. Raises SubjectFailed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise SubjectFailed(self._reason("ended")) from error
        return json.loads(self._read_line(time.monotonic() + patience))

    def _read_line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        while b"\n" not in self._rest:
            if not select.select([self._process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
                self.close()
                raise SubjectFailed("did not answer in time")
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                raise SubjectFailed(self._reason("ended"))
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _reason(self, what: str) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return f"{what}: {lines[-1][:200]}" if lines else what

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
