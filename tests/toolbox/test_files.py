"""read, write and edit: what they answer, and how they refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine
from codemode.toolbox import FileLimits, Workspace, file_tools
from codemode.tools import FunctionTool, ToolError
from tests.harness.engine import value_of

Tools = dict[str, Callable[..., Any]]


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    workspace = Workspace(tmp_path)
    made = file_tools(workspace, FileLimits(read_bytes=1_000, scan_bytes=2_000_000, change_bytes=5_000))
    yield {one.name: one.function for one in made if isinstance(one, FunctionTool)}
    workspace.close()


def test_lines_are_read_from_where_they_are_asked_for(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1\n2\n3\n4\n")
    whole = {"path": "f", "bytes": 8, "text": "1\n2\n3\n4\n", "firstLine": 1, "lastLine": 4, "hasMore": False}
    assert tools["read"]("f") == whole
    assert tools["read"]("f", offset=2, limit=2) == whole | {
        "text": "2\n3\n", "firstLine": 2, "lastLine": 3, "hasMore": True,
    }  # fmt: skip
    assert tools["read"]("f", offset=4, limit=1) == whole | {"text": "4\n", "firstLine": 4}
    with pytest.raises(ToolError, match="f has 5 lines; line 9 is behind its end"):
        tools["read"]("f", offset=9)


def test_a_file_without_a_last_newline_is_read_as_it_is(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1\n2")
    assert tools["read"]("f")["text"] == "1\n2"
    assert tools["read"]("f")["lastLine"] == 2
    (tmp_path / "e").write_text("")
    assert tools["read"]("e") == {
        "path": "e", "bytes": 0, "text": "", "firstLine": 1, "lastLine": 1, "hasMore": False,
    }  # fmt: skip


def test_a_long_file_is_cut_at_a_line_and_can_be_gone_on_with(tools: Tools, tmp_path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 501))
    (tmp_path / "f").write_text(text)
    found, offset = "", 1
    while True:
        part = tools["read"]("f", offset=offset)
        assert len(part["text"]) <= 1_000
        found += part["text"]
        if not part["hasMore"]:
            break
        offset = part["lastLine"] + 1
    assert found == text


def test_a_line_far_inside_a_giant_file_is_refused_soon(tools: Tools, tmp_path: Path) -> None:
    with open(tmp_path / "giant", "wb") as file:
        file.truncate(1 << 40)  # a terabyte of holes
    with pytest.raises(ToolError, match="a command can get at it"):
        tools["read"]("giant", offset=2)
    with pytest.raises(ToolError, match="is not text in UTF-8"):
        tools["read"]("giant")
    with pytest.raises(ToolError, match="at most 5000 can be changed"):
        tools["edit"]("giant", "a", "b")


def test_a_folder_is_listed(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_text("12")
    (tmp_path / "a").mkdir()
    (tmp_path / "l").symlink_to("a")
    found = tools["read"](".")
    assert found["path"] == "."
    assert [(entry["name"], entry["type"]) for entry in found["entries"]] == [
        ("a", "folder"), ("b.txt", "file"), ("l", "link"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "told"),
    [
        ("return  1", r"The nearest line is 2: 'return 1'"),
        ("def one():\n\treturn 1", "Its first line is line 1, with other spaces or other lines after it"),
        ("something else entirely", r"old_text is not in f\. Read the file again"),
        ("", "old_text is empty"),
        ("return", "old_text is in f 2 times, at lines 2, 4. Add lines around it"),
    ],
)
def test_an_edit_that_does_not_fit_says_why_and_changes_nothing(
    tools: Tools, tmp_path: Path, old: str, told: str
) -> None:
    text = "def one():\n    return 1\ndef two():\n    return 2\n"
    (tmp_path / "f").write_text(text)
    with pytest.raises(ToolError, match=told):
        tools["edit"]("f", old, "x")
    assert (tmp_path / "f").read_text() == text


def test_edits_replace_once_or_everywhere_and_keep_line_ends(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\nb\r\na\r\n")
    assert tools["edit"]("f", "a\nb", "c\nd") == {"path": "f", "replacements": 1}
    assert (tmp_path / "f").read_bytes() == b"c\r\nd\r\na\r\n"
    (tmp_path / "g").write_text("x x x")
    assert tools["edit"]("g", "x", "y", replace_all=True) == {"path": "g", "replacements": 3}
    assert (tmp_path / "g").read_text() == "y y y"


async def test_a_program_reads_edits_and_patches_with_declared_types(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\ntwo\n")
    workspace = Workspace(tmp_path)
    async with Engine(file_tools(workspace)) as engine:
        program = """
        const { text } = await tools.read({ path: "f" });
        await tools.edit({ path: "f", old_text: "one", new_text: text.length + "" });
        const failed = await tools.read({ path: "../secret" }).catch((e) => [e.code, e.message]);
        const edits = [1, 2, 3, 4, 5].map((n) => ({ path: "f", old_text: "two", new_text: "two" + n }));
        const many = await Promise.all(edits.map((edit) => tools.edit(edit)));
        return [failed, many.length, (await tools.read({ path: "f" })).text.split("\\n")[0]];
        """
        found = value_of(await engine.exec(program))
        described = value_of(
            await engine.exec("return (await tools.describe('read')).returns.$defs.FolderEntry.type")
        )
    workspace.close()
    told = "../secret leads out of the workspace. Use a path relative to it, without links to elsewhere."
    assert found == [["outside_workspace", told], 5, "8"]
    first, second, rest = (tmp_path / "f").read_text().split("\n")
    assert (first, second[:3], sorted(second[3:]), rest) == ("8", "two", ["1", "2", "3", "4", "5"], "")
    assert described == "object"
