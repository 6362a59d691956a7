"""Spans that are opened later than what they tell of began, and what is told of legs and calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any

import msgspec
from opentelemetry import trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import Link, NonRecordingSpan, Span, SpanContext
from opentelemetry.trace.span import TraceFlags, TraceState
from opentelemetry.trace.status import Status, StatusCode
from opentelemetry.util.types import Attributes as AnyAttributes

from codemode.otel import names

if TYPE_CHECKING:
    from codemode.runs.run import Run
    from codemode.runs.work import Work

LOOKUPS = ("search", "describe")
UNKNOWN = "unknown"  # a name that no tool has is text of the program
_MAX_CONTENT = 16 << 10
_MAX_DESCRIPTION = 1_000
Attributes = dict[str, str | bool | int | float]
# A tool that runs in a thread may ask for its span while the loop opens it.
OPENING = threading.RLock()


class LegSpan:
    """An exec or a wait that is under way. Its span is opened from the caller's context."""

    __slots__ = ("began_ns", "caller", "kind", "span", "tool_call")

    def __init__(self, kind: str, tool_call: str) -> None:
        self.kind = kind
        self.tool_call = tool_call
        self.began_ns = time_ns()
        self.caller = get_current()
        self.span: Span | None = None


class CallSpan(Span):
    """The span of a nested call, and the current one for its tool: the real one is opened when it is asked
    for anything."""

    __slots__ = ("_make", "_real", "began_ns", "leg", "run", "work")

    def __init__(self, make: Callable[[CallSpan], Span], run: Run, work: Work, leg: LegSpan | None) -> None:
        self._make = make
        self._real: Span | None = None
        self.began_ns = time_ns()
        self.leg = leg
        self.run = run
        self.work = work

    @property
    def real(self) -> Span:
        if self._real is None:
            with OPENING:
                self._real = self._real or self._make(self)
        return self._real

    def open(self) -> None:
        _ = self.real

    def end(self, end_time: int | None = None) -> None:
        self.real.end(end_time)

    def get_span_context(self) -> SpanContext:
        return self.real.get_span_context()

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        self.real.set_attributes(attributes)

    def set_attribute(self, key: str, value: Any) -> None:
        self.real.set_attribute(key, value)

    def add_event(self, name: str, attributes: AnyAttributes = None, timestamp: int | None = None) -> None:
        self.real.add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: AnyAttributes = None) -> None:
        self.real.add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self.real.update_name(name)

    def is_recording(self) -> bool:
        return self.real.is_recording()

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        self.real.set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: AnyAttributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        self.real.record_exception(exception, attributes, timestamp, escaped)


# ---- what is told ------------------------------------------------------------------------------------------


def about_leg(run: Run, leg: LegSpan, *, content: bool) -> Attributes:
    about: Attributes = {
        names.OPERATION: names.EXECUTE_TOOL,
        names.TOOL_NAME: leg.kind,
        names.TOOL_TYPE: names.FUNCTION,
        names.RUN: run.id,
        names.CONVERSATION: run.scope.session,
        names.AGENT: run.scope.agent,
    }
    if leg.tool_call:
        about[names.CALL_ID] = leg.tool_call
    if run.origin.provider:
        about[names.PROVIDER] = run.origin.provider
    if run.origin.model:
        about[names.MODEL] = run.origin.model
    if leg.kind == "exec" and run.meter is not None:
        about[names.LANGUAGE] = run.active.language
        about[names.PROGRAM_BYTES] = len(run.active.program.encode())
        if content:
            about[names.CALL_ARGUMENTS] = clipped(msgspec.json.encode({"code": run.active.program}))
    return about


def about_call(run: Run, work: Work, given: int, *, content: bool) -> Attributes:
    """`given` are the bytes of the arguments."""
    about: Attributes = {
        names.TOOL_TYPE: names.FUNCTION,
        names.CALL_ID: str(work.id),
        names.RUN: run.id,
        names.CALL_METHOD: work.method,
        names.ARGUMENTS_BYTES: given,
    }
    tool = run.environment.catalog.get(work.tool) if work.tool else None
    if tool is not None and tool.description:
        about[names.TOOL_DESCRIPTION] = tool.description[:_MAX_DESCRIPTION]
    if content and work.args:
        about[names.CALL_ARGUMENTS] = clipped(work.args[1:-1])
    return about


def clipped(data: bytes) -> str:
    return data[:_MAX_CONTENT].decode(errors="replace")


# ---- spans by name -----------------------------------------------------------------------------------------


def named_by(context: SpanContext) -> tuple[str, str]:
    """As `traceparent` and `tracestate` have it."""
    named = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    return named, context.trace_state.to_header()


def within(named: str, state: str, context: Context) -> Context:
    return trace.set_span_in_context(NonRecordingSpan(_read(named, state)), context)


def link_to(named: str, state: str, what: str) -> Link:
    return Link(_read(named, state), {names.LINK: what})


def _read(named: str, state: str) -> SpanContext:
    _, trace_id, span_id, flags = named.split("-")
    return SpanContext(
        int(trace_id, 16),
        int(span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(flags, 16)),
        trace_state=TraceState.from_header([state]) if state else None,
    )
