"""Patches as models write them: what is applied, and what is refused whole."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.toolbox import FileLimits, Workspace, file_tools
from codemode.toolbox.hunks import patched
from codemode.toolbox.patches import Hunk, read_patch
from codemode.tools import FunctionTool, ToolError

PROGRAM = """\
def one():
    return 1


def two():
    return 2


def three():
    return 2
"""

FILES = {
    "main.py": PROGRAM,
    "notes.txt": "alpha\nbeta\ngamma",  # no newline at its end
    "windows.txt": "first\r\nsecond\r\nthird\r\n",
    "empty.txt": "",
    "twice.txt": "same\nx\nsame\nx\n",
    "picture.png": "\x00\x01",
    ".git/config": "[core]\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("/etc/passwd")
    return tmp_path


@pytest.fixture
def apply(root: Path) -> Iterator[Callable[[str], Any]]:
    workspace = Workspace(root)
    [made] = [made for made in file_tools(workspace) if made.name == "apply_patch"]
    assert isinstance(made, FunctionTool)
    yield made.function
    workspace.close()


def everything(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def block(*lines: str) -> str:
    return "\n".join(["*** Begin Patch", *lines, "*** End Patch"])


def test_a_block_adds_updates_moves_and_deletes(apply: Callable[[str], Any], root: Path) -> None:
    done = apply(
        block(
            "*** Add File: new/hello.txt",
            "+hello",
            "+",
            "+world",
            "*** Update File: main.py",
            "@@ def two():",
            "-    return 2",
            "+    return 22",
            "*** Update File: notes.txt",
            "*** Move to: moved/notes.txt",
            "@@",
            " alpha",
            "-beta",
            "+BETA",
            "*** Delete File: empty.txt",
        )
    )
    assert done == {
        "files": [
            {"path": "new/hello.txt", "action": "added", "added": 3, "removed": 0},
            {"path": "main.py", "action": "updated", "added": 1, "removed": 1},
            {"path": "moved/notes.txt", "action": "moved", "added": 1, "removed": 1},
            {"path": "empty.txt", "action": "deleted", "added": 0, "removed": 0},
        ]
    }
    found = everything(root)
    assert found["new/hello.txt"] == b"hello\n\nworld\n"
    assert found["main.py"].decode() == PROGRAM.replace("return 2\n", "return 22\n", 1)
    assert found["moved/notes.txt"] == b"alpha\nBETA\ngamma"
    assert "notes.txt" not in found
    assert "empty.txt" not in found


def test_a_unified_diff_with_lines_of_git_is_applied(apply: Callable[[str], Any], root: Path) -> None:
    apply(
        """\
diff --git a/main.py b/main.py
index 83db48f..bf2a1c1 100644
--- a/main.py
+++ b/main.py
@@ -1,5 +1,5 @@ module
 def one():
-    return 1
+    return 11


 def two():
@@ -8,3 +8,4 @@ def two():
 def three():
-    return 2
+    total = 3
+    return total
diff --git a/made.txt b/made.txt
new file mode 100644
--- /dev/null
+++ b/made.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
diff --git a/empty.txt b/empty.txt
deleted file mode 100644
--- a/empty.txt
+++ /dev/null
diff --git a/twice.txt b/once.txt
similarity index 100%
rename from twice.txt
rename to once.txt
"""
    )
    found = everything(root)
    expected = PROGRAM.replace("return 1\n", "return 11\n")
    expected = expected[: expected.rindex("    return 2")] + "    total = 3\n    return total\n"
    assert found["main.py"].decode() == expected
    assert found["made.txt"] == b"one\ntwo"
    assert "empty.txt" not in found
    assert found["once.txt"] == FILES["twice.txt"].encode()


def test_a_fence_around_a_patch_is_taken_off(apply: Callable[[str], Any], root: Path) -> None:
    apply("```diff\n--- a/notes.txt\n+++ b/notes.txt\n@@ -2 +2 @@\n-beta\n+delta\n```\n")
    assert (root / "notes.txt").read_bytes() == b"alpha\ndelta\ngamma"


def test_wrong_line_numbers_and_other_spaces_are_forgiven_and_the_files_own_spelling_stays(
    apply: Callable[[str], Any], root: Path
) -> None:
    apply("--- main.py\n+++ main.py\n@@ -90,2 +90,2 @@\n def one():   \n-return 1\n+    return 10\n")
    assert (root / "main.py").read_text() == PROGRAM.replace("return 1\n", "return 10\n")


def test_of_several_places_the_one_nearest_to_the_line_number_is_taken(
    apply: Callable[[str], Any], root: Path
) -> None:
    apply("--- a/twice.txt\n+++ b/twice.txt\n@@ -3 +3 @@\n-same\n+other\n")
    assert (root / "twice.txt").read_text() == "same\nx\nother\nx\n"


def test_line_ends_of_windows_stay(apply: Callable[[str], Any], root: Path) -> None:
    apply(block("*** Update File: windows.txt", "@@", " first", "-second", "+2nd"))
    assert (root / "windows.txt").read_bytes() == b"first\r\n2nd\r\nthird\r\n"


def test_the_end_of_a_file_can_be_named(apply: Callable[[str], Any], root: Path) -> None:
    apply(block("*** Update File: twice.txt", "@@", " same", "-x", "+y", "*** End of File"))
    assert (root / "twice.txt").read_text() == "same\nx\nsame\ny\n"


REFUSED = {
    "nothing": ("", "It has no file"),
    "prose": ("Please change the file.", "It has no file"),
    "no end": ("*** Begin Patch\n*** Add File: x\n+1", r"\*\*\* End Patch is missing"),
    "text after the end": (block("*** Add File: x", "+1") + "\nmore", "there is text after"),
    "no file first": (block("+1"), "a file must come first"),
    "empty block": (block(), "It has no file"),
    "added file without plus": (block("*** Add File: x", "1"), "begins with \\+"),
    "added file exists": (block("*** Add File: main.py", "+1"), "main.py exists already"),
    "added folder exists": (block("*** Add File: folder", "+1"), "folder exists already"),
    "updated file is missing": (block("*** Update File: gone.py", "@@", "-1", "+2"), "There is no gone.py"),
    "deleted file is missing": (block("*** Delete File: gone.py"), "There is no gone.py"),
    "deleted file has lines": (block("*** Delete File: main.py", "-x"), "a deleted file has no lines"),
    "deleted folder": (block("*** Delete File: folder"), "is a folder"),
    "line is not there": (
        block("*** Update File: main.py", "@@", "-    return 9", "+    return 8"),
        "main.py has no line '    return 9'",
    ),
    "lines are not together": (
        block("*** Update File: main.py", "@@", " def one():", "-def two():", "+def second():"),
        "but not one after the other",
    ),
    "several places": (
        block("*** Update File: main.py", "@@", "-    return 2", "+    return 3"),
        "in 2 places, at lines 6, 10",
    ),
    "line before it is not there": (
        block("*** Update File: main.py", "@@ def four():", "-    return 2", "+    return 3"),
        "has no line 'def four\\(\\):'",
    ),
    "parts out of order": (
        block(
            "*** Update File: main.py", "@@ def three():", "-    return 2", "+    return 3",
            "@@ def one():", "-    return 1", "+    return 0",
        ),
        "has no line 'def one\\(\\):' after line",
    ),
    "not at the end": (
        block("*** Update File: twice.txt", "@@", "-same", "+other", "*** End of File"),
        "does not end with these lines",
    ),
    "bad mark": (block("*** Update File: main.py", "@@", "?x"), "begins with a space, - or \\+"),
    "no path": (block("*** Update File:  ", "@@", "-a", "+b"), "a path is missing"),
    "a file twice": (
        block("*** Update File: notes.txt", "@@", "-beta", "+b", "*** Delete File: notes.txt"),
        "is in it twice",
    ),
    "moved onto another": (
        block("*** Update File: notes.txt", "*** Move to: main.py", "@@", "-beta", "+b"),
        "main.py exists already",
    ),
    "moved onto itself": (
        block("*** Update File: notes.txt", "*** Move to: notes.txt", "@@", "-beta", "+b"),
        "is in it twice",
    ),
    "moved out": (
        block("*** Update File: notes.txt", "*** Move to: ../notes.txt", "@@", "-beta", "+b"),
        "leads out of the workspace",
    ),
    "moved into git": (
        block("*** Update File: notes.txt", "*** Move to: .git/hooks/x", "@@", "-beta", "+b"),
        "which tools do not change",
    ),
    "git is updated": (
        block("*** Update File: .git/config", "@@", "-[core]", "+[x]"),
        "which tools do not change",
    ),
    "git is deleted": (block("*** Delete File: .git/config"), "which tools do not change"),
    "git is added to": (block("*** Add File: .git/hooks/pre-commit", "+x"), "which tools do not change"),
    "link outside": (block("*** Update File: link", "@@", "-root", "+x"), "leads out of the workspace"),
    "link outside is deleted": (block("*** Delete File: link"), "leads out of the workspace"),
    "parent": (block("*** Add File: ../x", "+1"), "leads out of the workspace"),
    "absolute": (block("*** Add File: /tmp/x", "+1"), "leads out of the workspace"),
    "below a file": (block("*** Add File: main.py/x", "+1"), "is no folder"),
    "binary": (block("*** Update File: picture.png", "@@", "-a", "+b"), "is not text in UTF-8"),
    "binary diff": ("diff --git a/x b/x\nGIT binary patch\nliteral 3\n", "binary files cannot be patched"),
    "no change": (block("*** Update File: notes.txt", "@@", " beta"), "does not change notes.txt"),
    "diff without parts": ("--- a/main.py\n+++ b/main.py\n", "has no part that begins with @@"),
    "part before its file": ("@@ -1 +1 @@\n-a\n+b\n", "@@ comes before"),
    "new file with old lines": (
        "--- /dev/null\n+++ b/n.txt\n@@ -1 +1 @@\n-a\n+b\n",
        "is new and cannot have lines",
    ),
    "both nothing": ("--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n", "both names are /dev/null"),
    "good file before a bad one": (
        block("*** Add File: good.txt", "+1", "*** Update File: main.py", "@@", "-nothing", "+x"),
        "has no line 'nothing'",
    ),
    "too large": (block("*** Add File: big.txt", "+" + "x" * FileLimits().change_bytes), "longer than"),
    "too many files": (
        block(*(line for n in range(300) for line in (f"*** Add File: f{n}", "+1"))),
        "300 files",
    ),
}  # fmt: skip


@pytest.mark.guarantee("patches-are-all-or-nothing")
@pytest.mark.parametrize("name", REFUSED)
def test_a_patch_is_refused_whole(apply: Callable[[str], Any], root: Path, name: str) -> None:
    patch, told = REFUSED[name]
    before = everything(root)
    with pytest.raises(ToolError, match=told):
        apply(patch)
    assert everything(root) == before


def test_a_file_that_cannot_be_written_takes_back_the_others(
    apply: Callable[[str], Any], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, count = Workspace.replace, 0

    def fails_at_the_third(self: Workspace, path: str, data: bytes, **more: Any) -> str:
        nonlocal count
        count += 1
        if count == 3:
            raise ToolError(f"{path}: No space left on device.", code="io_error")
        return whole(self, path, data, **more)

    monkeypatch.setattr(Workspace, "replace", fails_at_the_third)
    before = everything(root)
    patch = block(
        *("*** Add File: n.txt", "+1", "*** Update File: notes.txt", "@@", "-beta", "+b"),
        *("*** Update File: twice.txt", "@@", " same", "-x", "+y", "*** End of File"),
    )
    with pytest.raises(ToolError, match=r"No space left.*Nothing was changed"):
        apply(patch)
    assert everything(root) == before


def test_a_hostile_patch_of_parts_that_fit_everywhere_ends_soon() -> None:
    hunks = [Hunk(near=1, old=["x"] * 2, new=["y"]) for _ in range(5_000)]
    with pytest.raises(ToolError, match="too many places"):
        patched("f", "x\n" * 100_000, hunks)


@given(
    st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=12),
    st.lists(st.sampled_from(["a", "b", "d", ""]), max_size=12),
)
@settings(max_examples=300)
def test_a_diff_made_of_two_texts_makes_the_one_of_the_other(old: list[str], new: list[str]) -> None:
    before, after = ("".join(f"{line}\n" for line in lines) for lines in (old, new))
    diff = "".join(
        difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), "a/f", "b/f")
    )
    if before == after or not diff:
        return
    [change] = read_patch(diff)
    assert patched("f", before, change.hunks) == after
