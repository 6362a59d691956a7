"""Compares what a program does with what it did: call by call, output by output, and at last its end. Pure.

Ids of calls are the guest's own count of all its work, so a program that was changed may count otherwise and
do the same: `Comparison.ids` takes each recorded id to that of the same work now.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from codemode_runtime import wire
from msgspec import Struct
from msgspec.structs import replace

Where = Literal["call", "output", "timer", "outcome"]
_SHOWN = 200
_Work = wire.Call | wire.Timer | wire.Yield


class Difference(Struct, frozen=True, rename="camel"):
    """The first that there is. `number` counts calls, timers or items of output from 1; 0: the outcome."""

    where: Where
    number: int
    recorded: str
    now: str

    def __str__(self) -> str:
        what = "the outcome" if self.where == "outcome" else f"{self.where} {self.number}"
        return f"{what} differs\n  recorded: {self.recorded}\n  now:      {self.now}"


class Comparison:
    """Of one replay: counts what was the same. `is_same_text` also compares where errors were thrown."""

    def __init__(self, *, is_same_text: bool) -> None:
        self.ids: dict[int, int] = {}  # of recorded work, to that of now
        self.calls = 0
        self.outputs = 0
        self._timers = 0
        self._is_same_text = is_same_text

    def compare(self, recorded: wire.Outcome, now: wire.Outcome) -> Difference | None:
        """What came in one turn, and how it ended."""
        before, after = messages_of(recorded), messages_of(now)
        for at in range(max(len(before), len(after))):
            one = before[at] if at < len(before) else None
            other = after[at] if at < len(after) else None
            if (found := self._message(one, other)) is not None:
                return found
        was, has = self._end(recorded), self._end(now)
        return None if was == has else Difference("outcome", 0, _tell_end(recorded), _tell_end(now))

    def _message(self, one: wire.GuestMessage | None, other: wire.GuestMessage | None) -> Difference | None:
        kind = _where(one if one is not None else other)
        if one is not None and other is not None and _where(other) == "call":
            kind = "call"
        match kind:
            case "call":
                self.calls += 1
                number = self.calls
            case "output":
                self.outputs += 1
                number = self.outputs
            case _:
                self._timers += 1
                number = self._timers
        if one is not None and other is not None and self._is_same(one, other):
            return None
        return Difference(kind, number, tell(one), tell(other))

    def _is_same(self, one: wire.GuestMessage, other: wire.GuestMessage) -> bool:
        if isinstance(one, wire.Clear) and isinstance(other, wire.Clear):
            return self.ids.get(one.id, one.id) == other.id
        if isinstance(one, _Work) and isinstance(other, _Work):
            self.ids[one.id] = other.id
            return _encoded(replace(one, id=other.id)) == _encoded(other)
        return _encoded(one) == _encoded(other)

    def _end(self, outcome: wire.Outcome) -> bytes:
        match outcome:
            case wire.Idle(returned=returned):
                return b"idle %d" % returned
            case wire.Done(result=result):
                return b"done " + bytes(result.value)
            case wire.Threw(failure=failure) if not self._is_same_text:
                error = None if failure.error is None else replace(failure.error, stack=None)
                return b"threw " + _encoded(replace(failure, error=error, call=0))
            case wire.Threw(failure=failure):
                return b"threw " + _encoded(failure)
            case wire.Stopped(reason=reason):
                return b"stopped %d" % reason
            case wire.Interrupted():
                return b"interrupted"
            case _:
                return _encoded(outcome)


def messages_of(outcome: wire.Outcome) -> tuple[wire.GuestMessage, ...]:
    return () if isinstance(outcome, wire.Refused | wire.RestoreRefused) else outcome.messages


def tell(message: wire.GuestMessage | None) -> str:
    """One line for people."""
    match message:
        case None:
            return "nothing"
        case wire.Call(method=method, target=target, args=args):
            how = {"call": "tools", "namespace": "namespace", "mcp": "MCP"}.get(method, f"tools.{method}")
            return _clip(
                f"{how} {target} {bytes(args).decode()}" if target else f"{how} {bytes(args).decode()}"
            )
        case wire.Timer(ms=ms):
            return f"a timer of {ms} ms"
        case wire.Yield(reason=reason):
            return _clip(f"yield_control({reason or ''})")
        case wire.Clear():
            return "a timer that is cleared"
        case wire.Text(text=text):
            return _clip(repr(text))
        case wire.Json(value=value):
            return _clip(bytes(value).decode())
        case wire.ContentShown(as_=kind):
            return f"{kind} content"
        case wire.Ignored(what=what):
            return _clip(f"an ignored {what}")


def _tell_end(outcome: wire.Outcome) -> str:
    match outcome:
        case wire.Idle():
            return "the program waits"
        case wire.Done(result=result):
            return _clip(f"returned {bytes(result.value).decode()}")
        case wire.Threw(failure=failure) if failure.error is not None:
            stack = (failure.error.stack or "").strip().splitlines()
            place = f" {stack[0].strip()}" if stack else ""
            return _clip(f"threw {failure.error.name}: {failure.error.message}{place}")
        case wire.Threw(failure=failure):
            return _clip(f"threw {bytes(failure.thrown).decode() or failure.kind}")
        case wire.Stopped(reason=reason):
            return f"was stopped: {reason.name.lower()}"
        case wire.Interrupted():
            return "was interrupted while it computed"
        case wire.Refused(message=message) | wire.RestoreRefused(message=message):
            return _clip(f"was refused: {message}")


def _where(message: wire.GuestMessage | None) -> Where:
    match message:
        case wire.Call():
            return "call"
        case wire.Text() | wire.Json() | wire.ContentShown() | wire.Ignored():
            return "output"
        case _:
            return "timer"


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value)


def _clip(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
