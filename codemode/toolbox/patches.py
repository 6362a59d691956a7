"""Reads patches as models write them: unified diffs, and the form of *** Begin Patch. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from codemode.tools import ToolError

Action = Literal["add", "update", "delete"]

_MAX_FILES = 200
_MAX_HUNKS = 5_000
_HEADS: dict[str, Action] = {
    "*** Add File:": "add",
    "*** Update File:": "update",
    "*** Delete File:": "delete",
}
_RANGE = re.compile(r"@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@")
_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


@dataclass(slots=True)
class Hunk:
    """Lines to find, lines to put there. `near` is a line number from 1, `after` lines that come before."""

    near: int | None = None
    after: list[str] = field(default_factory=list[str])
    old: list[str] = field(default_factory=list[str])
    new: list[str] = field(default_factory=list[str])
    context: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # places in old and new
    at_end: bool = False
    no_newline: bool = False
    line: int = 0  # of the patch

    def add(self, mark: str, text: str) -> None:
        if mark == " ":
            self.context.append((len(self.old), len(self.new)))
        if mark != "+":
            self.old.append(text)
        if mark != "-":
            self.new.append(text)


@dataclass(slots=True)
class FileChange:
    action: Action
    path: str
    moved_to: str | None = None
    hunks: list[Hunk] = field(default_factory=list[Hunk])
    text: list[str] = field(default_factory=list[str])  # of a file that is added
    no_newline: bool = False


def read_patch(patch: str) -> list[FileChange]:
    """Raises ToolError with the line of the patch that cannot be read."""
    fenced = _FENCE.match(patch)
    lines = (fenced[1] if fenced else patch).replace("\r\n", "\n").split("\n")
    if lines and not lines[-1]:
        lines.pop()
    begins = next((at for at, line in enumerate(lines) if line.strip() == "*** Begin Patch"), None)
    changes = _Unified(lines).read() if begins is None else _Blocks(lines, begins + 1).read()
    if not changes:
        raise refused(
            "It has no file: begin with `*** Begin Patch`, or with `--- a/path` and `+++ b/path`.", None
        )
    if len(changes) > _MAX_FILES:
        raise refused(f"It has {len(changes)} files; at most {_MAX_FILES}.", None)
    if sum(len(change.hunks) for change in changes) > _MAX_HUNKS:
        raise refused(f"It has over {_MAX_HUNKS} parts.", None)
    _check_twice(changes)
    return changes


def refused(why: str, line: int | None) -> ToolError:
    place = "" if line is None else f" (line {line} of the patch)"
    return ToolError(f"The patch was not applied{place}: {why} Nothing was changed.", code="bad_patch")


def _check_twice(changes: list[FileChange]) -> None:
    seen: set[str] = set()
    for change in changes:
        for path in filter(None, (change.path, change.moved_to)):
            if path in seen:
                raise refused(f"{path} is in it twice; put all its parts together.", None)
            seen.add(path)


class _Blocks:
    """The form between *** Begin Patch and *** End Patch."""

    def __init__(self, lines: list[str], at: int) -> None:
        self._lines = lines
        self._at = at
        self._found: list[FileChange] = []

    def read(self) -> list[FileChange]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.strip() == "*** End Patch":
                rest = [text for text in self._lines[self._at :] if text.strip()]
                if rest:
                    raise refused("there is text after *** End Patch.", self._at + 1)
                return self._found
            self._read_line(line)
        raise refused("*** End Patch is missing; was it cut off?", len(self._lines))

    def _read_line(self, line: str) -> None:
        for head, action in _HEADS.items():
            if line.startswith(head):
                self._found.append(FileChange(action, _path(line[len(head) :], self._at)))
                return
        if not self._found:
            if line.strip():
                raise refused("a file must come first, as `*** Update File: path`.", self._at)
            return
        change = self._found[-1]
        if line.startswith("*** Move to:") and change.action == "update" and not change.hunks:
            change.moved_to = _path(line[len("*** Move to:") :], self._at)
        elif change.action == "add":
            self._add_line(change, line)
        elif change.action == "delete":
            if line.strip():
                raise refused("a deleted file has no lines.", self._at)
        else:
            self._update_line(change, line)

    def _add_line(self, change: FileChange, line: str) -> None:
        if not line.startswith("+"):
            raise refused("each line of an added file begins with +.", self._at)
        change.text.append(line[1:])

    def _update_line(self, change: FileChange, line: str) -> None:
        if line.startswith("@@"):
            ranged = _RANGE.match(line)
            last = change.hunks[-1] if change.hunks else None
            if ranged:
                change.hunks.append(Hunk(int(ranged[1]), line=self._at))
                return
            context = line[2:].strip().removesuffix("@@").strip()
            if last is None or last.old or last.new:
                last = Hunk(line=self._at)
                change.hunks.append(last)
            if context:
                last.after.append(context)
            return
        if not change.hunks:
            change.hunks.append(Hunk(line=self._at))
        hunk = change.hunks[-1]
        if line.strip() == "*** End of File":
            hunk.at_end = True
        elif not line:
            hunk.add(" ", "")  # an empty line whose leading space was lost
        elif line[0] in " +-":
            hunk.add(line[0], line[1:])
        else:
            raise refused("a line begins with a space, - or +, or with @@.", self._at)


class _Unified:
    """A unified diff, with or without git's own lines."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0
        self._found: list[FileChange] = []

    def read(self) -> list[FileChange]:
        moved: tuple[str, str] | None = None
        source = ""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            self._at += 1
            if line.startswith("rename from "):
                source = line[len("rename from ") :]
            elif line.startswith("rename to "):
                moved = (_path(source, self._at), _path(line[len("rename to ") :], self._at))
                if not self._has_header():
                    self._found.append(FileChange("update", moved[0], moved[1]))
            elif line.startswith(("GIT binary patch", "Binary files ")):
                raise refused("binary files cannot be patched.", self._at)
            elif line.startswith("--- ") and self._next().startswith("+++ "):
                self._read_file(line)
            elif line.startswith("@@"):
                raise refused("@@ comes before `--- a/path` and `+++ b/path`.", self._at)
        return self._found

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _is_header(self) -> bool:
        here = self._lines[self._at : self._at + 2]
        return len(here) == 2 and here[0].startswith("--- ") and here[1].startswith("+++ ")

    def _has_header(self) -> bool:
        """Whether the renamed file also has changes."""
        for line in self._lines[self._at :]:
            if line.startswith("--- "):
                return True
            if line.startswith("diff "):
                return False
        return False

    def _read_file(self, line: str) -> None:
        old = _header_path(line, self._at)
        new = _header_path(self._lines[self._at], self._at + 1)
        self._at += 1
        if old is None and new is None:
            raise refused("both names are /dev/null.", self._at)
        if old is None:
            assert new is not None
            change = FileChange("add", new)
        elif new is None:
            change = FileChange("delete", old)
        else:
            change = FileChange("update", old, new if new != old else None)
        self._read_hunks(change)
        if change.action == "add":
            if any(hunk.old for hunk in change.hunks):
                raise refused(f"{change.path} is new and cannot have lines that are there already.", self._at)
            change.text = [text for hunk in change.hunks for text in hunk.new]
            change.no_newline = any(hunk.no_newline for hunk in change.hunks)
        self._found.append(change)

    def _read_hunks(self, change: FileChange) -> None:
        while self._next().startswith("@@"):
            head = self._lines[self._at]
            self._at += 1
            ranged = _RANGE.match(head)
            hunk = Hunk(int(ranged[1]) if ranged else None, line=self._at)
            change.hunks.append(hunk)
            self._read_hunk(hunk)
        if not change.hunks and change.action != "delete":
            raise refused(f"{change.path} has no part that begins with @@.", self._at)

    def _read_hunk(self, hunk: Hunk) -> None:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if self._is_header() or line.startswith(("@@", "diff ", "Index: ", "rename from ")):
                return
            self._at += 1
            if line.startswith("\\"):
                hunk.no_newline = True
            elif not line:
                hunk.add(" ", "")
            elif line[0] in " +-":
                hunk.add(line[0], line[1:])
            else:
                raise refused("a line begins with a space, - or +.", self._at)


def _header_path(line: str, number: int) -> str | None:
    path = line[4:].split("\t", 1)[0].strip()
    if path == "/dev/null":
        return None
    if path.startswith('"') and path.endswith('"'):
        path = path[1:-1]
    return _path(path[2:] if path.startswith(("a/", "b/")) else path, number)


def _path(text: str, line: int) -> str:
    path = text.strip()
    if not path:
        raise refused("a path is missing.", line)
    return path
