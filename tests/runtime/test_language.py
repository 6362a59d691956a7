"""What host and worker agree on about the languages of programs."""

from __future__ import annotations

import pytest
from codemode_runtime.language import PLAIN_NAME, RESERVED_WORDS, well_formed


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


def test_each_reserved_word_is_a_plain_name() -> None:
    assert [word for word in RESERVED_WORDS if not PLAIN_NAME.fullmatch(word)] == []
