"""The context of an agent framework, for nested tools that take it: pydantic-ai's RunContext, a graph's
ToolRuntime, the ToolContext of the OpenAI Agents SDK.

An adapter sets it around exec and wait. The calls of a program run with the variables of its latest exec or
wait, so that they find it there; a later wait puts its own into the same place, because calls that are under
way have the one of before.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class FrameworkContext:
    """A place for the context of one program's calls."""

    __slots__ = ("__weakref__", "value")

    def __init__(self, value: Any) -> None:
        self.value = value


_current: ContextVar[FrameworkContext | None] = ContextVar("codemode_framework_context", default=None)


@contextmanager
def calling_in(place: FrameworkContext) -> Generator[None]:
    """Tools that are called inside find what is in the place."""
    before = _current.set(place)
    try:
        yield
    finally:
        _current.reset(before)


def framework_context() -> Any:
    """What the adapter that called exec or wait was given; None without one."""
    place = _current.get()
    return None if place is None else place.value
