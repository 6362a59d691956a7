"""Where a program names the tools that it called, for people who read it. Pure.

A call does not say where in the text it was made; the text says where the tool is named. One place is the
place; several are candidates, of which the reader sees which one it was.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable

from msgspec import Struct

from codemode.catalog.names import safe_name
from codemode.contract.telemetry import CallRecord

_MAX_PLACES = 20  # of one tool
_MAX_PROGRAM = 200_000  # characters that are looked through
_LINE_END = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_LOOKUPS = {"search": r"\.\$?search(?![\w$])", "describe": r"\.describe(?![\w$])"}
_MAX_EXPRESSION = 80  # characters before the name of a member
_PART = re.compile(r"[\w$.]")


class CallSite(Struct, frozen=True):
    """Both start at 1; a column counts characters."""

    line: int
    column: int


def call_sites(program: str, calls: Iterable[CallRecord]) -> dict[str, tuple[CallSite, ...]]:
    """By call id; calls whose tool the text does not name are left out."""
    text = program[:_MAX_PROGRAM]
    starts = [0, *(end.end() for end in _LINE_END.finditer(text))]
    known: dict[str, tuple[CallSite, ...]] = {}
    found: dict[str, tuple[CallSite, ...]] = {}
    for call in calls:
        key = f"{call.method} {call.tool} {call.name}"
        if key not in known:
            known[key] = _places(text, starts, call)
        if known[key]:
            found[call.id] = known[key]
    return found


def _places(text: str, starts: list[int], call: CallRecord) -> tuple[CallSite, ...]:
    pattern = _LOOKUPS.get(call.method) or _pattern_of(call)
    if not pattern:
        return ()
    places: list[CallSite] = []
    for hit in re.finditer(pattern, text):
        at = _start_of_expression(text, hit.start())
        line = bisect_right(starts, at)
        places.append(CallSite(line, at - starts[line - 1] + 1))
        if len(places) == _MAX_PLACES:
            break
    return tuple(places)


def _pattern_of(call: CallRecord) -> str:
    """As a member of something (`tools.pay`, `MCP.bank.pay`), or quoted as the argument of `tools.call`.
    Nothing in it can be matched in two ways: programs are hostile texts."""
    names = {call.name, safe_name(call.name) or call.name, call.name.rpartition(".")[2]} - {""}
    member = "|".join(rf"\.{re.escape(name)}(?![\w$])" for name in sorted(names))
    quoted = "|".join(
        rf"(?<=['\"`]){re.escape(one)}(?=['\"`])" for one in sorted({call.tool, call.name} - {""})
    )
    return "|".join(part for part in (member, quoted) if part)


def _start_of_expression(text: str, at: int) -> int:
    """`tools.pay` begins at `tools`."""
    if text[at : at + 1] != ".":
        return at
    first = max(0, at - _MAX_EXPRESSION)
    while at > first and _PART.match(text, at - 1):
        at -= 1
    return at
