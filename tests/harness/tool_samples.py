"""Small tools for the tests of catalog, policy, executor and surface."""

from __future__ import annotations

from typing import Any

from codemode.tools import CallContext, Source, Tool, ToolHints


async def _echo(arguments: dict[str, Any], context: CallContext) -> Any:
    return arguments


def make(
    name: str,
    description: str = "",
    *,
    source: Source = "openclaw",
    owner: str | None = None,
    parameters: dict[str, Any] | None = None,
    returns: dict[str, Any] | None = None,
    label: str | None = None,
    hints: ToolHints | None = None,
    control: bool = False,
) -> Tool:
    """Answers with its arguments."""
    return Tool(
        name,
        description,
        parameters or {"type": "object", "properties": {}},
        _echo,
        returns,
        source,
        owner or ("core" if source == "openclaw" else "acme"),
        label,
        hints or ToolHints(),
        control,
    )


def takes(*required: str, **optional: dict[str, Any]) -> dict[str, Any]:
    """A schema with required strings and optional members."""
    properties: dict[str, Any] = {name: {"type": "string"} for name in required} | optional
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
