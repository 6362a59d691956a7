"""Tool Search: puts large catalogs behind search, describe and call, for models without code mode."""

from codemode.tool_search.answers import Answer, CalledTool
from codemode.tool_search.gate import Exposure, GateVerdict
from codemode.tool_search.prepared import PreparedSearch
from codemode.tool_search.search import ToolSearch
from codemode.tool_search.telemetry import FinalCall, SearchTelemetry, comparison, comparison_report

__all__ = [
    "Answer",
    "CalledTool",
    "Exposure",
    "FinalCall",
    "GateVerdict",
    "PreparedSearch",
    "SearchTelemetry",
    "ToolSearch",
    "comparison",
    "comparison_report",
]
