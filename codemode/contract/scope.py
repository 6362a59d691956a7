"""Who calls: the names that an engine's methods take one by one, or together as a `Scope`. Pure.

A stored run is bound to a `RunScope` of codemode_snapshots instead. That one also has the tool call, which is
new with each call and not a part of the caller; it has no defaults, because a store must not fill in a
missing name; and its constructor refuses a blank name, where a method of the engine answers with a result.
"""

from __future__ import annotations

from codemode_snapshots import NO_VALUE, RunScope
from msgspec import Struct


class Scope(Struct, frozen=True):
    """The owner of the runs that a call is about. Hosts can tell the runs of one agent apart by `agent_run`.

    Each method checks the names itself, and answers a blank one as it answers a caller without such a run.
    """

    agent: str = "main"
    session: str = "default"
    agent_run: str = NO_VALUE


ENGINES_OWN = "codemode:"
"""How agent runs begin under which the engine stores what is no run; no caller may have such a name."""
WORLD = f"{ENGINES_OWN}world"
"""That of a session's world."""


def is_run(scope: RunScope) -> bool:
    """Whether it is the scope of a run, and not of something else that an engine keeps in the store."""
    return not scope.agent_run.startswith(ENGINES_OWN)


class _Unsaid(str):
    """A default. Its type tells it from the same word of a caller."""

    __slots__ = ()


UNSAID = Scope(_Unsaid("main"), _Unsaid("default"), _Unsaid(NO_VALUE))
"""The scope of a caller who names nothing; its names are the defaults of the methods' parameters."""


def scope_of(
    scope: Scope | None,
    agent: str = UNSAID.agent,
    session: str = UNSAID.session,
    agent_run: str = UNSAID.agent_run,
) -> Scope:
    """The scope, or one made of the names that were given in its place.

    Raises TypeError for an object that is not a Scope, and for a name that contradicts the scope.
    """
    if scope is None:
        return Scope(_said(agent), _said(session), _said(agent_run))
    if not isinstance(scope, Scope):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
        raise TypeError(f"scope must be a codemode.Scope, not {type(scope).__name__}.")
    for name, given in (("agent", agent), ("session", session), ("agent_run", agent_run)):
        own: str = getattr(scope, name)
        if is_said(given) and given != own:
            raise TypeError(f"scope has the {name} {own!r}, and {name}={given!r} was given too: say it once.")
    return scope


def is_said(name: object) -> bool:
    """Whether the caller gave this name, so that it is not the default."""
    return not isinstance(name, _Unsaid)


def _said(name: str) -> str:
    """The name as a plain string. Another object stays as it is, and the check of names refuses it."""
    return name if is_said(name) else str(name)
