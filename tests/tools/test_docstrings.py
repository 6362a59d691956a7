"""Docstrings in the three common styles."""

import pytest

from codemode.tools.docstrings import parse_docstring

GOOGLE = """Finds things.

More about it.

Args:
    query: what to look for
    limit (int, optional): how many,
        at most
    **options: passed on

Returns:
    A list: of things.
"""

NUMPY = """Finds things.

More about it.

Parameters
----------
query : str
    what to look for
limit : int, optional
    how many,
    at most
options
    passed on

Returns
-------
list
    Of things.
"""

SPHINX = """Finds things.

More about it.

:param query: what to look for
:param int limit: how many,
    at most
:param options: passed on
:returns: a list
:rtype: list
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_a_style_gives_description_and_parameters(text: str) -> None:
    documented = parse_docstring(text)

    assert documented.description == "Finds things.\n\nMore about it."
    assert documented.parameters == {
        "query": "what to look for",
        "limit": "how many, at most",
        "options": "passed on",
    }


@pytest.mark.parametrize("text", [None, "", "   \n  "])
def test_no_docstring_is_an_empty_description(text: str | None) -> None:
    assert parse_docstring(text).description == ""


def test_text_in_no_style_is_all_description() -> None:
    text = "Note: this is prose.\nAnd a list:\n- a: b"

    assert parse_docstring(text).description == text
    assert parse_docstring(text).parameters == {}
