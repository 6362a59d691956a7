"""What results of tools look like that declare no result: learned from their calls, for each agent by itself.

Shapes hold names of fields and broad types, never a value (schemas/observed.py). They belong to a tool as it
is declared: another schema starts anew. Looking at a result costs a decoding, so it is done for the first
ones and then ever more rarely; a result that is large is not looked at. What a session is shown does not
change while it lasts. A store that outlives the engine keeps them too (runs/kept_shapes.py).
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from codemode.schemas.observed import ObservedShape, Words, names_in, observe, tellable, words_of
from codemode.tools import Tool

_MAX_TOOLS = 2_000  # of all agents; those called longest ago go first
_MAX_SESSIONS = 1_000
_MAX_LOOKED_AT = 128 << 10  # bytes of a result
_SAME = 3  # results in a row without news; after that only every other power of two is looked at
_MAX_LOOKS = 24

Returns = Callable[[Tool], dict[str, Any] | None]
"""The schema of what a tool returns, as it was observed."""


class _Known(Struct):
    """`calls` and `looks` count results; the result number `due` is looked at next."""

    definition: str
    shape: ObservedShape
    words: Words = frozenset()
    calls: int = 0
    looks: int = 0
    same: int = 0
    due: int = 1
    schema: dict[str, Any] | None = None


class LearnedShape(Struct):
    """What is kept of one tool of an agent."""

    tool: str
    definition: str
    shape: ObservedShape
    words: list[str] = []  # keys of it that the tool's own texts have


class ResultShapes:
    """One per engine. Used on its event loop only."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._sessions: OrderedDict[tuple[str, str], dict[str, tuple[str, dict[str, Any]]]] = OrderedDict()
        self.tell_news: Callable[[str, str], None] = _nobody_listens

    def note(self, agent: str, tool: Tool, result: bytes) -> None:
        """Learns from the JSON of a result. For most results this only counts."""
        if not self._enabled or tool.returns is not None or tool.source == "mcp":
            return
        known = self._known.get((agent, tool.id))
        if known is None:
            known = self._add(agent, tool)
        known.calls += 1
        if known.calls >= known.due and len(result) <= _MAX_LOOKED_AT:
            self._look(agent, tool, known, result)

    def returns(self, agent: str, tool: Tool) -> dict[str, Any] | None:
        """What is known by now: a JSON schema, or None."""
        known = self._known.get((agent, tool.id))
        if known is None or not known.shape.kinds or known.definition != _definition(tool):
            return None
        return _schema(known)

    def for_session(self, agent: str, session: str) -> Returns:
        """What was known when this was asked for the session the first time."""
        found = self._sessions.get((agent, session))
        if found is None:
            found = {
                tool: (known.definition, _schema(known))
                for (whose, tool), known in self._known.items()
                if whose == agent and known.shape.kinds
            }
            self._sessions[agent, session] = found
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        self._sessions.move_to_end((agent, session))

        def returns(tool: Tool) -> dict[str, Any] | None:
            definition, schema = found.get(tool.id, ("", None))
            return schema if schema is not None and definition == _definition(tool) else None

        return returns

    def has_session(self, agent: str, session: str) -> bool:
        """Whether it is settled what this session is shown."""
        return (agent, session) in self._sessions

    def learned(self, agent: str, tool: str) -> LearnedShape | None:
        known = self._known.get((agent, tool))
        if known is None:
            return None
        shape = tellable(known.shape, known.words)
        return LearnedShape(tool, known.definition, shape, sorted(known.words & names_in(shape)))

    def learn(self, agent: str, learned: LearnedShape) -> None:
        """Takes what was learned elsewhere. Of what is known here nothing changes: the same sample must not
        count twice, because a key that was seen once may be data."""
        known = _Known(learned.definition, learned.shape, frozenset(learned.words))
        self._known.setdefault((agent, learned.tool), known)
        self._drop_oldest()

    def _add(self, agent: str, tool: Tool) -> _Known:
        known = self._known[agent, tool.id] = _Known(_definition(tool), ObservedShape(), _words(tool))
        self._drop_oldest()
        return known

    def _look(self, agent: str, tool: Tool, known: _Known, result: bytes) -> None:
        if known.definition != _definition(tool):
            known = self._add(agent, tool)
            known.calls = 1
        self._known.move_to_end((agent, tool.id))
        is_news = observe(known.shape, msgspec.json.decode(result))
        known.looks += 1
        known.same = 0 if is_news else known.same + 1
        known.schema = None if is_news else known.schema
        known.due = known.calls + (1 if known.same < _SAME else 4 ** min(known.same - _SAME + 1, 10))
        if known.looks >= _MAX_LOOKS:
            known.due = 1 << 62
        if is_news:
            self.tell_news(agent, tool.id)

    def _drop_oldest(self) -> None:
        while len(self._known) > _MAX_TOOLS:
            self._known.popitem(last=False)


def _words(tool: Tool) -> Words:
    """What the tool says of itself, to everybody who may call it."""
    properties: dict[str, Any] = tool.parameters.get("properties") or {}
    return words_of(tool.name, tool.description, *properties)


def _nobody_listens(_agent: str, _tool: str) -> None:
    pass


def _schema(known: _Known) -> dict[str, Any]:
    if known.schema is None:
        known.schema = known.shape.schema(known.words)
    return known.schema


def _definition(tool: Tool) -> str:
    """Changes with what the tool takes and says of itself."""
    told = msgspec.json.encode([tool.description, tool.parameters], order="deterministic")
    return hashlib.sha256(told).hexdigest()[:32]
