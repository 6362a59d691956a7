"""What a tool is, and how to make one: the `tool` decorator, definitions, adapters for other frameworks."""

from codemode.tools.adapters import as_tool, as_tools
from codemode.tools.content import Content, File, Image
from codemode.tools.context import CallContext
from codemode.tools.decorator import FunctionTool, make_tool, tool
from codemode.tools.definition import TRUSTED_SOURCES, Schema, Source, Tool, ToolFunction, ToolHints
from codemode.tools.errors import AnswerNeeded, InvalidArguments, ToolDefinitionError, ToolError

__all__ = [
    "TRUSTED_SOURCES",
    "AnswerNeeded",
    "CallContext",
    "Content",
    "File",
    "FunctionTool",
    "Image",
    "InvalidArguments",
    "Schema",
    "Source",
    "Tool",
    "ToolDefinitionError",
    "ToolError",
    "ToolFunction",
    "ToolHints",
    "as_tool",
    "as_tools",
    "make_tool",
    "tool",
]
