"""The workspace of the file tools: sixty ways out of it, and what stays whole."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from codemode.config import ConfigError
from codemode.toolbox import FileLimits, Workspace, file_tools
from codemode.tools import FunctionTool, ToolError

SECRET = "the secret outside"

Tools = dict[str, Callable[..., Any]]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace beside a secret, with links of every kind that lead there."""
    root = tmp_path / "root"
    root.mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (tmp_path / "root-but-longer").mkdir()
    (tmp_path / "root-but-longer" / "secret.txt").write_text(SECRET)
    (root / "inside").mkdir()
    (root / "inside" / "a.txt").write_text("a\n")
    links = {
        "to_file": "../outside/secret.txt",
        "to_folder": "../outside",
        "absolute_file": str(outside / "secret.txt"),
        "absolute_folder": str(outside),
        "to_parent": "..",
        "to_slash": "/",
        "to_etc": "/etc",
        "to_proc": "/proc/self",
        "to_self": "to_self",
        "to_chain": "chain1",
        "chain1": "inside/chain2",
        "to_missing_outside": "../outside/new.txt",
        "round_about": "inside/../../outside/secret.txt",
        "dangling_absolute": "/nowhere/at/all",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "inside" / "chain2").symlink_to("../../outside/secret.txt")
    (root / "loop_a").symlink_to("loop_b")
    (root / "loop_b").symlink_to("loop_a")
    (root / "good_link").symlink_to("inside/a.txt")
    (root / "good_absolute").symlink_to(str(root / "inside" / "a.txt"))
    return root


@pytest.fixture
def tools(root: Path) -> Iterator[Tools]:
    workspace = Workspace(root)
    yield {made.name: made.function for made in file_tools(workspace) if isinstance(made, FunctionTool)}
    workspace.close()


WAYS_OUT = [
    "../outside/secret.txt",
    "..",
    "../",
    "../..",
    "./../outside/secret.txt",
    "inside/../../outside/secret.txt",
    "inside/../../../../../../../../etc/passwd",
    "inside/./../.././outside/secret.txt",
    "inside//..//..//outside//secret.txt",
    "../root-but-longer/secret.txt",
    "/etc/passwd",
    "//etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd",
    "/dev/zero",
    "/",
    "to_file",
    "to_folder/secret.txt",
    "to_folder",
    "to_folder/",
    "to_folder/../outside/secret.txt",
    "absolute_file",
    "absolute_folder/secret.txt",
    "absolute_folder",
    "to_parent",
    "to_parent/outside/secret.txt",
    "to_slash",
    "to_slash/etc/passwd",
    "to_etc/passwd",
    "to_proc/environ",
    "to_proc/root/etc/passwd",
    "to_proc/fd/0",
    "to_self",
    "to_self/x",
    "loop_a",
    "loop_a/x",
    "to_chain",
    "chain1",
    "inside/chain2",
    "inside/../to_file",
    "to_missing_outside",
    "round_about",
    "dangling_absolute",
    "inside/../to_parent/outside/secret.txt",
    "good_link/../../../outside/secret.txt",
    "nothing/../../outside/secret.txt",
    "a\0b",
    "../outside/secret.txt\0.txt",
    "",
    "x" * 5_000,
    "../" * 1_500,
    "~/../../etc/passwd/../../outside",
    "to_parent/root/../outside/secret.txt",
    "to_parent/root/to_parent/outside/secret.txt",
]


@pytest.mark.guarantee("files-stay-in-the-workspace")
@pytest.mark.parametrize("path", WAYS_OUT)
@pytest.mark.parametrize("way", ["read", "write", "edit", "add", "update", "delete", "move"])
def test_no_tool_leaves_the_workspace(tools: Tools, tmp_path: Path, path: str, way: str) -> None:
    before = everything(tmp_path)
    with pytest.raises(ToolError) as refused:
        go(tools, path, way)
    assert SECRET not in str(refused.value)
    assert everything(tmp_path) == before


def go(tools: Tools, path: str, way: str) -> None:
    patch = tools["apply_patch"]
    match way:
        case "read":
            tools["read"](path)
        case "write":
            tools["write"](path, "taken over")
        case "edit":
            tools["edit"](path, SECRET, "taken over")
        case "add":
            patch(f"*** Begin Patch\n*** Add File: {path}\n+taken over\n*** End Patch")
        case "update":
            patch(f"--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{SECRET}\n+taken over\n")
        case "delete":
            patch(f"*** Begin Patch\n*** Delete File: {path}\n*** End Patch")
        case _:
            moved = f"*** Update File: inside/a.txt\n*** Move to: {path}\n@@\n-a\n+b"
            patch(f"*** Begin Patch\n{moved}\n*** End Patch")


def everything(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


@pytest.mark.parametrize(
    "path", ["good_link", "good_absolute", "inside/a.txt", "./inside//a.txt", "inside/../good_link"]
)
def test_links_and_dots_that_stay_inside_work(tools: Tools, path: str) -> None:
    found = tools["read"](path)
    assert (found["path"], found["text"]) == ("inside/a.txt", "a\n")


def test_an_absolute_path_of_the_workspace_works(tools: Tools, root: Path) -> None:
    assert tools["read"](str(root / "inside" / "a.txt"))["path"] == "inside/a.txt"
    assert [entry["name"] for entry in tools["read"](str(root / "inside"))["entries"]] == ["a.txt", "chain2"]


def test_writing_through_a_link_changes_what_it_leads_to_and_keeps_the_link(tools: Tools, root: Path) -> None:
    assert tools["write"]("good_link", "b\n") == {"path": "inside/a.txt", "bytes": 2, "created": False}
    assert (root / "good_link").is_symlink()
    assert (root / "inside" / "a.txt").read_text() == "b\n"


def test_devices_pipes_and_sockets_are_refused_and_never_waited_for(tools: Tools, root: Path) -> None:
    os.mkfifo(root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    os.chdir(root)  # the path of a socket may be 108 bytes long
    try:
        listener.bind("socket")
    finally:
        os.chdir(here)
    for name, kind in (("pipe", "pipe"), ("socket", "socket")):
        with pytest.raises(ToolError):
            tools["read"](name)
        with pytest.raises(ToolError, match=f"{name} is a {kind}, not a file"):
            tools["write"](name, "x")
    listener.close()
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", ".GIT/config", "inside/.git/config"])
def test_the_folder_of_git_is_read_and_not_written(tools: Tools, root: Path, path: str) -> None:
    with pytest.raises(ToolError, match="which tools do not change"):
        tools["write"](path, "#!/bin/sh")
    with pytest.raises(ToolError, match="which tools do not change"):
        tools["apply_patch"](f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch")
    assert not [found for found in root.rglob("*") if found.name.casefold() == ".git"]


def test_a_link_to_the_folder_of_git_does_not_help(tools: Tools, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]\n")
    (root / "friendly").symlink_to(".git")
    assert tools["read"]("friendly/config")["text"] == "[core]\n"
    with pytest.raises(ToolError, match="which tools do not change"):
        tools["write"]("friendly/config", "x")
    with pytest.raises(ToolError, match="which tools do not change"):
        tools["edit"]("friendly/config", "core", "x")


def test_a_link_that_is_swapped_all_the_time_never_leads_outside(
    tools: Tools, root: Path, tmp_path: Path
) -> None:
    stop = threading.Event()

    def swap() -> None:
        turn = 0
        while not stop.is_set():
            turn += 1
            target = ["inside", "../outside"][turn % 2]
            (root / "new_link").symlink_to(target)
            os.rename(root / "new_link", root / "swapped")

    (root / "swapped").symlink_to("inside")
    swapper = threading.Thread(target=swap)
    swapper.start()
    seen: set[str] = set()
    try:
        for turn in range(400):
            for do in (
                lambda: tools["read"]("swapped/secret.txt").get("text", ""),
                lambda turn=turn: tools["write"]("swapped/made.txt", str(turn))["path"],
            ):
                try:
                    seen.add(do())
                except ToolError as error:
                    seen.add(error.code)
    finally:
        stop.set()
        swapper.join()
    assert seen <= {"inside/made.txt", "outside_workspace", "not_found", "changed"}
    assert sorted(path.name for path in (tmp_path / "outside").iterdir()) == ["secret.txt"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tools: Tools, root: Path) -> None:
    with pytest.raises(ToolError, match="at most"):
        tools["write"]("inside/a.txt", "x" * (FileLimits().change_bytes + 1))
    assert (root / "inside" / "a.txt").read_text() == "a\n"
    assert sorted(path.name for path in (root / "inside").iterdir()) == ["a.txt", "chain2"]


def test_a_written_file_keeps_its_mode(tools: Tools, root: Path) -> None:
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    tools["edit"]("run.sh", "/bin/sh", "/bin/bash")
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o755


def test_descriptors_are_given_back(tools: Tools) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in WAYS_OUT:
        with pytest.raises(ToolError):
            tools["read"](path)
    tools["read"]("inside/a.txt")
    tools["write"]("deep/er/file.txt", "x")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("root", ["/nowhere/at/all", __file__])
def test_a_workspace_that_is_no_folder_is_refused(root: str) -> None:
    with pytest.raises(ConfigError, match="cannot be opened as a folder"):
        Workspace(root)


def test_a_closed_workspace_says_so(root: Path) -> None:
    workspace = Workspace(root)
    workspace.close()
    workspace.close()
    [read, *_] = file_tools(workspace)
    assert isinstance(read, FunctionTool)
    with pytest.raises(ToolError, match="The workspace is closed"):
        read.function("inside/a.txt")
