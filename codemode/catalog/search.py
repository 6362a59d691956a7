"""BM25 over a catalog: name, owner, label, description, parameters. Pure Python, pure function of the tools.

Postings hold each term's weight per tool, so a query only adds. It takes the terms from the heaviest to the
lightest; once the lighter ones together cannot lift a new tool past the best found, they only add to tools
seen already. That skips the long lists of common words and changes no result.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Any, cast

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
_QUERY = 1_000
_MARGIN = 1e-9


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
        # The most that a term can add to a score.
        self._most = {term: self._rarity[term] * max(found.values()) for term, found in postings.items()}
        self._names: dict[str, list[int]] = {}
        for at, tool in enumerate(tools):
            self._names.setdefault(joined(tool.name), []).append(at)

    def search(self, query: str, limit: int) -> list[Tool]:
        """Best first, ties by id. An empty query finds nothing."""
        query = query[:_QUERY]
        asked = list(dict.fromkeys(terms(query)))
        if not asked or limit < 1:
            return []
        scores = self._add_up(asked, limit)
        for at in self._names.get(_as_name(query), ()):
            scores[at] = scores.get(at, 0.0) + _EXACT_NAME
        enough = _nth_best(scores, limit) - _MARGIN
        best = [(-round(score, 9), at) for at, score in scores.items() if score >= enough]
        # The tools are sorted by id, so the position breaks ties.
        return [self._tools[at] for _, at in sorted(best)[:limit]]

    def _add_up(self, asked: list[str], limit: int) -> dict[int, float]:
        known = [term for term in asked if term in self._postings]
        known.sort(key=lambda term: (-self._most[term], term))
        scores: dict[int, float] = {}
        left = sum(self._most[term] for term in known)
        for term in known:
            self._add_term(term, scores, left + _MARGIN >= _nth_best(scores, limit))
            left -= self._most[term]
        return scores

    def _add_term(self, term: str, scores: dict[int, float], open_to_new: bool) -> None:
        postings, rarity = self._postings[term], self._rarity[term]
        if open_to_new:
            score_of = scores.get
            for at, weight in postings.items():
                scores[at] = score_of(at, 0.0) + rarity * weight
        else:
            for at in scores.keys() & postings.keys():
                scores[at] += rarity * postings[at]


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
        description = cast("dict[str, Any]", schema).get("description") if isinstance(schema, dict) else None
        if isinstance(description, str):
            found += terms(description[:_MAX_TEXT])
    return found
