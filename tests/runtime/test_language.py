"""What host and worker agree on about the languages of programs."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from codemode_runtime import compile as compiling
from codemode_runtime.compile import lower
from codemode_runtime.language import PLAIN_NAME, RESERVED_WORDS, Language, well_formed


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("", ""),
        ("plain é 😀", "plain é 😀"),
        ("\ud83d\ude00", "😀"),  # two halves that meet
        ("a\ud83d", "a\ufffd"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("\ufeffmark", "\ufeffmark"),
    ],
)
def test_a_text_is_made_well_formed_as_javascript_does_it(text: str, repaired: str) -> None:
    assert well_formed(text) == repaired


def test_the_compiler_knows_the_same_languages_and_the_same_reserved_words() -> None:
    """It has lists of its own, and nothing else than these may be in them."""
    unbindable = lower._UNBINDABLE.pattern  # pyright: ignore[reportPrivateUsage] - the list itself
    assert set(re.findall(r"\w+", unbindable)) == RESERVED_WORDS | {"undefined"}
    assert get_args(compiling.Language) == get_args(Language)


def test_each_reserved_word_is_a_plain_name() -> None:
    assert [word for word in RESERVED_WORDS if not PLAIN_NAME.fullmatch(word)] == []
