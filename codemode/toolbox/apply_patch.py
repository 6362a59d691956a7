"""Applies a patch: works out everything, then writes it; after a failure, puts back what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from codemode.toolbox.hunks import patched
from codemode.toolbox.patches import FileChange, refused
from codemode.toolbox.workspace import FileState, Workspace
from codemode.tools import ToolError


@dataclass(frozen=True, slots=True)
class Patched:
    path: str
    action: Literal["added", "updated", "deleted", "moved"]
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Step:
    """One file to write or remove, and what it was before."""

    path: str
    data: bytes | None
    was: FileState | None
    before: bytes | None


def apply(workspace: Workspace, changes: Sequence[FileChange], most: int) -> list[Patched]:
    """Raises ToolError, and then nothing is changed. The caller holds `workspace.changing`."""
    steps: list[_Step] = []
    done: list[Patched] = []
    for change in changes:
        made, result = _plan(workspace, change, most)
        steps += made
        done.append(result)
    _write(workspace, steps)
    return done


def _plan(workspace: Workspace, change: FileChange, most: int) -> tuple[list[_Step], Patched]:
    path = change.path
    if change.action == "add":
        if workspace.exists(path):
            raise refused(f"{path} exists already; update it instead.", None)
        _check_protected(workspace, path)
        end = "" if change.no_newline or not change.text else "\n"
        data = ("\n".join(change.text) + end).encode("utf-8", "surrogatepass")
        _check_size(path, data, most)
        return [_Step(path, data, None, None)], Patched(path, "added", len(change.text), 0)
    try:
        before, was, shown = workspace.read_bytes(path, most)
    except ToolError as error:
        raise refused(str(error), None) from None
    _check_writable(workspace, shown)
    if change.action == "delete":
        if change.hunks:
            patched(path, _text(before, path), change.hunks)
        return [_Step(path, None, was, before)], Patched(path, "deleted", 0, before.count(b"\n"))
    text = _text(before, path)
    after = patched(path, text, change.hunks) if change.hunks else text
    data = after.encode("utf-8", "surrogatepass")
    _check_size(path, data, most)
    added = sum(len(hunk.new) for hunk in change.hunks)
    removed = sum(len(hunk.old) for hunk in change.hunks)
    kept = sum(len(hunk.context) for hunk in change.hunks)
    if change.moved_to is None:
        if data == before:
            raise refused(f"it does not change {path}.", None)
        return [_Step(path, data, was, before)], Patched(path, "updated", added - kept, removed - kept)
    if workspace.exists(change.moved_to):
        raise refused(f"{change.moved_to} exists already.", None)
    _check_protected(workspace, change.moved_to)
    moved = [_Step(change.moved_to, data, None, None), _Step(path, None, was, before)]
    return moved, Patched(change.moved_to, "moved", added - kept, removed - kept)


def _write(workspace: Workspace, steps: list[_Step]) -> None:
    written: list[_Step] = []
    try:
        for step in steps:
            if step.data is None:
                workspace.remove(step.path, was=step.was)
            else:
                workspace.replace(step.path, step.data, was=step.was, is_new=step.before is None)
            written.append(step)
    except ToolError as error:
        left = [step.path for step in reversed(written) if not _put_back(workspace, step)]
        if left:
            told = f"{error} What was written could not be taken back in: {', '.join(left)}."
            raise ToolError(told, code="partly_applied") from None
        raise refused(str(error), None) from None


def _put_back(workspace: Workspace, step: _Step) -> bool:
    try:
        if step.before is None:
            workspace.remove(step.path)
        else:
            workspace.replace(step.path, step.before)
    except ToolError:
        return False
    return True


def _text(data: bytes, path: str) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise refused(f"{path} is not text in UTF-8.", None)


def _check_protected(workspace: Workspace, path: str) -> None:
    _check_writable(workspace, workspace.relative(path).lstrip("/"))


def _check_writable(workspace: Workspace, shown: str) -> None:
    try:
        workspace.check_writable(shown)
    except ToolError as error:
        raise refused(str(error), None) from None


def _check_size(path: str, data: bytes, most: int) -> None:
    if len(data) > most:
        raise refused(f"{path} would have {len(data)} bytes; at most {most}.", None)
