"""Who calls: the names that an engine's methods take one by one, or together as a `Scope`. Pure.

Not the Scope of codemode_snapshots, to which a stored run is bound: that one also has the tool call, which is
new with each call and no part of a caller; it has no defaults, because a name that is missing in a store must
be an error there; and it refuses a blank name when it is made, where a method answers with a result.
"""

from __future__ import annotations

from msgspec import Struct


class Scope(Struct, frozen=True):
    """Whose runs a call is about. `agent_run` is for hosts that tell the runs of one agent apart.

    Each method checks the names itself and answers a blank one as it answers a caller without such a run.
    """

    agent: str = "main"
    session: str = "default"
    agent_run: str = "-"


class _Unsaid(str):
    """A default. Its type tells it from the same word given by a caller."""

    __slots__ = ()


UNSAID = Scope(_Unsaid("main"), _Unsaid("default"), _Unsaid("-"))
"""The scope of a caller who names nothing; its names are the defaults of the methods' parameters."""


def scope_of(
    scope: Scope | None,
    agent: str = UNSAID.agent,
    session: str = UNSAID.session,
    agent_run: str = UNSAID.agent_run,
) -> Scope:
    """The scope, or the names that were given in its place.

    Raises TypeError for what is no Scope, and where a name beside it says something else.
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
    """Whether a caller has given this name: it is not the default."""
    return not isinstance(name, _Unsaid)


def _said(name: str) -> str:
    """As a plain string. What is no string stays what it is, and is refused where names are checked."""
    return name if is_said(name) else str(name)
