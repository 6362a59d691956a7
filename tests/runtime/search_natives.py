"""Searches for natives that run long and cannot be stopped: python -m tests.runtime.search_natives [subject].

Calls every function that a program can reach, and every operation of the language, with subjects that are
long, deep or sparse (natives/*.js). What has computed for a while is interrupted; what goes on all the same
is deaf, and is printed. Started by hand, after a change of the engine.

`--journal FILE` keeps how far each subject is on this image, and goes on from there: the search can be ended
at any time, and `--minutes N` ends it by itself. `--stall S` lets each call compute for so long first.

A subject is made once; whenever a guest is lost, the next one is restored from the first one's delta. A deaf
guest can only be ended with its process, so that the calls run in one of their own.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
from codemode_runtime.guest import Guest, Idle, Stopped
from codemode_runtime.shapes import Limits, Settlement

from tests.harness.guests import load_image, new_guest

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "natives"
LIMITS = Limits(output_bytes=1 << 26)
# of processor time, so that a busy machine finds the same: before a call is interrupted, and from then on
STALL_SECONDS, GRACE_SECONDS = 0.1, 0.3


def subjects() -> list[str]:
    return re.findall(r"^  (\w+): ", (FOLDER / "subjects.js").read_text("utf-8"), re.MULTILINE)


def program(subject: str) -> str:
    """It asks a tool for the number of the call to begin with, when all is made."""
    text = (FOLDER / "search.js").read_text("utf-8")
    parts = {"SUBJECTS": "subjects.js", "OPERATIONS": "operations.js"}
    filled = {word: (FOLDER / name).read_text("utf-8") for word, name in parts.items()}
    filled |= {"SUBJECT": subject}
    return re.sub(r"\b(SUBJECTS|OPERATIONS|SUBJECT)\b", lambda word: filled[word[1]], text)


class Search:
    """Guests that go through the calls of a subject, each from where the one before was lost."""

    def __init__(self, subject: str, stall_seconds: float) -> None:
        self._stall_seconds = stall_seconds
        first = new_guest(LIMITS)
        made = first.start(program(subject))
        assert isinstance(made, Idle), (subject, made)
        self._delta = first.capture()
        first.close()

    def run(self, start: int) -> tuple[int, str]:
        """The number to go on with, or -1 at the end, and what ended the guest."""
        self._guest: Guest = new_guest(LIMITS)
        self._guest.restore(self._delta, LIMITS)
        self._last = (start - 1, "nothing")
        self._over = threading.Event()
        watch = threading.Thread(target=self._watch)
        watch.start()
        outcome = self._guest.deliver([Settlement(1, str(start).encode())])
        self._over.set()
        watch.join()
        at, name = self._at()
        self._guest.close()
        why = outcome.reason.name if isinstance(outcome, Stopped) else type(outcome).__name__
        return (-1 if not name else at + 1), f"{why.lower()}: {name}"

    def _at(self) -> tuple[int, str]:
        """What the guest said last; the messages before it would take long to read again and again."""
        said = self._guest.read_messages()
        last = said.rfind(b'{"type":')
        if last >= 0:
            self._last = tuple(msgspec.json.decode(said[last:-1])["value"])
        return self._last

    def _watch(self) -> None:
        before, since = self._at(), time.process_time()
        while not self._over.wait(0.02):
            if (now := self._at()) != before:
                before, since = now, time.process_time()
            elif time.process_time() - since > self._stall_seconds:
                self._guest.interrupt()
                self._end_if_deaf(before)
                return

    def _end_if_deaf(self, at: tuple[int, str]) -> None:
        since = time.process_time()
        while time.process_time() - since < GRACE_SECONDS:
            if self._over.wait(0.02):
                return
        print(f"{at[0] + 1} deaf: {at[1]}", flush=True)
        os._exit(0)


class Entry(msgspec.Struct):
    """The call to go on with, -1 if all are done, and what was found."""

    next: int = 0
    found: list[str] = msgspec.field(default_factory=list[str])


class Journal:
    """How far the search is, by image and subject; on disk if it has a file."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._image = load_image().build_id
        written = file.read_bytes() if file and file.exists() else b"{}"
        self._entries = msgspec.json.decode(written, type=dict[str, dict[str, Entry]]).get(self._image, {})

    def entry(self, subject: str) -> Entry:
        return self._entries.setdefault(subject, Entry())

    def write(self) -> None:
        if self._file:
            self._file.write_bytes(msgspec.json.format(msgspec.json.encode({self._image: self._entries})))


def search_on(subject: str, start: int, stall_seconds: float) -> None:
    """In a process of its own: prints the number to go on with, and why, until one is deaf or all is done."""
    search = Search(subject, stall_seconds)
    while start >= 0:
        start, why = search.run(start)
        print(f"{start} {why}", flush=True)


def search(subject: str, journal: Journal, stall_seconds: float, until: float) -> Entry:
    """What is found: deaf calls, and what ended a guest for another reason than being interrupted."""
    entry = journal.entry(subject)
    while entry.next >= 0 and time.monotonic() < until:
        options = ["--from", str(entry.next), "--stall", str(stall_seconds), subject]
        command = [sys.executable, "-m", "tests.runtime.search_natives", *options]
        said = False
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                said = True
                number, _, why = line.rstrip().partition(" ")
                entry.next = int(number)
                entry.found += [why] if why.startswith(("deaf", "stack", "engine")) else []
                journal.write()
                if time.monotonic() > until:
                    process.kill()
        if not said:
            entry.found.append(f"the process ended at call {entry.next} and said nothing")
            break
    return entry


def main(words: list[str]) -> None:
    options = argparse.ArgumentParser(prog="python -m tests.runtime.search_natives")
    options.add_argument("subjects", nargs="*", metavar="subject", choices=[*subjects(), []])
    options.add_argument("--journal", type=Path)
    options.add_argument("--minutes", type=float, default=float("inf"))
    options.add_argument("--stall", type=float, default=STALL_SECONDS)
    options.add_argument("--from", type=int, dest="start", help=argparse.SUPPRESS)
    asked = options.parse_args(words)
    if asked.start is not None:
        return search_on(asked.subjects[0], asked.start, asked.stall)
    journal, until = Journal(asked.journal), time.monotonic() + 60 * asked.minutes
    for subject in asked.subjects or subjects():
        entry = search(subject, journal, asked.stall, until)
        far = "" if entry.next < 0 else f", up to call {entry.next}"
        print(f"== {subject}{far}", *entry.found, sep="\n   ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
