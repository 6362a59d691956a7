"""Finds where the parts of a patch belong in a text, and puts them there. Pure.

A part fits where its lines are: exactly, else but for spaces at line ends, else but for spaces around lines.
One that fits in several places is refused, unless the patch says where: by a line number, or by a line that
comes before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from codemode.toolbox.patches import Hunk, refused

_MAX_SHOWN = 5
_MAX_COMPARED = 5_000_000  # lines; a patch of many parts that fit nearly everywhere is somebody's attack

_Same = Callable[[str], str]


def patched(path: str, text: str, hunks: Sequence[Hunk]) -> str:
    """The text after all hunks. Raises ToolError with the hunk that fits nowhere, or in several places."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    ends_with_newline = lines[-1] == ""
    if ends_with_newline:
        lines.pop()
    places = _Places(path, lines)
    made: list[str] = []
    done = 0  # lines of the old text that are settled
    for hunk in hunks:
        at = places.find(hunk, done)
        made += lines[done:at]
        made += _with_own_spelling(lines[at : at + len(hunk.old)], hunk)
        done = at + len(hunk.old)
    if not lines:
        ends_with_newline = True
    if hunks and hunks[-1].no_newline and done >= len(lines):
        ends_with_newline = False
    made += lines[done:]
    joined = newline.join(made)
    return joined + newline if ends_with_newline and made else joined


def _with_own_spelling(found: list[str], hunk: Hunk) -> list[str]:
    """The new lines; a line of context that was found with other spaces stays as the file has it."""
    new = list(hunk.new)
    for old_at, new_at in hunk.context:
        new[new_at] = found[old_at]
    return new


class _Places:
    """Where lines are in one text, compared in three ways. Looked up, not searched: patches may be long."""

    def __init__(self, path: str, lines: list[str]) -> None:
        self._path = path
        self._lines = lines
        self._compared: dict[_Same, tuple[list[str], dict[str, list[int]]]] = {}
        self._left = _MAX_COMPARED

    def find(self, hunk: Hunk, start: int) -> int:
        for context in hunk.after:
            start = self._after(context, start, hunk)
        if not hunk.old:
            return self._where_nothing_is_replaced(hunk, start)
        for same in _SAME:
            found = self._matches(hunk, start, same)
            if len(found) == 1:
                return found[0]
            if found:
                return self._choose(found, hunk)
        raise refused(f"{self._missing(hunk)} Read the file again.", hunk.line)

    def _where_nothing_is_replaced(self, hunk: Hunk, start: int) -> int:
        if hunk.near is not None:
            return max(start, min(hunk.near, len(self._lines)))
        return start if hunk.after else len(self._lines)

    def _choose(self, found: list[int], hunk: Hunk) -> int:
        if hunk.near is not None:
            wanted = hunk.near - 1
            return min(found, key=lambda at: (abs(at - wanted), at))
        if hunk.after:
            return found[0]
        shown = ", ".join(str(at + 1) for at in found[:_MAX_SHOWN])
        raise refused(
            f"a part fits {self._path} in {len(found)} places, at lines {shown}: add lines around it, or "
            "before it `@@ ` and a line that comes earlier in the file.",
            hunk.line,
        )

    def _matches(self, hunk: Hunk, start: int, same: _Same) -> list[int]:
        lines, places = self._by(same)
        old = [same(line) for line in hunk.old]
        last = len(lines) - len(old)
        if hunk.at_end:
            return [last] if last >= start and lines[last:] == old else []
        # the line that is in the fewest places leaves the least to compare
        at_rarest = min(range(len(old)), key=lambda at: len(places.get(old[at], ())))
        found: list[int] = []
        for place in places.get(old[at_rarest], ()):
            at = place - at_rarest
            self._left -= 1
            if start <= at <= last and lines[at : at + len(old)] == old:
                found.append(at)
                self._left -= len(old)
            if self._left < 0:
                raise refused("its parts fit in too many places to be compared.", hunk.line)
        return found

    def _by(self, same: _Same) -> tuple[list[str], dict[str, list[int]]]:
        if same not in self._compared:
            lines = [same(line) for line in self._lines]
            places: dict[str, list[int]] = {}
            for at, line in enumerate(lines):
                places.setdefault(line, []).append(at)
            self._compared[same] = (lines, places)
        return self._compared[same]

    def _after(self, context: str, start: int, hunk: Hunk) -> int:
        for same in _SAME:
            for at in self._by(same)[1].get(same(context), ()):
                if at >= start:
                    return at + 1
        for at in range(start, len(self._lines)):
            self._left -= 1
            if context in self._lines[at]:
                return at + 1
            if self._left < 0:
                raise refused("its @@ lines are too many to be found.", hunk.line)
        behind = f" after line {start}" if start else ""
        raise refused(f"{self._path} has no line {context[:120]!r}{behind}.", hunk.line)

    def _missing(self, hunk: Hunk) -> str:
        """Which line of the hunk the file does not have."""
        known = self._by(_but_for_spaces)[1]
        for line in hunk.old:
            if _but_for_spaces(line) not in known:
                return f"{self._path} has no line {line[:120]!r}."
        if hunk.at_end:
            return f"{self._path} does not end with these lines."
        return (
            f"the lines of a part are in {self._path}, but not one after the other from where it must begin."
        )


def _exactly(line: str) -> str:
    return line


def _but_for_ends(line: str) -> str:
    return line.rstrip()


def _but_for_spaces(line: str) -> str:
    return line.strip()


_SAME: tuple[_Same, ...] = (_exactly, _but_for_ends, _but_for_spaces)
