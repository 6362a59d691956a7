"""Which tools an agent's searches led to: the words of a query, and the tools that were then called.

A tool that was called after a search is found again by the words of that search, as if they stood in its
description. Kept in memory for one engine, for each agent by itself; bounded in every direction, so that a
program that searches and calls at random costs little and lifts little.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

_MAX_AGENTS = 200
_MAX_WORDS = 2_000  # of one agent; those used longest ago go first
_MAX_TOOLS = 8  # of one word
_MAX_RUNS = 1_000  # whose last search is remembered
_MAX_QUERY = 1_000  # characters
_MAX_QUERY_WORDS = 24
_MAX_CREDITED = 4  # tools that one search may have led to
_MAX_COUNT = 50

Learned = Mapping[str, Mapping[str, int]]
"""For each word, the ids of the tools it led to and how often."""


class _LastSearch:
    """The last search of a run, and the tools that it was credited with."""

    __slots__ = ("agent", "credited", "words")

    def __init__(self, agent: str, words: tuple[str, ...]) -> None:
        self.agent = agent
        self.words = words
        self.credited: set[str] = set()


class SearchMemory:
    """One per engine. Used on its event loop only."""

    def __init__(self) -> None:
        self._agents: OrderedDict[str, OrderedDict[str, dict[str, int]]] = OrderedDict()
        self._last: OrderedDict[str, _LastSearch] = OrderedDict()

    def searched(self, agent: str, run_id: str, query: str) -> None:
        self._last[run_id] = _LastSearch(agent, _words(query))
        self._last.move_to_end(run_id)
        if len(self._last) > _MAX_RUNS:
            self._last.popitem(last=False)

    def called(self, run_id: str, tool_id: str) -> None:
        """Call for a call that succeeded."""
        last = self._last.get(run_id)
        if last is None or tool_id in last.credited or len(last.credited) >= _MAX_CREDITED:
            return
        last.credited.add(tool_id)
        known = self._agents.setdefault(last.agent, OrderedDict())
        self._agents.move_to_end(last.agent)
        if len(self._agents) > _MAX_AGENTS:
            self._agents.popitem(last=False)
        for word in last.words:
            _credit(known.setdefault(word, {}), tool_id)
            known.move_to_end(word)
        while len(known) > _MAX_WORDS:
            known.popitem(last=False)

    def learned(self, agent: str, query: str) -> Learned:
        """What the words of this query led to; a copy, because a search may run in another thread."""
        known = self._agents.get(agent)
        if not known:
            return {}
        return {word: dict(known[word]) for word in _words(query) if word in known}


def _words(query: str) -> tuple[str, ...]:
    from codemode.catalog.words import FILLERS, terms  # 2 ms, for runs that search

    words = dict.fromkeys(word for word in terms(query[:_MAX_QUERY]) if word not in FILLERS)
    return tuple(words)[:_MAX_QUERY_WORDS]


def _credit(tools: dict[str, int], tool_id: str) -> None:
    if tool_id not in tools and len(tools) >= _MAX_TOOLS:
        del tools[min(tools, key=lambda known: (tools[known], known))]
    tools[tool_id] = min(tools.get(tool_id, 0) + 1, _MAX_COUNT)
