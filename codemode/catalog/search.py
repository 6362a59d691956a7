"""BM25 over a catalog: name, owner, label, description, parameters. Pure Python, pure function of the tools.

Postings hold each term's weight per tool, so a query only adds. It takes the terms from the heaviest to the
lightest; once the lighter ones together cannot lift a new tool past the best found, they only add to tools
seen already. That skips the long lists of common words and changes no result.

A word also finds its synonyms, and one that the catalog does not have finds the words nearest to it; both
count for a part of what the word itself would. A task of several sentences also finds what each one needs.
"""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, cast

from codemode.catalog.near_words import NearWords
from codemode.catalog.needs import needs
from codemode.catalog.search_memory import Learned
from codemode.catalog.synonyms import synonyms
from codemode.catalog.words import FILLERS, joined, terms
from codemode.tools import Tool

_SATURATION = 0.8  # BM25's k1
_LENGTH_SHARE = 0.6  # BM25's b
# How much one occurrence counts, by field. Of the id only the owner is counted: the name already is.
_NAME, _OWNER, _LABEL, _DESCRIPTION, _PARAMETERS = 3.0, 1.5, 2.5, 1.5, 0.6
# Filler words tell turn_on_light from turn_off_light; outside of names they say nothing.
_FILLER = 0.1
_EXACT_NAME = 1_000.0  # above any sum of terms
# A server's megabyte of description must not outweigh the rest or stall the build; no reader gets that far.
_MAX_TEXT = 2_000
_MAX_PARAMETERS = 64
_MAX_VALUES = 30  # of a parameter that lists them
_QUERY = 1_000
_MARGIN = 1e-9
_SYNONYM = 0.3  # of what the word itself would count
_LEARNED = 1.0  # as much as a word in the description
_MIN_TASK = 80  # characters; a shorter query has one need
_WHOLE_TASK = 2
_MAX_ASKED = 1_000


class SearchIndex:
    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tools
        weighted = [_weigh(tool) for tool in tools]
        lengths = [sum(found.values()) for found in weighted]
        average = sum(lengths) / len(lengths) if any(lengths) else 1.0
        postings: dict[str, dict[int, float]] = {}
        for at, found in enumerate(weighted):
            norm = _SATURATION * (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths[at] / average)
            for term, weight in found.items():
                postings.setdefault(term, {})[at] = weight / (weight + norm)
        self._postings = postings
        self._rarity = {term: _rarity(len(found), len(tools)) for term, found in postings.items()}
        self._names: dict[str, list[int]] = {}
        for at, tool in enumerate(tools):
            self._names.setdefault(joined(tool.name), []).append(at)
        self._asked: OrderedDict[str, _Scores] = OrderedDict()

    def search(self, query: str, limit: int, learned: Learned | None = None) -> list[Tool]:
        """Best first, ties by id. An empty query finds nothing. `learned` lifts tools that it leads to."""
        query = query[:_QUERY]
        if limit < 1:
            return []
        found = self._rank(query, limit, learned)
        parts = needs(query) if len(query) >= _MIN_TASK else []
        if parts:
            best_of_parts = [at for part in parts for at in self._rank(part, 1)]
            # the task as a whole goes first; then each part has its say
            found = list(dict.fromkeys([*found[:_WHOLE_TASK], *best_of_parts, *found]))
        return [self._tools[at] for at in found[:limit]]

    def _rank(self, query: str, limit: int, learned: Learned | None = None) -> list[int]:
        asked = list(dict.fromkeys(terms(query)))
        if not asked:
            return []
        lifted = self._lifted(asked, learned) if learned else {}
        # a lifted tool may pass others, so more of them must have their whole sum
        scores = self._add_up(asked, limit + len(lifted))
        for at, lift in lifted.items():
            scores[at] = scores.get(at, 0.0) + lift
        for at in self._names.get(_as_name(query), ()):
            scores[at] = scores.get(at, 0.0) + _EXACT_NAME
        enough = _nth_best(scores, limit) - _MARGIN
        best = [(-round(score, 9), at) for at, score in scores.items() if score >= enough]
        # The tools are sorted by id, so the position breaks ties.
        return [at for _, at in sorted(best)[:limit]]

    def _lifted(self, asked: list[str], learned: Learned) -> dict[int, float]:
        """What the words add to tools that they led to before, less for words that led everywhere."""
        lifted: dict[int, float] = {}
        for term in asked:
            tools = learned.get(term)
            if not tools:
                continue
            share = _LEARNED * self._rarity.get(term, self._rarest) / len(tools)
            for tool_id, count in tools.items():
                at = self._positions.get(tool_id)
                if at is not None:
                    lifted[at] = lifted.get(at, 0.0) + share * count / (count + 1)
        return lifted

    def _add_up(self, asked: list[str], limit: int) -> dict[int, float]:
        known = [found for term in asked if (found := self._scores_of(term)).of_tool]
        known.sort(key=lambda found: (-found.most, found.term))
        scores: dict[int, float] = {}
        left = sum(found.most for found in known)
        for found in known:
            _add_term(found.of_tool, scores, left + _MARGIN >= _nth_best(scores, limit))
            left -= found.most
        return scores

    def _scores_of(self, term: str) -> _Scores:
        """Kept for the terms asked last: merging the lists of ten synonyms takes longer than adding one."""
        found = self._asked.get(term)
        if found is None:
            found = _Scores(term, self._merged(term))
            self._asked[term] = found
            if len(self._asked) > _MAX_ASKED:
                # another thread may have emptied it meanwhile
                with suppress(KeyError):
                    self._asked.popitem(last=False)
        return found

    def _merged(self, term: str) -> dict[int, float]:
        """What the term adds to each tool: by itself, by a synonym or a near word, whichever is most."""
        rarity = self._rarity.get(term)
        merged = {at: rarity * weight for at, weight in self._postings[term].items()} if rarity else {}
        if term in FILLERS:
            return merged
        others = {other: _SYNONYM for other in synonyms(term) if other in self._postings}
        if rarity is None:
            others |= self._near_words.find(term)
        for other, share in others.items():
            # a rare synonym tells no more than the word that was asked for
            factor = share * min(self._rarity[other], self._rarity[other] if rarity is None else rarity)
            for at, weight in self._postings[other].items():
                if factor * weight > merged.get(at, 0.0):
                    merged[at] = factor * weight
        return merged

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {tool.id: at for at, tool in enumerate(self._tools)}

    @property
    def _rarest(self) -> float:
        return _rarity(1, len(self._tools))

    @cached_property
    def _near_words(self) -> NearWords:
        return NearWords(self._postings)


class _Scores:
    """What one term of a query adds to the tools that it finds."""

    __slots__ = ("most", "of_tool", "term")

    def __init__(self, term: str, of_tool: dict[int, float]) -> None:
        self.term = term
        self.of_tool = of_tool
        self.most = max(of_tool.values(), default=0.0)


def _add_term(of_tool: dict[int, float], scores: dict[int, float], open_to_new: bool) -> None:
    if open_to_new:
        score_of = scores.get
        for at, score in of_tool.items():
            scores[at] = score_of(at, 0.0) + score
    else:
        for at in scores.keys() & of_tool.keys():
            scores[at] += of_tool[at]


def _rarity(found_in: int, of: int) -> float:
    return math.log(1 + (of - found_in + 0.5) / (found_in + 0.5))


def _nth_best(scores: dict[int, float], limit: int) -> float:
    """The score that a new tool must pass; 0 while there is room."""
    return heapq.nlargest(limit, scores.values())[-1] if len(scores) >= limit else 0.0


def _as_name(query: str) -> str:
    """Reads the query as a name: a name as it stands, an id, or a name in spaced words."""
    return joined(query.rpartition(":")[2])


def _weigh(tool: Tool) -> dict[str, float]:
    """Each term with the weights of the fields it occurs in."""
    name_terms = terms(tool.name)
    found: dict[str, float] = {}
    for weight, own in (
        # The joined form is how people type a name from memory: websearch.
        (_NAME, [*name_terms, *terms(joined(tool.name))]),
        (_OWNER, terms(tool.owner)),
        (_LABEL, terms(tool.label) if tool.label else ()),
        (_DESCRIPTION, terms(tool.description[:_MAX_TEXT])),
        (_PARAMETERS, _parameter_terms(tool.parameters)),
    ):
        for term in dict.fromkeys(own):  # once each: repeating a word does not make a tool better
            found[term] = found.get(term, 0.0) + weight
    for filler in FILLERS.intersection(found):
        if filler in name_terms:
            found[filler] = _FILLER
        else:
            del found[filler]
    return found


def _parameter_terms(parameters: dict[str, Any]) -> list[str]:
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return []
    found: list[str] = []
    for name, schema in list(cast("dict[str, Any]", properties).items())[:_MAX_PARAMETERS]:
        found += terms(name)
        if not isinstance(schema, dict):
            continue
        own = cast("dict[str, Any]", schema)
        description, values = own.get("description"), own.get("enum")
        if isinstance(description, str):
            found += terms(description[:_MAX_TEXT])
        if isinstance(values, list):
            # what can be chosen is often what was asked for: fahrenheit, comedy
            for value in cast("list[Any]", values)[:_MAX_VALUES]:
                found += terms(value[:_MAX_TEXT]) if isinstance(value, str) else ()
    return found
