"""Events as data: each has its type, and says what it is about in camel case."""

from __future__ import annotations

from msgspec import Raw

from codemode.contract.events import (
    CallFinished,
    CallStarted,
    Event,
    LimitHit,
    OutputAdded,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSuspended,
)
from codemode.contract.results import JsonOutput


def test_each_event_is_plain_data_with_its_type() -> None:
    events: list[Event] = [
        RunStarted("s1", "javascript", run_id="r", at_ms=1),
        OutputAdded(JsonOutput(Raw(b"[1]")), run_id="r", at_ms=1),
        CallStarted("1", "openclaw:core:echo", "echo", "call", run_id="r", at_ms=1),
        CallFinished("1", "openclaw:core:echo", "echo", "ok", 2.5, run_id="r", at_ms=1),
        RunSuspended("yield", 2900, run_id="r", at_ms=1),
        RunResumed(2, run_id="r", at_ms=1),
        LimitHit("timeout", run_id="r", at_ms=1),
        RunFinished("failed", "timeout", run_id="r", at_ms=1),
    ]
    assert [event.to_dict()["type"] for event in events] == [event.type for event in events]
    assert [event.type for event in events] == [
        *("started", "output", "call_started", "call_finished"),
        *("suspended", "resumed", "limit_hit", "finished"),
    ]
    assert events[1].to_dict() == {
        "type": "output",
        "runId": "r",
        "atMs": 1,
        "item": {"type": "json", "value": [1]},
    }
    assert events[7].to_dict() == {
        "type": "finished",
        "runId": "r",
        "atMs": 1,
        "status": "failed",
        "code": "timeout",
    }
