"""OpenTelemetry: spans and metrics of runs, calls and MCP requests, by the GenAI and MCP conventions.

    settings     what a host says to switch it on; loads nothing
    story        the part that is frozen with a run; loads nothing
    names        the names of the conventions, and our own
    spans        legs and nested calls of runs as spans; the recorder (runs/recorder.py) tells it
    late_spans   how a span is opened late, and what is told of legs and calls
    metrics      durations, suspensions, and the state of the engine
    mcp_spans    requests to MCP servers
    collector    where a command sends it, by the OTEL_* variables

An engine that was not asked for it loads only the first two, and does nothing for it.
"""

from codemode.otel.settings import OpenTelemetry, open_spans, read_otel
from codemode.otel.story import Story

__all__ = ["OpenTelemetry", "Story", "open_spans", "read_otel"]
