"""A tool: a name, what it takes, what it returns, and how to run it. Frozen, compared by identity.

Catalog, policy, executor and surface work on Tools and on nothing more specific.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, cast

import msgspec
from codemode_snapshots.label import is_unicode

from codemode.config import ConfigError
from codemode.tools.context import CallContext
from codemode.tools.errors import ToolDefinitionError

Source = Literal["openclaw", "plugin", "mcp", "client"]
Schema = dict[str, Any]
ToolFunction = Callable[[dict[str, Any], CallContext], Awaitable[Any]]

SOURCES: Final = ("openclaw", "plugin", "mcp", "client")
# Only texts of these sources may enter a prompt; servers and clients can say anything.
TRUSTED_SOURCES: Final = frozenset(("openclaw", "plugin"))

_MAX_NAME = 256


@dataclass(frozen=True, slots=True)
class ToolHints:
    """What the author says about the tool. The limits hold per tool, over all runs of an engine."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False  # the engine may run it again after a restart, with the same key
    requires_approval: bool = False
    timeout_ms: int = 900_000
    concurrency: int = 256
    required_permissions: tuple[str, ...] = ()  # for the policy: `permission:net`

    def __post_init__(self) -> None:
        permissions = cast("object", self.required_permissions)
        if not isinstance(permissions, list | tuple) or not all(
            isinstance(one, str) and one.strip() for one in cast("list[object]", permissions)
        ):
            raise ConfigError("required_permissions", 'must be a list of names, such as ["net"].')
        object.__setattr__(self, "required_permissions", tuple(cast("list[str]", permissions)))
        if self.timeout_ms < 1 or self.concurrency < 1:
            raise ConfigError("hints", "timeout_ms and concurrency must be at least 1.")


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Tool:
    name: str
    description: str
    parameters: Schema
    run: ToolFunction
    returns: Schema | None = None
    source: Source = "openclaw"
    owner: str = "core"
    label: str | None = None
    hints: ToolHints = ToolHints()
    # True for the model's own exec and wait: they are never in a catalog, under any name.
    control: bool = False
    id: str = field(init=False)
    chars: int = field(init=False)  # how much of a prompt it would take if the model saw it as it is

    def __post_init__(self) -> None:
        _check_words(self)
        put = object.__setattr__  # the one place that writes to a frozen tool
        put(self, "id", f"{self.source}:{self.owner}:{self.name}")
        parameters, size = _own_copy(self.name, "parameters", self.parameters)
        put(self, "parameters", parameters)
        put(self, "chars", len(self.name) + len(self.description) + size)
        if self.returns is not None:
            put(self, "returns", _own_copy(self.name, "returns", self.returns)[0])

    @property
    def trusted(self) -> bool:
        return self.source in TRUSTED_SOURCES


def _check_words(tool: Tool) -> None:
    if not tool.name or len(tool.name) > _MAX_NAME:
        raise ToolDefinitionError(tool.name, f"a name has 1 to {_MAX_NAME} characters.")
    if tool.source not in SOURCES:
        raise ToolDefinitionError(tool.name, f"source must be one of {', '.join(SOURCES)}.")
    # With a colon in the owner two different tools could have one id.
    if not tool.owner or ":" in tool.owner or len(tool.owner) > _MAX_NAME:
        raise ToolDefinitionError(tool.name, f"an owner has 1 to {_MAX_NAME} characters and no colon.")
    for text in (tool.name, tool.owner, tool.label or "", tool.description):
        if not is_unicode(text):
            raise ToolDefinitionError(tool.name, "its texts must be valid Unicode.")


def _own_copy(name: str, part: str, schema: Mapping[str, Any]) -> tuple[Schema, int]:
    """A copy that no other code holds, so that it cannot change later; certainly JSON. And its size."""
    try:
        encoded = msgspec.json.encode(schema)
        copied = msgspec.json.decode(encoded)
    except (TypeError, ValueError, RecursionError, OverflowError, msgspec.MsgspecError) as problem:
        raise ToolDefinitionError(name, f"{part} must be a JSON schema: {problem}") from None
    if not isinstance(copied, dict):
        raise ToolDefinitionError(name, f"{part} must be a JSON schema, an object.")
    return copied, len(encoded)  # pyright: ignore[reportUnknownVariableType] - JSON, keys are strings
