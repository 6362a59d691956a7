"""What a run remembers of its spans, so that a leg on another node and on another day joins the same story.

It is frozen with the run. Spans are named as the header `traceparent` of W3C Trace Context does it. An engine
without OpenTelemetry keeps it as it is.
"""

from __future__ import annotations

import msgspec


class Story(msgspec.Struct, array_like=True):
    """Stored as an array: new fields go at the end, with a default."""

    exec: str  # the span of the exec
    state: str  # the `tracestate` of its trace
    leg: str  # the span of the latest leg
    asked: dict[int, str] = {}  # by the id of a call that waits for an approval: its first span
