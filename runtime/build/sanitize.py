"""Runs the hostile programs in a native build of the guest under AddressSanitizer and UBSan.

`python runtime/build/sanitize.py [name …]` from a clone, with gcc or clang (CC) that has both sanitizers: zig
brings no AddressSanitizer. Same shim, same engine source as the image; what differs is the allocator (the
system's, so that each block is watched) and the limits, which native_driver.c imitates. Exit code 1 and the
reports if a sanitizer found something, 0 otherwise.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import changes
import make_image
import source
from codemode_runtime.compile import SourceError, prepare
from source import QUICKJS, BuildError

from tests.hostile.corpus import HostileProgram, load_all

DRIVER = Path(__file__).with_name("native_driver.c")
FLAGS = (
    *("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-D_GNU_SOURCE", "-w"),
    *("-fsanitize-recover=undefined", "-lm", "-lpthread"),
)
OPTIONS = {
    "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:handle_sigill=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}
STACK_BYTES = 512 << 20  # frames are several times as large as the image's
SLOWER = 3  # than the image, roughly: budgets are longer by that
MAX_DELIVERIES = 3000
_FINDING = re.compile(r"(\S+:\d+:\d+): runtime error: (.*)|ERROR: AddressSanitizer: (\S+)")
_ENDS = {0: "idle", 1: "completed", 2: "failed", 3: "timeout"}
_EXITS = {  # of native_driver.c: 100 and the reason of the stop
    99: "timeout",
    101: "memory_limit_exceeded",
    102: "output_limit_exceeded",
    103: "too_many_pending_tool_calls",
    106: "output_limit_exceeded",
}


@dataclass(frozen=True, slots=True)
class Ended:
    """`verdict` in the words of the corpus, but "failed" where a program failed by itself."""

    verdict: str
    findings: tuple[str, ...]
    report: str


def main(wanted: list[str]) -> int:
    programs = [p for p in load_all() if not wanted or any(name in p.name for name in wanted)]
    found: Counter[str] = Counter()
    reports: dict[str, str] = {}
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        binary = compile_driver(Path(scratch))
        with running(binary, Path(scratch) / "report") as native:
            native.check()
            for program in programs:
                ended = native.run(program)
                ends[_compare(program, ended.verdict)] += 1
                for finding in ended.findings:
                    found[finding] += 1
                    reports.setdefault(finding, f"{program.name}\n{ended.report[:6000]}")
    print(f"{len(programs)} programs: " + ", ".join(f"{n} {what}" for what, n in sorted(ends.items())))
    for finding, count in found.most_common():
        print(f"\n== {finding} ({count} programs), first in {reports[finding]}")
    print(f"{len(found)} findings")
    return 1 if found else 0


def compile_driver(scratch: Path) -> Path:
    """Raises BuildError."""
    compiler = os.environ.get("CC") or next((c for c in ("gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        raise BuildError("no C compiler with AddressSanitizer: install gcc or clang, or set CC")
    engine = source.fetch(QUICKJS, source.cache())
    changed = changes.write_changed(engine, scratch)
    files = [*make_image.translation_units(), *make_image.engine_files(engine, scratch, changed), DRIVER]
    out = scratch / "native"
    folders = [f"-I{folder}" for folder in (scratch, engine, make_image.SHIM)]
    command = [compiler, *folders, *map(str, files), *FLAGS, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{compiler} refused the native guest:\n{done.stderr.strip()[-2000:]}")
    return out


class Native:
    """One process that forks a guest per program."""

    def __init__(self, orders: IO[bytes], answers: IO[bytes], report: Path) -> None:
        self._orders = orders
        self._answers = answers
        self._report = report

    def check(self) -> None:
        """Raises BuildError unless both sanitizers report what they must."""
        self._order(b"R", b"")
        self._order(b"C", b"")
        self._answer()
        report = self._report.read_text(errors="replace")
        for needed in ("signed integer overflow", "AddressSanitizer: heap-buffer-overflow"):
            if needed not in report:
                raise BuildError(f"the native guest was built without a working sanitizer: no {needed}")

    def run(self, program: HostileProgram) -> Ended:
        try:
            code = prepare(program.text, program.language).code.encode()
        except SourceError as error:
            return Ended(error.code, (), "")
        before = self._report.stat().st_size
        self._order(b"R", b"")
        verdict = self._follow(code, program)
        report = self._report.read_bytes()[before:].decode(errors="replace")
        findings = {_name(found) for found in _FINDING.finditer(report)}
        return Ended(verdict, tuple(sorted(findings)), report)

    def _follow(self, code: bytes, program: HostileProgram) -> str:
        limits = program.limits
        budget = limits.get("timeoutMs", 10_000) * SLOWER
        memory = 3 * limits.get("memoryLimitBytes", 64 << 20)  # pointers and red zones are larger
        output = limits.get("maxOutputBytes", 64 << 10)
        self._order(b"S", struct.pack("<III", budget, memory, output) + code)
        host = Host()
        for _ in range(MAX_DELIVERIES):
            answer = self._answer()
            if isinstance(answer, str):  # the process ended
                return answer
            status, messages = answer
            host.take(messages)
            if status != "idle" or not host.due:
                self._order(b"E", b"")
                self._answer()
                return status
            self._order(b"D", host.settle_next())
        self._order(b"E", b"")
        self._answer()
        return "idle"

    def _order(self, letter: bytes, body: bytes) -> None:
        self._orders.write(letter + struct.pack("<I", len(body)) + body)
        self._orders.flush()

    def _answer(self) -> tuple[str, list[dict[str, Any]]] | str:
        letter = self._read(1)
        if letter == b"X":
            (status,) = struct.unpack("<i", self._read(4))
            code = os.waitstatus_to_exitcode(status)
            return _EXITS.get(code, f"exit {code}")
        status, out_len, result_len = struct.unpack("<iII", self._read(12))
        messages = self._read(out_len)
        self._read(result_len)
        return _ENDS[status], json.loads(b"[" + messages + b"]")

    def _read(self, size: int) -> bytes:
        data = self._answers.read(size)
        if len(data) != size:
            raise BuildError("the native guest ended")
        return data


class Host:
    """Settles what a program asked for, one after the other: calls as made, timers and yields among them."""

    def __init__(self) -> None:
        self.due: list[dict[str, Any]] = []

    def take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            if message["type"] in ("call", "yield", "timer"):
                self.due.append(message)
            elif message["type"] == "clear":
                self.due = [item for item in self.due if item["id"] != message["id"]]

    def settle_next(self) -> bytes:
        message = self.due.pop(0)
        rejected, value = _settle(message) if message["type"] == "call" else (False, None)
        data = json.dumps(value).encode()
        head = struct.pack("<III", message["id"], rejected, len(data))
        return head + data + b"\0" * (4 - len(data) % 4)


def _settle(call: dict[str, Any]) -> tuple[bool, Any]:
    first = call["args"][0] if call["args"] else None
    given = cast("dict[str, Any]", first) if isinstance(first, dict) else {}
    match call["method"], call["target"].rpartition(":")[2]:
        case "search", _:
            return False, []
        case "call", "echo":
            return False, given.get("value")
        case "call", "nasty":
            return False, {"__proto__": {"polluted": 1}, "then": "x", "deep": _nested(150), "\u2028": "\0"}
        case "call", "fail":
            return True, {"name": "ToolError", "message": "refused", "code": "tool_error", "data": {"a": 1}}
        case _:
            return True, {"name": "UnknownTool", "message": "no such tool", "code": "unknown_tool"}


def _nested(levels: int) -> Any:
    return [_nested(levels - 1)] if levels else []


@contextmanager
def running(binary: Path, report: Path) -> Generator[Native]:
    report.touch()
    read_end, write_end = os.pipe()
    with report.open("ab") as errors:
        process = subprocess.Popen(
            [str(binary), *map(str, make_image.prelude_files())],
            stdin=subprocess.PIPE,
            stdout=errors,
            stderr=errors,
            env={**os.environ, **OPTIONS},
            preexec_fn=_answers_on_three(write_end),  # one thread, and only system calls
            pass_fds=(3, write_end),
        )
    os.close(write_end)
    assert process.stdin is not None
    with os.fdopen(read_end, "rb") as answers, process.stdin as orders:
        yield Native(orders, answers, report)
    process.wait()


def _answers_on_three(write_end: int) -> Callable[[], None]:
    def prepare_child() -> None:
        os.dup2(write_end, 3)
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, resource.RLIM_INFINITY))

    return prepare_child


def _name(found: re.Match[str]) -> str:
    return f"AddressSanitizer: {found[3]}" if found[3] else f"{Path(found[1]).name}: {found[2]}"


def _compare(program: HostileProgram, verdict: str) -> str:
    """Limits differ natively, so a different verdict is told and is no finding."""
    same = verdict in program.verdicts or (verdict == "failed" and "completed" not in program.verdicts)
    if not same:
        print(f"   {program.name}: natively {verdict}, expected {' or '.join(program.verdicts)}")
    return "as expected" if same else "otherwise"


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (BuildError, OSError) as error:
        sys.exit(f"cannot run the sanitizers: {error}")
