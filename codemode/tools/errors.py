"""The refusal of a tool definition, and what a tool raises to fail in its own words."""

from __future__ import annotations

from typing import Any, Literal

from codemode.config import ConfigError


class ToolDefinitionError(ConfigError):
    """The tool cannot be offered as it is; its author must change it. Other tools are not affected."""

    def __init__(self, tool: str, problem: str) -> None:
        super().__init__(f'tool "{tool[:80]}"', problem)


class ToolError(Exception):
    """A tool raises this: the program gets this message and this data, and can go on.

    Any other exception works too; the program gets its class name and message, and nothing else of it.
    """

    def __init__(
        self,
        message: str,
        *,
        name: str = "ToolError",
        data: Any = None,
        code: Literal["tool_error", "mcp_error", "interrupted"] = "tool_error",
    ) -> None:
        super().__init__(message)
        self.name = name
        self.data = data
        self.code: Literal["tool_error", "mcp_error", "interrupted"] = code


class InvalidArguments(Exception):
    """The arguments passed the schema and still cannot be used. The tool has done nothing."""

    code = "invalid_arguments"
