"""Search where words differ: synonyms, spellings, listed values, several needs, what searches led to."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import Engine, SearchRequest
from codemode.catalog import Catalog
from codemode.catalog.near_words import NearWords
from codemode.catalog.needs import needs
from codemode.catalog.search import SearchIndex
from codemode.catalog.search_memory import SearchMemory
from codemode.catalog.synonyms import synonyms
from codemode.tools import Tool
from tests.harness.engine import value_of
from tests.harness.tool_samples import make, takes

TOOLS = [
    make("calendar_list", "Shows the appointments of a week."),
    make("invoice_send", "Sends an invoice by post."),
    make("repository_archive", "Archives a repository."),
    make("volume_set", "Sets how loud the speakers are."),
]


def best(query: str, tools: list[Tool] = TOOLS) -> str | None:
    found = Catalog(tools).search(query, 1)
    return found[0]["name"] if found else None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("delete a file", "trash_document"),  # document
        ("calender", "calendar_list"),  # misspelt
        ("repo", "repository_archive"),  # shortened
        ("repositories", "repository_archive"),
    ],
)
def test_other_words_for_the_same_thing_find_the_tool(query: str, name: str) -> None:
    assert best(query, [*TOOLS, make("trash_document", "Puts a document away.")]) == name


def test_the_word_itself_counts_more_than_its_synonym() -> None:
    tools = [make("a_remove", "Removes entries."), make("b_delete", "Deletes entries.")]
    assert best("delete", tools) == "b_delete"
    assert best("remove", tools) == "a_remove"


def test_a_value_that_a_parameter_lists_is_found() -> None:
    schema = {"type": "object", "properties": {"unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}}}
    tools = [*TOOLS, make("outdoors", "How warm it is.", parameters=schema)]
    assert best("fahrenheit", tools) == "outdoors"


def test_a_word_nobody_has_finds_nothing_near() -> None:
    assert best("zzyzx") is None
    assert best("вертолёт") is None


def test_a_task_of_several_sentences_finds_what_each_of_them_needs() -> None:
    ships = [make(f"ship_{n}", "Ships parcels to harbours by truck, tracks their freight.") for n in range(6)]
    others = [make(f"other_{n}", f"Paints wall number {n}.") for n in range(40)]
    tools = [*ships, *others, make("docket", "Finds a docket.")]
    task = (
        "Ship these parcels to their harbours by truck and track the freight. "
        "Then look into the docket that some judge in Dallas filed."
    )
    found = [hit["name"] for hit in Catalog(tools).search(task, 5)]
    assert found == ["ship_0", "ship_1", "docket", "ship_2", "ship_3"]


def test_short_remarks_are_not_needs_of_their_own() -> None:
    assert needs("Send the invoice to everybody in the customer list. Thanks! I live in Rome.") == []


@given(st.text(max_size=300), st.integers(1, 10))
@settings(max_examples=200)
def test_any_query_gives_at_most_limit_tools_each_once_and_the_same_again(query: str, limit: int) -> None:
    index = SearchIndex(TOOLS)
    found = [tool.id for tool in index.search(query, limit)]
    assert len(found) <= limit
    assert len(set(found)) == len(found)
    assert [tool.id for tool in index.search(query, limit)] == found
    assert [tool.id for tool in SearchIndex(TOOLS).search(query, limit)] == found


def test_synonyms_are_mutual() -> None:
    for word in ("delet", "repo", "fil", "mail"):
        assert synonyms(word), word
        assert all(word in synonyms(other) for other in synonyms(word))


def test_near_words_are_measured_and_never_the_whole_catalog() -> None:
    longer = [f"prefix{chr(97 + n)}ghijklm" for n in range(9)]
    near = NearWords(["calendar", "calculate", "repository", *longer])
    assert near.find("calender") == {"calendar": pytest.approx(0.3125)}
    assert near.find("repo") == {"repository": 0.5}
    assert near.find("prefix") == {}  # nine words begin like this: it says nothing


def test_what_a_search_led_to_is_found_by_its_words_the_next_time() -> None:
    memory = SearchMemory()
    memory.searched("a", "run", "gym session")
    memory.called("run", "openclaw:core:calendar_list")
    index = SearchIndex(TOOLS)

    learned = memory.learned("a", "when is my gym session")
    assert [tool.name for tool in index.search("gym session", 1, learned)] == ["calendar_list"]
    assert index.search("gym session", 1, memory.learned("b", "gym session")) == []


def test_a_search_is_credited_with_few_tools_and_each_only_once() -> None:
    memory = SearchMemory()
    memory.searched("a", "run", "gym")
    for number in range(100):
        memory.called("run", f"t{number % 20}")
    memory.called("another run", "t0")
    assert memory.learned("a", "gym") == {"gym": {"t0": 1, "t1": 1, "t2": 1, "t3": 1}}


def test_memory_is_bounded_whatever_is_searched() -> None:
    memory = SearchMemory()
    for number in range(5_000):
        memory.searched(f"agent {number % 300}", f"run {number}", f"word{number} other{number}")
        memory.called(f"run {number}", f"tool {number}")
    for number in range(5_000):
        memory.searched("one", f"run {number}", f"word{number}")
        memory.called(f"run {number}", f"tool {number}")
    kept = [memory.learned("one", f"word{number}") for number in range(5_000)]
    assert sum(map(bool, kept)) == 2_000
    assert kept[4_999] == {"word4999": {"tool 4999": 1}}
    assert memory.learned("agent 1", "word1") == {}  # other agents came since


async def test_a_program_that_calls_what_it_did_not_find_teaches_the_next_search_of_its_agent() -> None:
    async with Engine([make("calendar_list", "Shows appointments.")]) as engine:
        search = "return (await tools.search('gym session')).map(hit => hit.name)"
        assert value_of(await engine.exec(search, agent="a")) == []
        await engine.exec("await tools.search('gym session'); await tools.calendar_list({})", agent="a")
        assert value_of(await engine.exec(search, agent="a", session="another")) == ["calendar_list"]
        assert value_of(await engine.exec(search, agent="b")) == []


async def test_tool_search_learns_from_the_call_that_follows_a_search() -> None:
    tools = [make("calendar_list", "Shows appointments.", parameters=takes())]
    async with Engine(tools, False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare(session="s")
        first = await prepared.call("tool_search", {"query": "gym session"})
        await prepared.call("tool_call", {"id": "openclaw:core:calendar_list", "args": {}})
        second = await prepared.call("tool_search", {"query": "gym session"})
    assert first.value == []
    assert [hit["name"] for hit in second.value] == ["calendar_list"]


async def test_a_ranker_decides_the_order_and_codemode_fills_up() -> None:
    asked: list[SearchRequest] = []

    async def ranker(request: SearchRequest) -> list[str]:
        asked.append(request)
        return ["openclaw:core:volume_set", "openclaw:core:nothing", "openclaw:core:volume_set"]

    async with Engine(TOOLS, ranker=ranker, policy={"deny": ["repository_archive"]}) as engine:
        search = "return (await tools.search('invoice', { limit: 2 })).map(hit => hit.name)"
        assert value_of(await engine.exec(search, agent="a", session="s")) == ["volume_set", "invoice_send"]
    [request] = asked
    assert (request.query, request.limit, request.agent, request.session) == ("invoice", 2, "a", "s")
    assert [tool.name for tool in request.tools] == ["calendar_list", "invoice_send", "volume_set"]
    assert request.found == ("openclaw:core:invoice_send",)


@pytest.mark.parametrize("answer", [ValueError("down"), 7, [3]], ids=["raises", "no list", "no ids"])
async def test_a_ranker_that_fails_costs_nothing_but_its_ranking(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def ranker(_: SearchRequest) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with Engine(TOOLS, ranker=ranker) as engine:
        search = "return (await tools.search('invoice')).map(hit => hit.name)"
        assert value_of(await engine.exec(search)) == ["invoice_send"]


def test_a_ranker_that_is_not_a_function_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ranker.*a function that takes a SearchRequest"):
        Engine(TOOLS, ranker="embeddings")  # type: ignore[arg-type]
