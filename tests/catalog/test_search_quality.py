"""Search on the labelled set: floors for what it finds, and against a substring search."""

from codemode.catalog import Catalog
from tests.catalog.search_set.labelled import by_substring, load_questions, load_tools, quality

TOOLS = load_tools()
QUESTIONS = load_questions()


def test_the_set_is_as_large_as_promised() -> None:
    names = {tool.name for tool in TOOLS}

    assert len(names) == len(TOOLS) >= 500
    assert len({tool.owner for tool in TOOLS}) >= 40
    assert len(QUESTIONS) >= 120
    assert all(question.answers <= names for question in QUESTIONS)


def test_questions_find_their_tools() -> None:
    catalog = Catalog(TOOLS)

    found = quality([(asked, [hit["name"] for hit in catalog.search(asked.text, 50)]) for asked in QUESTIONS])

    assert found.recall_at_1 >= 0.75
    assert found.recall_at_5 >= 0.85
    assert found.mean_reciprocal_rank >= 0.80


def test_ranking_beats_a_substring_search() -> None:
    catalog = Catalog(TOOLS)

    ranked = quality(
        [(asked, [hit["name"] for hit in catalog.search(asked.text, 50)]) for asked in QUESTIONS]
    )
    baseline = quality([(asked, by_substring(TOOLS, asked.text, 50)) for asked in QUESTIONS])

    assert ranked.recall_at_1 >= baseline.recall_at_1 + 0.15
    assert ranked.recall_at_5 >= baseline.recall_at_5 + 0.08
    assert ranked.mean_reciprocal_rank >= baseline.mean_reciprocal_rank + 0.12
