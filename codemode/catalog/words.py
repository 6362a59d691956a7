"""Splits text into search terms: words of any script, camelCase and snake_case, lightly stemmed. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
# Scripts without spaces: here two neighbouring characters are the nearest thing to a word.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\u0e00-\u0e7f]")
_MAX_WORD = 40

_ENDINGS = ("ization", "isation", "ing", "ion", "ed", "er", "or")
_NO_PLURALS = frozenset(("news", "lens", "canvas", "alias", "series", "always"))


def terms(text: str) -> list[str]:
    """Stems in order, repeats included."""
    found: list[str] = []
    for word in _words(text):
        found += _stems(word)
    return found


def joined(text: str) -> str:
    """All words joined, unstemmed: `webSearch`, `web_search` and `web search` become `websearch`."""
    return "".join(_words(text)).casefold()


def _words(text: str) -> list[str]:
    return _WORD.findall(text if text.isascii() else unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=32_768)
def _stems(word: str) -> tuple[str, ...]:
    """The stems of one run of letters and digits. Cached: the words of a catalog repeat."""
    if word.isascii() and (word.islower() or word.isdigit()):
        return (stem(word[:_MAX_WORD]),)
    parts: list[str] = []
    for part in _CAMEL.split(word):
        folded = part.casefold()[:_MAX_WORD]
        if _UNSPACED.search(folded):
            parts += [folded[at : at + 2] for at in range(max(len(folded) - 1, 1))]
        elif folded:
            parts.append(stem(folded))
    return tuple(parts)


def stem(word: str) -> str:
    """Cuts English endings so that create, creates, created, creating and creation meet. Short words stay."""
    if len(word) <= 3 or not word.isascii() or not word.isalpha() or word in _NO_PLURALS:
        return word
    word = _singular(word)
    for ending in _ENDINGS:
        kept = word[: -len(ending)]
        if word.endswith(ending) and len(kept) >= 3 and _has_vowel(kept):
            word = f"{kept}iz" if len(ending) > 3 else kept  # summarization, summarize
            # running -> run, but fall stays fall
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if word.endswith("y") and len(word) > 3:
        return word[:-1] + "i"  # apply and applied meet; an e is dropped instead, so apple stays apart
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _has_vowel(text: str) -> bool:
    return any(letter in "aeiouy" for letter in text)


_FILLER_WORDS = """
a an the of to in on at for from by with into and or is are was be been it its this that these those i me my
we us our you your he she they them their do does did can could should would will want need please how what
which who when where some any all there here if so as up out about have has had let many much something
help like hi hello hey thank today tomorrow going interested assist tell know give sure possible really just
also currently able kindly maybe perhaps actually
"""
# Words that most questions contain; they tell two tools apart only inside a name.
FILLERS = frozenset(map(stem, _FILLER_WORDS.split()))
