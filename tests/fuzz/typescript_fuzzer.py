"""TypeScript: snippets of the tests and programs of the official compiler's corpus, put together and changed.

What comes out of the compiler is a program of as many lines, in which nothing is left to compile; or the text
is refused at a line that it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from codemode_runtime.compile import SourceError, prepare

from tests.fuzz.mutation import change_text
from tests.fuzz.runner import Subject

_FOLDER = Path(__file__).parents[1] / "runtime" / "typescript"
_MAX_TEXT = 6_000  # a longer one takes long, and is no more than its parts


class TypeScriptTexts:
    def __init__(self) -> None:
        texts: set[str] = set()
        for path in _FOLDER.glob("official/*.json"):
            texts |= {json.loads(row)[0] for row in path.read_text("utf-8").splitlines()}
        for path in _FOLDER.glob("*.ts"):
            texts |= {part.partition("\n")[2] for part in path.read_text("utf-8").split("\n//// ")}
        self._texts = tuple(sorted(texts))

    def make(self, dice: Random) -> bytes:
        between, count = dice.choice(("\n", " ", ";", " // c\n")), dice.choice((1, 1, 2, 3))
        text = between.join(dice.choices(self._texts, k=count))
        if dice.random() < 0.7:
            text = change_text(dice, text, self._texts)
        return text[:_MAX_TEXT].encode("utf-8", "replace")

    def check(self, data: bytes) -> None:
        text = data.decode("utf-8", "replace")
        try:
            code = prepare(text, "typescript").code
        except SourceError as refused:
            if refused.line is not None and not 1 <= refused.line <= _lines(text):
                raise AssertionError(f"it has no line {refused.line}") from refused
            return
        if "```" in text or "~~~" in text:
            return  # what is not in the fence is left out
        assert _lines(code) == _lines(text), "it has another number of lines"
        if "<" not in text:  # where types go away, comparisons can come to look like their arguments
            try:
                again = prepare(code, "typescript").code
            except SourceError as refused:
                raise AssertionError(f"what came out is refused: {refused}") from None
            assert again == code, "something was left to compile"


def _lines(text: str) -> int:
    return len(re.split("\r\n|[\n\r\u2028\u2029]", text))


@contextmanager
def typescript_texts() -> Generator[Subject]:
    yield TypeScriptTexts()
