"""memory_search and memory_get: which notes are found, and that nothing but notes is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode.toolbox import Workspace, memory_tools
from codemode.tools import FunctionTool, ToolError

Tools = dict[str, Callable[..., Any]]

NOTES = {
    "MEMORY.md": "# People\nAda likes green tea.\n\n# Deploys\nWe deploy on Tuesdays, never on Fridays.\n",
    "memory/2026-11-01.md": "# Monday\nThe invoice job failed: the disk was full.\n",
    "memory/deep/billing.md": "## Invoices\nInvoices are sent by `bill-run`.\n```\n# not a heading\n```\n",
    "src/code.md": "# Invoices\ninvoice invoice invoice\n",
}


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Tools]:
    for name, text in NOTES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    workspace = Workspace(tmp_path)
    yield {one.name: one.function for one in memory_tools(workspace) if isinstance(one, FunctionTool)}
    workspace.close()


def places(found: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(hit["path"], hit["line"], hit["heading"]) for hit in found["hits"]]


def test_sections_are_found_by_words_in_any_form_with_the_place_to_read_on(tools: Tools) -> None:
    assert places(tools["memory_search"]("when do we deploy?"))[0] == ("MEMORY.md", 4, "Deploys")
    found = tools["memory_search"]("what is known about an invoice")
    assert places(found)[:2] == [
        ("memory/deep/billing.md", 1, "Invoices"),
        ("memory/2026-11-01.md", 1, "Monday"),
    ]
    assert found["files"] == 3
    assert tools["memory_search"]("zebra") == {"hits": [], "files": 3}


def test_a_change_of_a_note_is_seen_by_the_next_search(tools: Tools, tmp_path: Path) -> None:
    assert places(tools["memory_search"]("zebra")) == []
    (tmp_path / "memory" / "new.md").write_text("# Zoo\nThe zebra is called Ben.\n")
    assert places(tools["memory_search"]("zebra")) == [("memory/new.md", 1, "Zoo")]
    (tmp_path / "memory" / "new.md").unlink()
    assert places(tools["memory_search"]("zebra")) == []


def test_a_note_is_read_by_lines(tools: Tools) -> None:
    assert tools["memory_get"]("MEMORY.md", line=4, lines=1) == {
        "path": "MEMORY.md", "text": "# Deploys\n", "firstLine": 4, "hasMore": True,
    }  # fmt: skip
    assert tools["memory_get"]("memory/2026-11-01.md")["hasMore"] is False


@pytest.mark.parametrize("path", ["src/code.md", "memory/../src/code.md", "memory/link.md", "memory/out.md"])
def test_what_is_no_note_is_neither_read_nor_found(tools: Tools, tmp_path: Path, path: str) -> None:
    os.symlink("../src/code.md", tmp_path / "memory" / "link.md")
    os.symlink("/etc/passwd", tmp_path / "memory" / "out.md")
    with pytest.raises(ToolError):
        tools["memory_get"](path)
    assert "src/code.md" not in str(tools["memory_search"]("invoice invoice root"))
    assert "out.md" not in str(tools["memory_search"]("root bash"))


def test_a_workspace_without_notes_has_none(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    search = memory_tools(workspace)[0]
    assert isinstance(search, FunctionTool)
    assert search.function("anything") == {"hits": [], "files": 0}
    workspace.close()
