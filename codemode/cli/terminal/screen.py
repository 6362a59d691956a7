"""Shows what a command has to show: the program's output on stdout, everything else on stderr, and a region
at the bottom of the terminal that is redrawn.

All text goes through here, so that nothing from a program, a tool or a server reaches a terminal unescaped.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TextIO

import msgspec

from codemode.cli.errors import CommandError, ExitCode
from codemode.contract.shown_json import escaped_json
from codemode.trajectory.escape import plain

if TYPE_CHECKING:
    from codemode.contract.results import Output

Colour = Literal["red", "yellow", "green", "blue", "dim", "bold"]
_CODES: Mapping[Colour, str] = {
    "red": "31", "yellow": "33", "green": "32", "blue": "36", "dim": "2", "bold": "1",
}  # fmt: skip
_WITHIN_A_LINE = re.compile(r"[^\n\t]+")
_ON_STDERR = ("warn", "error")  # as in other JavaScript runtimes


class Screen:
    """`live`: stderr is a terminal that can move its cursor."""

    def __init__(self, *, quiet: bool = False) -> None:
        # kept, because sys.stdout is redirected while tools run: what they print is not our output
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        is_terminal = self.err.isatty() and os.environ.get("TERM", "") not in ("", "dumb")
        self.live = is_terminal and not quiet
        self._colour_out = _wants_colour(self.out)
        self._colour_err = _wants_colour(self.err)
        self._region: list[str] = []
        self._is_held = False

    @property
    def width(self) -> int:
        return shutil.get_terminal_size((100, 24)).columns

    @property
    def height(self) -> int:
        return shutil.get_terminal_size((100, 24)).lines

    def print(self, text: str) -> None:
        """Prints a line of output, already escaped."""
        self._above_region(self.out, text)

    def note(self, text: str, colour: Colour | None = None) -> None:
        """Prints a line for people, already escaped."""
        self._above_region(self.err, self.painted(text, colour))

    def item(self, item: Output) -> None:
        """Prints one item of a program's output, as it comes."""
        if item.type == "json":
            self.print(escaped_json(bytes(item.raw_value).decode()))
        elif item.type != "text":
            named = f" {item.name}" if item.name else ""
            self.print(escaped(f"[{item.type}{named}: {item.mime_type}, {item.bytes:,} bytes]"))
        elif item.level in _ON_STDERR:
            self.note(escaped(item.text), "red" if item.level == "error" else "yellow")
        else:
            self.print(escaped(item.text))

    def value(self, json: str) -> None:
        """Prints what a program returned; nothing for null."""
        if json == "null":
            return
        if self.out.isatty() and len(json) > self.width:
            json = msgspec.json.format(json, indent=2)
        self.print(_paint(escaped_json(json), "blue") if self._colour_out else escaped_json(json))

    def painted_out(self, text: str, colour: Colour) -> str:
        """Paints a part of a line on stdout."""
        return _paint(text, colour) if self._colour_out else text

    def painted(self, text: str, colour: Colour | None) -> str:
        return _paint(text, colour) if colour and self._colour_err else text

    def draw(self, lines: Sequence[str]) -> None:
        """Replaces the region at the bottom by these lines; each must fit the width."""
        if not self.live or self._is_held or list(lines) == self._region:
            return
        self._write_region(list(lines))

    def keep(self) -> None:
        """Leaves the region's text where it is and no longer redraws it."""
        self._region = []

    def clear(self) -> None:
        self.draw(())

    @contextlib.contextmanager
    def held(self) -> Generator[None]:
        """Draws nothing meanwhile: a person is typing at the bottom."""
        self.clear()
        self._is_held = True
        try:
            yield
        finally:
            self._is_held = False

    def _above_region(self, stream: TextIO, text: str) -> None:
        region, self._region = self._region, self._erase()
        try:
            stream.write(text + "\n")
            stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CommandError(f"the output cannot be written: {error.strerror}", ExitCode.FAILED) from None
        if region:
            self._write_region(region)

    def _erase(self) -> list[str]:
        if self._region:
            self.err.write(f"\x1b[{len(self._region)}F\x1b[J")
            self.err.flush()
        return []

    def _write_region(self, lines: list[str]) -> None:
        """Erases and writes at once, so that a terminal does not show the gap."""
        back = f"\x1b[{len(self._region)}F\x1b[J" if self._region else ""
        self.err.write(back + "".join(line + "\n" for line in lines))
        self.err.flush()
        self._region = lines


class ScreenHandler(logging.Handler):
    """Prints logged warnings as lines for people."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        self._screen.note(f"{record.levelname.lower()}: {plain(record.getMessage())}", "yellow")


def escaped(text: str) -> str:
    """Makes text harmless to a terminal; line ends and tabs stay."""
    return _WITHIN_A_LINE.sub(lambda part: plain(part[0]), text)


def _paint(text: str, colour: Colour) -> str:
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def _wants_colour(stream: TextIO) -> bool:
    is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM", "") in ("", "dumb")
    return stream.isatty() and not is_plain
