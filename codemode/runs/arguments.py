"""The arguments that a program sends with a call: decodes them, or says why nobody will. Pure."""

from __future__ import annotations

from typing import Any, cast

import msgspec
from codemode_runtime.parts import refusal_of

from codemode.executor import CallFailed

_MAX_TARGET = 1_000  # characters of a name that a program calls


def arguments_of(args: bytes) -> list[Any] | CallFailed:
    """Decodes the guest's JSON array of arguments."""
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
