"""Words of a catalog that a word of a query may have meant: misspelt, shortened or put together. Pure.

Only for words that the catalog does not have. Two words are near if they share most of their groups of three
letters; a word of three letters or more may also be the beginning of a longer one, or the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable

_MIN_SHARED = 0.6  # of Dice's measure: calender and calendar 0.67, weather and whether 0.4
_MIN_SPELT = 5  # shorter words are near to too many others
_MIN_BEGINNING = 3
_MAX_SPELT = 8
_MAX_CONTINUED = 4  # a beginning that many words have says nothing
_FOUND = 0.5  # how much of a word's own weight a near one gets


class NearWords:
    def __init__(self, vocabulary: Iterable[str]) -> None:
        self._groups: dict[str, list[str]] = {}
        self._sizes: dict[str, int] = {}
        self._continued: dict[str, list[str]] = {}
        for word in vocabulary:
            if not word.isascii() or not word.isalpha():
                continue
            if len(word) >= _MIN_SPELT - 1:
                groups = _groups_of(word)
                self._sizes[word] = len(groups)
                for group in groups:
                    self._groups.setdefault(group, []).append(word)
            for end in range(_MIN_BEGINNING, len(word) - 1):
                self._continued.setdefault(word[:end], []).append(word)

    def find(self, word: str) -> dict[str, float]:
        """Words of the vocabulary, each with the share of a full match that it deserves."""
        if not word.isascii() or not word.isalpha():
            return {}
        found = self._spelt_like(word) if len(word) >= _MIN_SPELT else {}
        longer = self._continued.get(word, ())
        if len(longer) <= _MAX_CONTINUED:
            found |= dict.fromkeys(longer, _FOUND)
        for end in range(len(word) - 2, _MIN_BEGINNING, -1):
            if word[:end] in self._sizes:
                found[word[:end]] = _FOUND
                break
        return found

    def _spelt_like(self, word: str) -> dict[str, float]:
        groups = _groups_of(word)
        shared: dict[str, int] = {}
        for group in groups:
            for known in self._groups.get(group, ()):
                shared[known] = shared.get(known, 0) + 1
        measured = {known: 2 * count / (len(groups) + self._sizes[known]) for known, count in shared.items()}
        near = sorted((-part, known) for known, part in measured.items() if part >= _MIN_SHARED)
        return {known: -_FOUND * part for part, known in near[:_MAX_SPELT]}


def _groups_of(word: str) -> set[str]:
    marked = f"^{word}$"
    return {marked[at : at + 3] for at in range(len(marked) - 2)}
