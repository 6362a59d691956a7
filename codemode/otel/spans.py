"""Legs and nested calls of runs as spans. The recorder tells it what happens.

Nobody waits for OpenTelemetry: spans are opened and ended a moment later, while a worker computes, with the
times at which their subjects began and ended. One that somebody needs is opened then: that of a call when its
tool asks for the current span, that of a leg for its first such call, or when its run is frozen.
"""

from __future__ import annotations

import asyncio
import contextvars
import importlib.metadata
import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from time import time_ns
from typing import TYPE_CHECKING, Any

import msgspec
from opentelemetry import metrics, trace
from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace import Link, Span, SpanKind, StatusCode

from codemode.contract.results import CodeModeResult, Failed, Waiting
from codemode.otel import names
from codemode.otel.late_spans import (
    LOOKUPS,
    OPENING,
    UNKNOWN,
    Attributes,
    CallSpan,
    LegSpan,
    about_call,
    about_leg,
    clipped,
    link_to,
    named_by,
    within,
)
from codemode.otel.mcp_spans import McpSpans
from codemode.otel.metrics import Metrics
from codemode.otel.story import Story

if TYPE_CHECKING:
    from codemode.otel.settings import OpenTelemetry
    from codemode.runs.run import Run
    from codemode.runs.work import Work

_log = logging.getLogger("codemode.otel")

_PATIENCE_SECONDS = 0.02  # how long what is due waits for a good time
# Of these words there are few; a code of a tool's own stays out of metrics.
_CODES = frozenset(
    ("invalid_arguments", "unknown_tool", "denied", "timeout", "aborted", "interrupted", "mcp_error")
)


class Spans:
    """The spans of an engine's runs; one per engine that was asked for them."""

    def __init__(self, settings: OpenTelemetry, stats: Callable[[], Mapping[str, Any]]) -> None:
        self._content = settings.content
        version = _version()
        self._tracer = trace.get_tracer(names.SCOPE, version, settings.tracer_provider, names.SCHEMA_URL)
        meter = metrics.get_meter(names.SCOPE, version, settings.meter_provider, names.SCHEMA_URL)
        self._metrics = Metrics(meter, stats)
        self.mcp = McpSpans(self._tracer, self._metrics, content=settings.content)
        self._legs: dict[str, LegSpan] = {}  # by run
        self._calls: dict[tuple[str, int], CallSpan] = {}  # by run and call
        self._timer: asyncio.TimerHandle | None = None
        self._due: deque[Callable[[], Any]] = deque()

    def close(self) -> None:
        """Ends what is open: the engine is closed, and what goes on elsewhere begins spans of its own."""
        self._catch_up()
        for leg in self._legs.values():
            if leg.span is not None:
                leg.span.end()
        for call in self._calls.values():
            call.end()
        self._legs.clear()
        self._calls.clear()
        self._metrics.is_closed = True

    # ---- legs ----------------------------------------------------------------------------------------------

    def exec_started(self, run: Run, tool_call: str) -> None:
        self._legs[run.id] = LegSpan("exec", tool_call)

    def wait_started(self, run: Run, tool_call: str) -> None:
        """What the run remembers may still be in its snapshot, so the span has to wait."""
        self._legs[run.id] = LegSpan("wait", tool_call)

    def leased(self, run: Run) -> None:
        """The worker gets its program in this turn of the loop and computes in the next ones: a good time to
        do what is due."""
        if (leg := self._legs.get(run.id)) is not None:
            self._due.append(partial(self._opened, run, leg))
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._catch_up)

    def resumed(self, run: Run, settled: int) -> None:
        if (leg := self._legs.get(run.id)) is not None:
            self._opened(run, leg).add_event("codemode.resumed", {names.SETTLED: settled})

    def suspending(self, run: Run, reason: str, size: int) -> None:
        """Before the run is frozen: its snapshot has to know the span."""
        if (leg := self._legs.get(run.id)) is not None:
            told: Attributes = {names.REASON: reason, names.SNAPSHOT_BYTES: size}
            self._opened(run, leg).add_event("codemode.suspended", told)
            self._later(partial(self._metrics.suspensions.add, 1, {names.REASON: reason}))
            self._later(partial(self._metrics.snapshot_bytes.record, size))

    def leg_ended(self, run: Run, result: CodeModeResult) -> None:
        leg = self._legs.pop(run.id, None)
        if leg is not None:
            self._later(partial(self._end_leg, run, leg, result, time_ns()))

    def leg_cut_short(self, run: Run, code: str) -> None:
        """The leg has no result: its caller was cancelled."""
        leg = self._legs.pop(run.id, None)
        if leg is not None:
            self._later(partial(self._cut_short, run, leg, code, time_ns()))

    def _opened(self, run: Run, leg: LegSpan) -> Span:
        if leg.span is None:
            with OPENING:
                leg.span = leg.span or self._open_leg(run, leg)
        return leg.span

    def _open_leg(self, run: Run, leg: LegSpan) -> Span:
        story, parent, links = run.story, leg.caller, list[Link]()
        if leg.kind == "wait" and story is not None:
            links = [link_to(story.exec, story.state, "exec")]
            if story.leg != story.exec:
                links.append(link_to(story.leg, story.state, "previous leg"))
            if not trace.get_current_span(parent).get_span_context().is_valid:
                parent = within(story.exec, story.state, parent)
        name, about = f"{names.EXECUTE_TOOL} {leg.kind}", about_leg(run, leg, content=self._content)
        span = self._start(name, parent, about, links, leg.began_ns)
        named, state = named_by(span.get_span_context())
        if story is None:
            run.tell_story(Story(named, state, named))
        else:
            run.tell_story(msgspec.structs.replace(story, leg=named))
        return span

    def _end_leg(self, run: Run, leg: LegSpan, result: CodeModeResult, at_ns: int) -> None:
        span = self._opened(run, leg)
        span.set_attributes({names.STATUS: result.status, names.CALLS: len(result.telemetry.calls)})
        told = {names.LEG: leg.kind, names.STATUS: result.status}
        if isinstance(result, Waiting):
            span.set_attribute(names.REASON, result.reason)
        elif isinstance(result, Failed):
            span.set_attribute(names.ERROR_TYPE, result.code)
            span.set_status(StatusCode.ERROR)
            told[names.ERROR_TYPE] = result.code
        elif self._content:
            span.set_attribute(names.CALL_RESULT, clipped(msgspec.json.encode(result.to_dict().get("value"))))
        span.end(at_ns)
        self._metrics.leg_seconds.record((at_ns - leg.began_ns) / 1e9, told)

    def _cut_short(self, run: Run, leg: LegSpan, code: str, at_ns: int) -> None:
        span = self._opened(run, leg)
        span.set_attributes({names.STATUS: "failed", names.ERROR_TYPE: code})
        span.set_status(StatusCode.ERROR)
        span.end(at_ns)
        told = {names.LEG: leg.kind, names.STATUS: "failed", names.ERROR_TYPE: code}
        self._metrics.leg_seconds.record((at_ns - leg.began_ns) / 1e9, told)

    # ---- nested calls --------------------------------------------------------------------------------------

    def call_started(self, run: Run, work: Work) -> None:
        if work.method not in LOOKUPS:
            call = self._calls[run.id, work.id] = CallSpan(self._open_call, run, work, self._legs.get(run.id))
            if call.leg is None and run.story is None:  # of Tool Search: its caller's span is the parent
                _ = call.real

    def variables(self, run: Run, work: Work, given: contextvars.Context | None) -> contextvars.Context:
        """The variables for the call's task: those of the caller, with the call's span as the current one."""
        key = (run.id, work.id)
        call = self._calls.get(key)
        if call is None:  # it is started again, or decided on
            call = self._calls[key] = CallSpan(self._open_call, run, work, self._legs.get(run.id))
        self._later(call.open)
        own = contextvars.copy_context() if given is None else given.copy()
        own.run(_enter, call)
        return own

    def call_finished(
        self, run: Run, work: Work, status: str, code: str | None, size: int, data: bytes = b""
    ) -> None:
        call = self._calls.pop((run.id, work.id), None)
        if call is not None:  # else it ran on another engine, which has told of it
            kept = data if self._content else b""
            self._later(partial(self._end_call, call, len(work.args), status, code, size, kept, time_ns()))

    def approval_asked(self, run: Run, work: Work, approval_id: str, *, is_running: bool) -> None:
        """The call ends here for now: a decision may take days and come to another engine. A call that asks
        while it runs goes on."""
        call = self._calls.get((run.id, work.id))
        if call is None:
            return
        if is_running:
            call.add_event("codemode.question.asked", {names.APPROVAL: approval_id})
            return
        del self._calls[run.id, work.id]
        told: Attributes = {names.CALL_STATUS: "needs_approval", names.APPROVAL: approval_id}
        call.set_attributes(about_call(run, work, len(work.args), content=self._content) | told)
        call.add_event("codemode.approval.asked", {names.APPROVAL: approval_id})
        if run.story is not None:
            named, _ = named_by(call.get_span_context())
            run.tell_story(msgspec.structs.replace(run.story, asked=run.story.asked | {work.id: named}))
        self._later(partial(call.end, time_ns()))

    def approval_decided(self, run: Run, work: Work, approved: bool, *, is_running: bool) -> None:
        key = (run.id, work.id)
        if not is_running:
            call = self._calls[key] = CallSpan(self._open_call, run, work, self._legs.get(run.id))
            call.set_attribute(names.APPROVED, approved)
        elif (asking := self._calls.get(key)) is not None:
            asking.add_event("codemode.question.answered", {names.APPROVED: approved})

    def _open_call(self, call: CallSpan) -> Span:
        run, work, story, links = call.run, call.work, call.run.story, list[Link]()
        if call.leg is not None:
            parent = trace.set_span_in_context(self._opened(run, call.leg), call.leg.caller)
        elif story is not None:
            parent = within(story.leg, story.state, get_current())
        else:
            parent = get_current()
        if story is not None and work.id in story.asked:
            links = [link_to(story.asked[work.id], story.state, "asked")]
            rest = {other: named for other, named in story.asked.items() if other != work.id}
            run.tell_story(msgspec.structs.replace(story, asked=rest))
        name = f"{names.EXECUTE_TOOL} {work.name}" if work.tool else names.EXECUTE_TOOL
        tool = work.name if work.tool or self._content else UNKNOWN
        about: Attributes = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: tool}
        return self._start(name, parent, about, links, call.began_ns)

    def _end_call(
        self, call: CallSpan, given: int, status: str, code: str | None, size: int, data: bytes, at_ns: int
    ) -> None:
        work = call.work
        ended: Attributes = {names.CALL_STATUS: status, names.RESULT_BYTES: size}
        call.set_attributes(about_call(call.run, work, given, content=self._content) | ended)
        told = {names.TOOL_NAME: work.name if work.tool else UNKNOWN}
        if status != "ok":
            call.set_attribute(names.ERROR_TYPE, code or status)
            call.set_status(StatusCode.ERROR)
            told[names.ERROR_TYPE] = code if code in _CODES else "tool_error"
        elif self._content:
            call.set_attribute(names.CALL_RESULT, clipped(data))
        call.end(at_ns)
        self._metrics.tool_seconds.record((at_ns - call.began_ns) / 1e9, told)

    # ---- later ---------------------------------------------------------------------------------------------

    def _later(self, step: Callable[[], Any]) -> None:
        """Soon, in a turn of the loop in which nobody waits for it."""
        self._due.append(step)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._catch_up)

    def _catch_up(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._due:
            try:
                self._due.popleft()()
            except Exception:  # a processor or an exporter of the host's failed, and no run with it
                _log.exception("a span or a measurement could not be told")

    def _start(self, name: str, parent: Context, about: Attributes, links: list[Link], began_ns: int) -> Span:
        try:
            return self._tracer.start_span(name, parent, SpanKind.INTERNAL, about, links, began_ns)
        except Exception:  # a sampler or a processor of the host's failed, and no run with it
            _log.exception("a span could not be started")
            return trace.INVALID_SPAN


def _version() -> str:
    try:
        return importlib.metadata.version("codemode")
    except importlib.metadata.PackageNotFoundError:  # a clone that was never installed
        return ""


def _enter(span: Span) -> None:
    attach(trace.set_span_in_context(span))
