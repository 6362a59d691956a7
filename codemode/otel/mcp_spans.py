"""Requests to MCP servers as client spans, with their durations.

The SDK writes the current span into `_meta` of the request (`traceparent`, `tracestate`, `baggage`), so that
the server's spans are in the same trace.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from opentelemetry.trace import Span, SpanKind, StatusCode, Tracer

from codemode.otel import names

if TYPE_CHECKING:
    from codemode.otel.metrics import Metrics

_PORTS = {"http": 80, "https": 443}
_Attributes = dict[str, str | bool | int | float]


class McpSpans:
    """The client spans of an engine's MCP servers."""

    def __init__(self, tracer: Tracer, metrics: Metrics, *, content: bool) -> None:
        self._tracer = tracer
        self._metrics = metrics
        self._content = content

    @contextmanager
    def request(
        self, server: str, url: str | None, protocol: str, method: str, params: Mapping[str, Any]
    ) -> Generator[Span]:
        """The span of one request. `url` is None for a child process. What is raised inside ends it."""
        told: _Attributes = {names.MCP_METHOD: method, names.MCP_PROTOCOL: protocol, **_place(url)}
        target = params.get("name") if method in ("tools/call", "prompts/get") else None
        if target is not None:
            told[names.TOOL_NAME if method == "tools/call" else names.PROMPT_NAME] = str(target)
        if method == "tools/call":
            told[names.OPERATION] = names.EXECUTE_TOOL
        about = told | {names.MCP_SERVER: server}
        if self._content and "uri" in params:
            about[names.MCP_RESOURCE] = str(params["uri"])
        began = perf_counter()
        with self._tracer.start_as_current_span(
            f"{method} {target}" if target is not None else method,
            kind=SpanKind.CLIENT,
            attributes=about,
            record_exception=False,  # what a server said may be made of the arguments
            set_status_on_exception=False,
        ) as span:
            error = ""
            try:
                yield span
            except BaseException as raised:
                error = _kind_of(raised)
                if isinstance(data := getattr(raised, "data", None), dict) and "code" in data:
                    span.set_attribute(names.RPC_STATUS, error)
                raise
            finally:
                if error:
                    span.set_attribute(names.ERROR_TYPE, error)
                    span.set_status(StatusCode.ERROR)
                    told[names.ERROR_TYPE] = error
                self._metrics.mcp_seconds.record(perf_counter() - began, told)

    def tool_failed(self, span: Span) -> None:
        """The server answered, and the answer says that the tool failed."""
        span.set_attribute(names.ERROR_TYPE, "tool_error")
        span.set_status(StatusCode.ERROR)


def _place(url: str | None) -> _Attributes:
    if url is None:
        return {names.TRANSPORT: "pipe"}
    parts = urlsplit(url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    return {
        names.TRANSPORT: "tcp",
        names.NETWORK_PROTOCOL: "http",
        names.SERVER_ADDRESS: parts.hostname or "",
        names.SERVER_PORT: port,
    }


def _kind_of(error: BaseException) -> str:
    """The JSON-RPC code that the server answered with, or the kind of failure. Both are few."""
    data: Any = getattr(error, "data", None)
    if isinstance(data, dict) and "code" in data:
        return str(data["code"])  # pyright: ignore[reportUnknownArgumentType] - of an untyped object
    return type(error).__name__
