"""The tree, the files and `$api`, from a catalog's tools."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from codemode_runtime.shapes import Lookup

from codemode.mcp.library import Library
from codemode.tools import CallContext, Tool
from tests.harness.grammar import problems


async def nothing(arguments: dict[str, Any], context: CallContext) -> None: ...


def tool(server: str, name: str, **schema: Any) -> Tool:
    return Tool(name, "", schema or {"type": "object"}, nothing, None, "mcp", server)


LIBRARY = Library(
    [
        tool(
            "git-hub",
            "create_issue",
            type="object",
            properties={"title": {"type": "string"}},
            required=["title"],
        ),
        tool("git-hub", "resources/list"),
        tool("git_hub", "echo"),
        Tool("own", "", {"type": "object"}, nothing),
    ]
)


def decoded(answer: bytes | None) -> Any:
    assert answer is not None
    return msgspec.json.decode(answer)


def test_servers_are_those_of_the_tools_and_no_two_share_a_name() -> None:
    assert decoded(LIBRARY.lookup(Lookup.SERVERS, "")) == ["gitHub", "gitHub2"]
    assert LIBRARY.server("nope") is None


def test_a_tree_has_tools_methods_and_api() -> None:
    assert decoded(LIBRARY.server("gitHub")) == {
        "o": {
            "createIssue": {"c": "mcp:git-hub:create_issue", "m": "mcp"},
            "resources": {"o": {"list": {"c": "mcp:git-hub:resources/list", "m": "mcp"}}},
            "$api": {"api": "gitHub"},
        }
    }


def test_a_server_without_tools_now_keeps_its_name_for_later() -> None:
    assert Library([tool("b_c", "x")], ["b-c"]).server_names == ("bC2",)


def test_files_are_listed_by_prefix_with_their_size() -> None:
    files = decoded(LIBRARY.list_files(""))["files"]
    assert [file["path"] for file in files] == ["mcp/index.d.ts", "mcp/gitHub.d.ts", "mcp/gitHub2.d.ts"]
    for file in files:
        content = decoded(LIBRARY.read_file(file["path"]))["content"]
        assert len(content.encode()) == file["bytes"]
        assert problems(content) == []
    assert [file["path"] for file in decoded(LIBRARY.list_files("mcp/gitHub2"))["files"]] == [
        "mcp/gitHub2.d.ts"
    ]
    assert decoded(Library([]).list_files("")) == {"files": []}


@pytest.mark.parametrize(
    "path", ["", "mcp", "mcp/", "mcp/nope.d.ts", "./mcp/index.d.ts", "mcp/./index.d.ts",
             "mcp/x/../index.d.ts", "../mcp/index.d.ts", "mcp\\index.d.ts", "/mcp/index.d.ts"],
)  # fmt: skip
def test_other_paths_are_refused(path: str) -> None:
    assert LIBRARY.read_file(path) is None


def test_api_takes_either_name_and_adds_schemas_if_asked() -> None:
    header = "  function createIssue(input: { title: string }): Promise<McpToolResult>;\n"
    plain = {"header": header, "server": "gitHub", "tools": ["createIssue"]}
    schema = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
    assert decoded(LIBRARY.api('["gitHub", "createIssue"]')) == plain
    assert decoded(LIBRARY.api('["gitHub", "create_issue", {"schema": true}]')) == plain | {
        "schemas": {"createIssue": {"input": schema}}
    }
    whole = decoded(LIBRARY.api('["gitHub", {"schema": true}]'))
    assert whole["header"] == decoded(LIBRARY.read_file("mcp/gitHub.d.ts"))["content"]
    assert list(whole["schemas"]) == ["createIssue"]
    assert "function list(" in decoded(LIBRARY.api('["gitHub", "resources"]'))["header"]
    assert LIBRARY.api('["gitHub", "nope"]') is None
    assert LIBRARY.api('["nope"]') is None
    assert [one["name"] for one in decoded(LIBRARY.api("[null]"))["servers"]] == ["gitHub", "gitHub2"]
