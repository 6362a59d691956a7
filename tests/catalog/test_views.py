"""The catalog of a run: ids, order, views, what is never in it."""

import logging
import random

import pytest

from codemode.catalog import TOOL_SEARCH_CONTROLS, Catalog
from codemode.config import ConfigError
from codemode.surface import exec_tool, wait_tool
from tests.harness.tool_samples import make, takes

MESSAGE = make("message", "Sends a message.", label="Message")
BROWSER = make("browser_request", source="plugin", owner="browser")
ISSUE = make("create_issue", source="mcp", owner="github")
FILE = make("select_file", source="client", owner="app")
ALL = [MESSAGE, BROWSER, ISSUE, FILE]


@pytest.mark.guarantee("equal-tools-equal-catalogs")
def test_ids_say_source_owner_and_name() -> None:
    assert [tool.id for tool in Catalog(ALL).tools] == [
        "client:app:select_file",
        "mcp:github:create_issue",
        "openclaw:core:message",
        "plugin:browser:browser_request",
    ]


@pytest.mark.guarantee("equal-tools-equal-catalogs")
def test_equal_tool_sets_give_equal_views_whatever_the_order() -> None:
    tools = [make(f"tool_{number}", "Does it.") for number in range(50)]
    shuffled = tools[:]
    random.Random(1).shuffle(shuffled)

    assert Catalog(tools).all_tools() == Catalog(shuffled).all_tools()
    assert Catalog(tools).search("does it", 10) == Catalog(shuffled).search("does it", 10)


@pytest.mark.guarantee("all-tools-and-no-more")
def test_all_tools_has_every_tool_but_those_of_mcp() -> None:
    assert [entry["id"] for entry in Catalog(ALL).all_tools()] == [
        "client:app:select_file",
        "openclaw:core:message",
        "plugin:browser:browser_request",
    ]


def test_an_entry_is_compact() -> None:
    catalog = Catalog([MESSAGE, BROWSER])

    assert catalog.entry(MESSAGE) == {
        "id": "openclaw:core:message",
        "name": "message",
        "label": "Message",
        "description": "Sends a message.",
        "source": "openclaw",
    }
    assert catalog.entry(BROWSER)["sourceName"] == "browser"


def test_a_long_description_is_cut_in_entries_and_whole_in_describe() -> None:
    told = "word " * 200
    catalog = Catalog([make("talkative", told)])

    assert len(catalog.all_tools()[0]["description"]) <= 400
    assert catalog.describe("talkative") == {
        "id": "openclaw:core:talkative",
        "name": "talkative",
        "description": told,
        "source": "openclaw",
        "parameters": {"type": "object", "properties": {}},
    }


def test_describe_has_the_result_type_where_there_is_one() -> None:
    returns = {"type": "string"}
    described = Catalog([make("speak", returns=returns)]).describe("speak")

    assert described is not None
    assert described["returns"] == returns


@pytest.mark.guarantee("search-controls-are-hidden")
def test_the_controls_are_never_in_a_catalog() -> None:
    controls = [exec_tool("Runs.", ["javascript"]), wait_tool()]
    searches = [make(name) for name in TOOL_SEARCH_CONTROLS]

    assert Catalog([*controls, *searches, MESSAGE]).tools == (MESSAGE,)


@pytest.mark.guarantee("no-recursion")
def test_a_host_shell_named_exec_is_an_ordinary_entry() -> None:
    shell = make("exec", "Runs a shell command.")
    catalog = Catalog([exec_tool("Runs.", ["javascript"]), shell])

    assert catalog.resolve("exec") is shell
    assert catalog.convenience("exec") == "openclaw:core:exec"


def test_exec_and_wait_stay_out_where_tool_search_is_listed() -> None:
    search = make("tool_search")

    assert Catalog([search, wait_tool()], controls_excluded=False).tools == (search,)


def test_a_bare_name_resolves_if_only_one_tool_has_it() -> None:
    one, other = make("read"), make("read", source="plugin")

    assert Catalog([one]).resolve("read") is one
    assert Catalog([one, other]).resolve("read") is None
    assert Catalog([one, other]).resolve("plugin:acme:read") is other


def test_mcp_tools_resolve_only_for_the_host() -> None:
    catalog = Catalog(ALL)

    assert catalog.get("mcp:github:create_issue") is ISSUE
    assert catalog.resolve("mcp:github:create_issue") is None
    assert catalog.resolve("create_issue") is None
    assert catalog.describe("mcp:github:create_issue") is None


@pytest.mark.guarantee("denied-is-nonexistent")
def test_a_tool_that_is_not_there_is_found_in_no_way() -> None:
    catalog = Catalog([MESSAGE])

    assert catalog.resolve("openclaw:core:secret_tool") is None
    assert catalog.describe("secret_tool") is None
    assert catalog.convenience("secret_tool") is None
    assert catalog.search("secret tool") == []
    assert "openclaw:core:secret_tool" not in catalog


def test_sources_are_counted() -> None:
    assert Catalog([*ALL, make("read")]).by_source() == {"client": 1, "mcp": 1, "openclaw": 2, "plugin": 1}


def test_two_of_our_tools_under_one_id_are_a_mistake() -> None:
    with pytest.raises(ConfigError, match="two tools have this id"):
        Catalog([make("read"), make("read")])


def test_the_same_tool_twice_is_one_entry() -> None:
    assert len(Catalog([MESSAGE, MESSAGE])) == 1


def test_a_servers_duplicates_are_left_out_and_do_not_stop_the_run(caplog: pytest.LogCaptureFixture) -> None:
    twins = [make("twin", source="mcp"), make("twin", "another", source="mcp")]

    with caplog.at_level(logging.WARNING, "codemode.catalog"):
        assert Catalog([*twins, MESSAGE]).tools == (MESSAGE,)
    assert caplog.messages == ["mcp:acme:twin is offered more than once; none of them is used"]


def test_the_nearest_names_are_names_of_this_catalog() -> None:
    catalog = Catalog([make("web_search"), make("web_fetch"), make("write")])

    assert catalog.nearest("websearch", 1) == ["web_search"]
    assert catalog.nearest("openclaw:core:web_serach", 1) == ["openclaw:core:web_search"]
    assert catalog.nearest("zzzzzz") == []


@pytest.mark.guarantee("sessions-are-strangers")
def test_two_catalogs_at_once_know_nothing_of_each_other() -> None:
    mine = Catalog([make("mine_tool", "shared words", parameters=takes("query"))])
    theirs = Catalog([make("their_tool", "shared words")])

    assert [hit["name"] for hit in mine.search("shared words")] == ["mine_tool"]
    assert [hit["name"] for hit in theirs.search("shared words")] == ["their_tool"]
    assert theirs.nearest("mine_tool") == []
