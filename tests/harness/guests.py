"""Runs one program in real guests: does its calls with Python functions, suspends it where asked.

Time is simulated: calls settle at once in the order they were made, timers when nothing else is left, by
their due time. So two runs of one program see the same settlements in the same order, and a suspended run
can be compared with a straight one. Every guest is watched: none of them can hang a test.
"""

from __future__ import annotations

import functools
import heapq
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

import msgspec
from codemode_runtime import compiled, image
from codemode_runtime.guest import Guest, GuestOutcome
from codemode_runtime.shapes import GuestOffer, Limits, Lookup, Settlement
from codemode_runtime.wasm import Machine
from codemode_runtime.wire import Done, Idle, Threw

from tests.harness.patience import PATIENCE_SECONDS

Tool = Callable[..., object]
# "capture_only" takes a delta at every idle moment and goes on in the same guest
Suspend = Literal["never", "capture_only", "every_await"]


@functools.cache
def load_image() -> image.Image:
    return image.load()


@functools.cache
def load_machine() -> Machine:
    return compiled.load_machine(load_image())


def new_guest(limits: Limits | None = None, descriptor: GuestOffer | None = None) -> Guest:
    return Guest(load_machine(), load_image(), limits or Limits(), descriptor)


def echo(value: Any = None, *_: object) -> Any:
    """The tool that answers with its first argument."""
    return value


def always(result: object) -> Tool:
    """A tool that answers so, whatever it is asked."""

    def tool(*_: object) -> object:
        return result

    return tool


class ToolFailed(Exception):
    """What a Python tool raises to reject its call with these fields."""

    def __init__(self, **fields: object) -> None:
        super().__init__(str(fields))
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Offer:
    """A descriptor from Python data; `asked` records every look-up."""

    answers: Mapping[tuple[Lookup, str], object] = field(default_factory=dict[tuple[Lookup, str], object])
    has_namespaces: bool = False
    bare: bool = False
    asked: list[tuple[Lookup, str]] = field(default_factory=list[tuple[Lookup, str]])

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        self.asked.append((kind, key))
        if (kind, key) not in self.answers:
            return None
        return msgspec.json.encode(self.answers[kind, key])


@dataclass(frozen=True, slots=True)
class Ran:
    """The end of a run: its last outcome, all it sent, how often it was suspended, its largest delta."""

    outcome: GuestOutcome
    messages: list[dict[str, Any]]
    raw_messages: tuple[bytes, ...]  # one array of messages per leg, as the guest wrote it
    suspensions: int
    largest_delta: int

    @property
    def value(self) -> Any:
        assert isinstance(self.outcome, Done), self.outcome
        return msgspec.json.decode(self.outcome.result)["value"]

    @property
    def lossy(self) -> list[dict[str, str]]:
        assert isinstance(self.outcome, Done), self.outcome
        return msgspec.json.decode(self.outcome.result)["lossy"]

    @property
    def failure(self) -> dict[str, Any]:
        assert isinstance(self.outcome, Threw), self.outcome
        return msgspec.json.decode(self.outcome.failure)

    def sent(self, *types: str) -> list[dict[str, Any]]:
        return [message for message in self.messages if message["type"] in types]

    @property
    def texts(self) -> list[str]:
        return [message["text"] for message in self.sent("text")]


class Watched(AbstractContextManager["Watched"]):
    """Interrupts the guest it holds when patience ends; never touches one that was closed."""

    def __init__(self, guest: Guest, seconds: float = PATIENCE_SECONDS) -> None:
        self.guest = guest
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._interrupt)
        self._timer.daemon = True
        self._open = True

    def __enter__(self) -> Watched:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._open = False
            self.guest.close()

    def replace(self, guest: Guest) -> None:
        with self._lock:
            self.guest.close()
            self.guest = guest

    def _interrupt(self) -> None:
        with self._lock:
            if self._open:
                self.guest.interrupt()


class Host:
    """What is in flight, and what settles next."""

    def __init__(self, tools: Mapping[str, Tool]) -> None:
        self._tools = tools
        self._due: list[tuple[float, int, dict[str, Any]]] = []
        self._now = 0.0
        self._cleared: set[int] = set()

    def take(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            match message["type"]:
                case "call" | "yield":
                    heapq.heappush(self._due, (self._now, message["id"], message))
                case "timer":
                    heapq.heappush(self._due, (self._now + 1 + message["ms"], message["id"], message))
                case "clear":
                    self._cleared.add(message["id"])
                case _:
                    pass

    def settle_next(self) -> Settlement:
        while self._due[0][1] in self._cleared:
            heapq.heappop(self._due)
        self._now, number, message = heapq.heappop(self._due)
        if message["type"] != "call":
            return Settlement(number)
        tool = self._tools.get(message["target"] or message["method"])
        if tool is None:
            return _rejection(number, {"message": f"no tool {message['target']}", "code": "unknown_tool"})
        try:
            return Settlement(number, msgspec.json.encode(tool(*message["args"])))
        except ToolFailed as failed:
            return _rejection(number, failed.fields)


def _rejection(number: int, fields: Mapping[str, object]) -> Settlement:
    return Settlement(number, msgspec.json.encode(fields), rejected=True)


def run(
    program: str,
    tools: Mapping[str, Tool] | None = None,
    suspend: Suspend = "never",
    *,
    limits: Limits | None = None,
    descriptor: GuestOffer | None = None,
    seconds: float = PATIENCE_SECONDS,
) -> Ran:
    """Runs to the end. `tools` are found by the call's target, or by its method where it has none."""
    bounds = limits or Limits()
    host = Host(tools or {})
    messages: list[dict[str, Any]] = []
    raw: list[bytes] = []
    suspensions = largest = 0
    with Watched(new_guest(bounds, descriptor), seconds) as watched:
        outcome = watched.guest.start(program)
        while True:
            new = msgspec.json.decode(outcome.messages)
            messages.extend(new)
            raw.append(outcome.messages)
            if not isinstance(outcome, Idle):
                return Ran(outcome, messages, tuple(raw), suspensions, largest)
            host.take(new)
            if suspend != "never":
                delta = watched.guest.capture()
                suspensions, largest = suspensions + 1, max(largest, len(delta))
                if suspend == "every_await":
                    fresh = new_guest(bounds, descriptor)
                    fresh.restore(delta, bounds)
                    watched.replace(fresh)
            outcome = watched.guest.deliver([host.settle_next()])
