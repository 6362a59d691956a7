"""Decides whether a run defers tools, and which, and what that saves. Pure.

Estimates are the contract's cheap ones: four characters of JSON count as a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from codemode.config import SearchMode, ToolSearchConfig
from codemode.policy.rules import Vocabulary, subject_of
from codemode.surface.rendering import render_tools
from codemode.tools import Tool

_CHARS_PER_TOKEN = 4
Why = Literal["code_mode", "off", "no_tools", "nothing_to_defer", "below_share", "above_share", "on"]


class Exposure(Struct, frozen=True, rename="camel"):
    """How much a model reads about tools before its first word."""

    tools: int
    schema_bytes: int
    prompt_bytes: int  # of the directory
    tokens: int


class GateVerdict(Struct, frozen=True, kw_only=True, rename="camel"):
    """`mode` is the mode in force, None if the tools are shown as they are. Tokens are estimates."""

    mode: SearchMode | None
    why: Why
    deferrable_tools: int = 0
    deferrable_tokens: int = 0
    threshold_tokens: int = 0
    context_window_tokens: int = 0
    fallback_reason: str = ""  # why `code` is not in force although it is configured

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


class Split(Struct, frozen=True):
    """The effective tools of a run: those shown as they are, in their order, and those found by search."""

    direct: tuple[Tool, ...]
    deferred: tuple[Tool, ...]


def split_tools(tools: Sequence[Tool], config: ToolSearchConfig) -> Split:
    """Core tools are never deferred: those of `coreTools`, and in `auto` all of source `openclaw`; in
    `directory` neither are client tools. Raises ConfigError."""
    core = Vocabulary({}, {}).matcher("tools.toolSearch.coreTools", config.core_tools)
    kept = {"openclaw"} if config.enabled == "auto" else set[str]()
    kept |= {"client"} if config.mode == "directory" else set[str]()
    is_direct = [tool.source in kept or core.rule_for(subject_of(tool)) is not None for tool in tools]
    pairs = list(zip(tools, is_direct, strict=True))
    return Split(
        tuple(tool for tool, direct in pairs if direct), tuple(tool for tool, direct in pairs if not direct)
    )


def decide(split: Split, config: ToolSearchConfig, window_tokens: int) -> GateVerdict:
    """In `auto` the deferrable schemas must take more than the share; exactly the share is not more."""
    chars = schema_chars(split.deferred)
    # both sides in hundredths of a character, so that nothing is rounded
    is_above = chars * 100 > window_tokens * config.context_share_percent * _CHARS_PER_TOKEN
    why: Why
    match config.enabled:
        case "off":
            why = "off"
        case _ if not split.deferred:
            why = "nothing_to_defer"
        case "on":
            why = "on"
        case "auto":
            why = "above_share" if is_above else "below_share"
    return GateVerdict(
        mode=config.mode if why in ("on", "above_share") else None,
        why=why,
        deferrable_tools=len(split.deferred),
        deferrable_tokens=_tokens(chars),
        threshold_tokens=window_tokens * config.context_share_percent // 100,
        context_window_tokens=window_tokens,
    )


def expose(tools: Sequence[Tool], prompt: str = "") -> Exposure:
    rendered = _rendered(tools)
    chars = len(rendered.decode()) + len(prompt)
    return Exposure(len(tools), len(rendered), len(prompt.encode()), _tokens(chars))


def schema_chars(tools: Sequence[Tool]) -> int:
    return len(_rendered(tools).decode())


def _rendered(tools: Sequence[Tool]) -> bytes:
    """As OpenAI takes them; other providers differ by a few bytes for each tool."""
    return msgspec.json.encode(render_tools(tools, "openai")) if tools else b""


def _tokens(chars: int) -> int:
    return -(-chars // _CHARS_PER_TOKEN)
