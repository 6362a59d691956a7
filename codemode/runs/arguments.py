"""The arguments that a program sends with a call: decodes them, or says why nobody will. Pure."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from codemode_runtime.parts import MAX_DEPTH, refusal_of

from codemode.executor import CallFailed
from codemode.gate.lane import is_large

_MAX_TARGET = 1_000  # characters of a name that a program calls


def small_arguments(args: bytes) -> list[Any] | CallFailed | None:
    """Decodes the guest's JSON array of arguments; None if that is a step for the lane."""
    if len(args) <= MAX_DEPTH:  # too short to be large, deep or of many parts
        return decoded(args)
    return None if is_large(args) else arguments_of(args)


def arguments_of(args: bytes) -> list[Any] | CallFailed:
    """The same whatever its size."""
    refusal = refusal_of(args)
    return decoded(args) if refusal is None else not_decoded(f"JSON {refusal}")


def decoded(args: bytes) -> list[Any] | CallFailed:
    """The same for what was measured before."""
    try:
        found: object = msgspec.json.decode(args)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        return not_decoded(f"not JSON: {error}")
    return cast("list[Any]", found) if isinstance(found, list) else []


def not_decoded(why: str) -> CallFailed:
    return CallFailed("invalid_arguments", "InvalidArguments", f"the input is {why}")


def no_room(refusal: str) -> CallFailed:
    told = f"no room for these arguments: {refusal}. Make fewer calls at once, or send less with each."
    return CallFailed("invalid_arguments", "TooMuchPending", told)


def clipped(target: str) -> str:
    """A name that no tool has, for one that is longer than any."""
    return target if len(target) <= _MAX_TARGET else target[:_MAX_TARGET] + "…"
