"""What a tool may know about the call it serves. The executor makes one for each call.

A tool asks for it with a parameter annotated `CallContext`; it never appears in the tool's schema.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from codemode.tools.content import Content

_making = threading.Lock()


class AbortSignal:
    """Set once. Makes an Event only when a thread waits for it: in most calls no thread does."""

    __slots__ = ("_event", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._event: threading.Event | None = None

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        if self._event is not None:
            self._event.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks a thread until the signal is set or the time is over; returns whether it is set."""
        with _making:
            event = self._event = self._event or threading.Event()
        return self._is_set or event.wait(timeout)


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, for which run, and whether the call is aborted. An empty string: the host did not say."""

    agent_id: str = ""
    session_id: str = ""
    session_key: str = ""
    sender: str = ""
    channel: str = ""
    sandbox: str = ""  # the host's sandbox policy for this session, by name; any name: it is sandboxed
    run_id: str = ""
    call_id: str = ""
    tool_id: str = ""
    idempotency_key: str = ""  # the same again if the call is repeated after a restart
    # A thread cannot be cancelled, so a sync tool that runs long should look at this now and then.
    abort: AbortSignal = field(default_factory=AbortSignal, repr=False, compare=False)
    on_update: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)
    # What the tool adds for the host: the ledger and envelopes have it, the program does not. At most 2 KiB.
    meta: dict[str, Any] = field(default_factory=dict[str, Any], repr=False, compare=False)
    # What the tool asked with `AnswerNeeded` and was answered in this very call, in order.
    answers: tuple[Any, ...] = ()
    # The images and files of this run, by the ids in their handles; a parameter of such a type finds its own.
    contents: Mapping[str, Content] = field(default_factory=dict[str, Content], repr=False, compare=False)
    # Grows each time another engine takes the call over: a service that remembers the highest number it has
    # seen for an `idempotency_key` can refuse an engine that does not know yet that it has lost the call.
    fence: int = 1

    @property
    def aborted(self) -> bool:
        return self.abort.is_set()

    def update(self, progress: Any) -> None:
        """Reports progress, from any thread. Dropped if the host does not listen or the call is over."""
        if self.on_update is not None:
            self.on_update(progress)
