"""What a tool is, and how to make one: the `tool` decorator, definitions, adapters for other frameworks."""

from codemode.tools.adapters import as_tool, as_tools
from codemode.tools.context import CallContext
from codemode.tools.decorator import FunctionTool, make_tool, tool
from codemode.tools.definition import TRUSTED_SOURCES, Run, Schema, Source, Tool, ToolHints
from codemode.tools.errors import InvalidArguments, ToolDefinitionError, ToolError

__all__ = [
    "TRUSTED_SOURCES",
    "CallContext",
    "FunctionTool",
    "InvalidArguments",
    "Run",
    "Schema",
    "Source",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolHints",
    "as_tool",
    "as_tools",
    "make_tool",
    "tool",
]
