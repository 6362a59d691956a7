"""The other end of durable_host: a process to give orders to, and to kill. Every wait is bounded."""

from __future__ import annotations

import itertools
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment


class Host:
    """`ask` gives an order and waits for its answer; `order` and `take` do the two apart."""

    def __init__(self, *arguments: str | Path, module: str = "tests.e2e.durable_host") -> None:
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._answers: dict[int, Any] = {}
        command = [sys.executable, "-m", module, *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT, env=environment()
        )
        assert self.take(0) == "ready"

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves as a host does that ends well, unless it was killed before."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_SECONDS)
        finally:
            self._close()

    def order(self, op: str, **given: Any) -> int:
        number = next(self._numbers)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"id": number, "op": op, **given}).encode() + b"\n")
        self.process.stdin.flush()
        return number

    def take(self, number: int) -> Any:
        until = time.monotonic() + PATIENCE_SECONDS
        while number not in self._answers:
            for line in self._read(until):
                found = json.loads(line)
                self._answers[found["id"]] = found["answer"]
        return self._answers.pop(number)

    def ask(self, op: str, **given: Any) -> Any:
        return self.take(self.order(op, **given))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self._close()

    def _read(self, until: float) -> list[bytes]:
        assert self.process.stdout is not None
        descriptor = self.process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], max(0.0, until - time.monotonic()))
        assert ready, "the host did not answer in time"
        data = os.read(descriptor, 1 << 16)
        assert data, "the host ended"
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        return lines

    def _close(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
