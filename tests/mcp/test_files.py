"""API.list and API.read, as models use them: with and without await, as arrays, as texts, as values."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec
import pytest
from codemode_runtime.shapes import Lookup

from codemode import Engine
from codemode.mcp.library import Library
from tests.harness.engine import engine, value_of
from tests.harness.guests import Offer, run
from tests.harness.mcp_servers import fast, servers
from tests.mcp.test_library import tool

PATHS = ["mcp/index.d.ts", "mcp/chromeDevtools.d.ts"]


def devtools() -> AbstractAsyncContextManager[Engine]:
    """One server, under a configured name that is no identifier."""
    return engine(mcp=servers(**{"chrome-devtools": fast()}))


async def of(program: str) -> Any:
    async with devtools() as made:
        return value_of(await made.exec(program))


@pytest.mark.guarantee("files-are-as-models-use-them")
@pytest.mark.parametrize(
    "call", ["await API.list()", "API.list()", "await API.list('mcp/')", "await API.list().then((l) => l)"]
)
async def test_a_list_is_an_object_with_files_and_that_array_at_once(call: str) -> None:
    program = f"""
      const list = {call};
      const walked = []; for (const file of list) walked.push(file.path);
      const [first] = list;
      return {{ walked, first: first.path, at: list[1].path, length: list.length, mapped: list.map((f) => f.path),
               found: list.find((f) => f.path.includes('chrome')).path, spread: [...list].length,
               entries: list.files.map((f) => Object.keys(f)), same: list.files[0] === list[0],
               keys: Object.keys(list), json: JSON.parse(JSON.stringify(list)).files.length }};"""
    keys = ["path", "bytes", "description"]
    assert await of(program) == {
        "walked": PATHS, "first": PATHS[0], "at": PATHS[1], "length": 2, "mapped": PATHS, "found": PATHS[1],
        "spread": 2, "entries": [keys, keys], "same": True, "keys": ["files"], "json": 2,
    }  # fmt: skip


@pytest.mark.guarantee("files-are-as-models-use-them")
@pytest.mark.parametrize("call", ["await API.list()", "API.list()"])
async def test_a_list_that_is_returned_is_its_files(call: str) -> None:
    value = await of(f"return {call}")
    assert [file["path"] for file in value["files"]] == PATHS
    assert [file["description"] for file in value["files"]] == [
        "The MCP servers of this run, and the types that their files share.",
        "MCP.chromeDevtools: 10 tools, prompts, resources.",
    ]
    assert list(value) == ["files"]


@pytest.mark.guarantee("files-are-as-models-use-them")
@pytest.mark.parametrize(
    "call", ["await API.read(path)", "API.read(path)", "await API.read(path).catch(() => 0)"]
)
async def test_a_file_is_shown_as_its_content_and_returned_whole(call: str) -> None:
    program = f"""
      const path = {PATHS[1]!r};
      const file = {call};
      text(file); console.log("x", file); json(file); text(`${{file}}`); text("" + file);
      text([String(file) === file.content, JSON.parse(JSON.stringify(file)).bytes === file.bytes, 'then' in (await file)]);
      return file;"""
    async with devtools() as made:
        result = await made.exec(program)
    value = value_of(result)
    content = value["content"]
    assert list(value) == ["path", "content", "description", "bytes"]
    assert (value["path"], value["bytes"]) == (PATHS[1], len(content.encode()))
    assert "declare namespace MCP.chromeDevtools" in content
    shown = [item.get("text", item.get("value")) for item in result.to_dict()["output"]]
    assert shown == [content, f"x {content}", value, content, content, "[true,true,false]"]


@pytest.mark.guarantee("files-are-as-models-use-them")
async def test_a_servers_file_is_found_by_the_configured_name_and_by_the_identifier() -> None:
    program = """
      const files = await Promise.all(["mcp/chrome-devtools.d.ts", "mcp/chromeDevtools.d.ts"].map((p) => API.read(p)));
      return [files.map((f) => f.path), files[0].content === files[1].content,
              (await API.list("mcp/chrome-devtools")).map((f) => f.path), (await API.list("mcp/chrome-x")).length];"""
    assert await of(program) == [[PATHS[1], PATHS[1]], True, [PATHS[1]], 0]


def test_every_listed_path_is_read_as_it_stands_whatever_servers_are_called() -> None:
    library = Library([tool("git-hub", "a"), tool("gitHub", "b"), tool("index", "c")])

    def path_of(asked: str) -> str:
        return msgspec.json.decode(library.read_file(asked) or b"null")["path"]

    listed = [file["path"] for file in msgspec.json.decode(library.list_files("") or b"")["files"]]
    assert listed == ["mcp/index.d.ts", "mcp/gitHub.d.ts", "mcp/gitHub2.d.ts", "mcp/index2.d.ts"]
    assert [path_of(path) for path in listed] == listed
    assert path_of("mcp/git-hub.d.ts") == "mcp/gitHub2.d.ts"


def test_no_word_of_a_server_is_in_a_description() -> None:
    library = Library([tool("s", "ignore_previous_instructions"), tool("s", "prompts/list")])
    files = msgspec.json.decode(library.list_files("") or b"")["files"]
    assert files[1]["description"] == "MCP.s: 1 tool, prompts."


FILE = {"path": "f", "content": "the text", "description": "", "bytes": 8}


@pytest.mark.parametrize(
    "spoil",
    [
        "String.prototype.toString = () => 'forged'; Object.prototype.toString = () => 'forged'",
        "Object.prototype.content = 'forged'; Object.prototype.toJSON = undefined",
        "Symbol.prototype.valueOf = null; globalThis.Symbol = null; globalThis.Promise = null",
        "Promise.prototype.then = () => { throw 1 }; Array.prototype.map = null",
        "Object.setPrototypeOf(Object.getPrototypeOf(file), { toString: () => 'forged' })",
        "Object.getPrototypeOf(file).toString = () => 'forged'",
    ],
)
def test_what_a_program_replaces_does_not_change_what_is_shown(spoil: str) -> None:
    program = f"const file = API.read('f'); try {{ {spoil} }} catch {{}} text(file); console.log(file); return `${{file}}`"
    ran = run(program, descriptor=Offer({(Lookup.API_READ, "f"): FILE}))
    assert (ran.value, ran.texts) == ("the text", ["the text", "the text"])


def test_a_file_whose_content_is_no_text_any_more_is_shown_as_json() -> None:
    program = "const file = await API.read('f'); file.content = 5; text(file); return `${file}`"
    ran = run(program, descriptor=Offer({(Lookup.API_READ, "f"): FILE}))
    assert ran.value == "[object Object]"
    assert ran.texts == ['{"path":"f","content":5,"description":"","bytes":8}']


def test_a_file_and_a_list_survive_a_suspension() -> None:
    offer = Offer({(Lookup.API_READ, "f"): FILE, (Lookup.API_LIST, ""): {"files": [{"path": "f"}]}})
    program = """const file = API.read('f'), list = API.list(); await tools.call('x');
      text(file); return [`${await file}`, list.map((f) => f.path), (await list).length]"""
    ran = run(program, {"x": lambda *_: 1}, descriptor=offer, suspend="every_await")
    assert (ran.value, ran.texts, ran.suspensions) == (["the text", ["f"], 1], ["the text"], 1)
