"""Searches for natives that run long and cannot be stopped: python -m tests.runtime.search_natives [subject].

Calls every function that a program can reach, and every operation of the language, with subjects that are
long, deep or sparse (natives/*.js). What has computed for a while is interrupted; what goes on all the same
is deaf, and is printed. Takes some minutes for a subject: started by hand, after a change of the engine.

A deaf guest can only be ended with its process, so each stretch of calls runs in one of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgspec
from codemode_runtime.guest import Guest, Stopped
from codemode_runtime.shapes import Limits

from tests.harness.guests import new_guest

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent / "natives"
LIMITS = Limits(output_bytes=1 << 26)
# of processor time, so that a busy machine finds the same: before a call is interrupted, and from then on
STALL_SECONDS, GRACE_SECONDS = 0.4, 0.3


def subjects() -> list[str]:
    return re.findall(r"^  (\w+): ", (FOLDER / "subjects.js").read_text("utf-8"), re.MULTILINE)


def program(subject: str, start: int) -> str:
    text = (FOLDER / "search.js").read_text("utf-8")
    parts = {"SUBJECTS": "subjects.js", "OPERATIONS": "operations.js"}
    filled = {word: (FOLDER / name).read_text("utf-8") for word, name in parts.items()}
    filled |= {"SUBJECT": subject, "START": str(start)}
    return re.sub(r"\b(SUBJECTS|OPERATIONS|SUBJECT|START)\b", lambda word: filled[word[1]], text)


class Search:
    """One guest that goes through the calls from a number on."""

    def __init__(self, subject: str, start: int) -> None:
        self._subject, self._start = subject, start
        self._guest: Guest = new_guest(LIMITS)
        self._over = threading.Event()

    def run(self) -> tuple[int, str]:
        """The number to go on with, or -1 at the end, and what ended the guest."""
        watch = threading.Thread(target=self._watch)
        watch.start()
        outcome = self._guest.start(program(self._subject, self._start))
        self._over.set()
        watch.join()
        at, name = self._at()
        self._guest.close()
        why = outcome.reason.name if isinstance(outcome, Stopped) else type(outcome).__name__
        return (-1 if not name else at + 1), f"{why.lower()}: {name}"

    def _at(self) -> tuple[int, str]:
        messages = msgspec.json.decode(self._guest.read_messages())
        return tuple(messages[-1]["value"]) if messages else (self._start - 1, "the subject")

    def _watch(self) -> None:
        before, since = self._at(), time.process_time()
        while not self._over.wait(0.05):
            if (now := self._at()) != before:
                before, since = now, time.process_time()
            elif time.process_time() - since > STALL_SECONDS:
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


def search_on(subject: str, start: int) -> None:
    """In a process of its own: prints the number to go on with, and why, until one is deaf or all is done."""
    while start >= 0:
        start, why = Search(subject, start).run()
        print(f"{start} {why}", flush=True)


def search(subject: str) -> list[str]:
    """What was deaf, and what ended a guest for another reason than being interrupted."""
    found: list[str] = []
    start = 0
    while start >= 0:
        command = [sys.executable, "-m", "tests.runtime.search_natives", "--from", str(start), subject]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        lines = [line.partition(" ") for line in ran.stdout.splitlines()]
        if not lines:
            return [*found, f"the process ended: {ran.stderr[-300:]}"]
        found += [why for _, _, why in lines if why.startswith(("deaf", "stack", "engine"))]
        start = int(lines[-1][0])
    return found


def main(words: list[str]) -> None:
    if words[:1] == ["--from"]:
        return search_on(words[2], int(words[1]))
    for subject in words or subjects():
        print(f"== {subject}", *search(subject), sep="\n   ", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
