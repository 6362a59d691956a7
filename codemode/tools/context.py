"""What a tool may know about the call it serves. Built by the executor, one per call.

A tool asks for it with a parameter annotated `CallContext`; it never appears in the tool's schema.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class CallContext:
    """Who calls, for which run, and how to hear of an abort. An empty string means the host did not say."""

    agent_id: str = ""
    session_id: str = ""
    session_key: str = ""
    sender: str = ""
    channel: str = ""
    sandbox: str = ""  # the host's sandbox policy for this session, by name
    run_id: str = ""
    call_id: str = ""
    tool_id: str = ""
    idempotency_key: str = ""  # the same again if the call is repeated after a restart
    # A thread cannot be cancelled: a sync tool that runs long looks at this now and then.
    abort: threading.Event = field(default_factory=threading.Event, repr=False, compare=False)
    on_update: Callable[[Any], None] | None = field(default=None, repr=False, compare=False)

    @property
    def aborted(self) -> bool:
        return self.abort.is_set()

    def update(self, progress: Any) -> None:
        """Reports progress, from any thread. Nobody may be listening; after the call's end nobody is."""
        if self.on_update is not None:
            self.on_update(progress)
