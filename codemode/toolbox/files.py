"""The file tools: read, write, edit, apply_patch. They see nothing but their workspace."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Annotated, Literal, TypedDict

import msgspec

from codemode.toolbox.apply_patch import apply
from codemode.toolbox.patches import read_patch
from codemode.toolbox.text_edits import replaced
from codemode.toolbox.workspace import Workspace
from codemode.tools import Tool, ToolError, tool

_Count = Annotated[int, msgspec.Meta(ge=1)]
_MAX_ENTRIES = 2_000


@dataclass(frozen=True, slots=True)
class FileLimits:
    read_bytes: int = 256 * 1024  # of text in one answer
    scan_bytes: int = 64 * 1024 * 1024  # passed over to get to a line
    change_bytes: int = 4 * 1024 * 1024  # of a file that is written or changed


class FolderEntry(TypedDict):
    name: str
    type: Literal["file", "folder", "link", "other"]
    bytes: int


class ReadResult(TypedDict, total=False):
    path: str
    text: str
    firstLine: int
    lastLine: int
    hasMore: bool
    bytes: int
    entries: list[FolderEntry]


class WriteResult(TypedDict):
    path: str
    bytes: int
    created: bool


class EditResult(TypedDict):
    path: str
    replacements: int


class PatchedFile(TypedDict):
    path: str
    action: Literal["added", "updated", "deleted", "moved"]
    added: int
    removed: int


class PatchResult(TypedDict):
    files: list[PatchedFile]


def file_tools(workspace: Workspace, limits: FileLimits | None = None) -> list[Tool]:
    bound = limits or FileLimits()

    def read(path: str, offset: _Count = 1, limit: _Count = 2_000) -> ReadResult:
        """Reads a text file by lines, or lists a folder.

        Args:
            path: Relative to the workspace; "." is the workspace itself.
            offset: The first line wanted, from 1.
            limit: How many lines at most.
        """
        with workspace.reading(path) as (descriptor, shown):
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                entries, more = _entries(descriptor)
                return {"path": shown, "entries": entries, "hasMore": more}
            text = _lines(descriptor, path, offset, limit, bound)
            return {"path": shown, "bytes": found.st_size, **text}

    def write(path: str, text: str) -> WriteResult:
        """Writes a text file whole: makes it, with missing folders, or replaces what it had.

        Args:
            path: Relative to the workspace.
            text: All of the file.
        """
        data = text.encode("utf-8", "surrogatepass")
        if len(data) > bound.change_bytes:
            raise ToolError(
                f"The text has {len(data)} bytes; at most {bound.change_bytes}.", code="too_large"
            )
        with workspace.changing:
            created = not workspace.exists(path)
            shown = workspace.replace(path, data)
        return {"path": shown, "bytes": len(data), "created": created}

    def edit(path: str, old_text: str, new_text: str, replace_all: bool = False) -> EditResult:
        """Replaces a passage of a text file; everything else stays as it is.

        Args:
            path: Relative to the workspace.
            old_text: Exactly as it is in the file, with its spaces and line ends; it must be there once.
            new_text: What comes in its place.
            replace_all: Replaces it wherever it is.
        """
        with workspace.changing:
            data, state, shown = workspace.read_bytes(path, bound.change_bytes)
            text, count = replaced(path, decoded(data, path), old_text, new_text, replace_all)
            changed = text.encode()
            if len(changed) > bound.change_bytes:
                told = f"{path} would have {len(changed)} bytes; at most {bound.change_bytes}."
                raise ToolError(told, code="too_large")
            workspace.replace(path, changed, was=state)
        return {"path": shown, "replacements": count}

    def apply_patch(patch: str) -> PatchResult:
        """Applies a patch to several files: all of it, or nothing.

        Takes a unified diff (`--- a/x`, `+++ b/x`, `@@`), or `*** Begin Patch`, `*** Update File: x` (or
        `*** Add File:`, `*** Delete File:`, `*** Move to:`), lines that begin with a space, `-` or `+`, and
        `*** End Patch`.

        Args:
            patch: The text of the patch.
        """
        if len(patch) > bound.change_bytes:
            raise ToolError(f"The patch is longer than {bound.change_bytes} characters.", code="too_large")
        changes = read_patch(patch)
        with workspace.changing:
            done = apply(workspace, changes, bound.change_bytes)
        return {
            "files": [
                {"path": one.path, "action": one.action, "added": one.added, "removed": one.removed}
                for one in done
            ]
        }

    return [
        tool(read, read_only=True, idempotent=True, required_permissions=["fs.read"]),
        tool(write, destructive=True, idempotent=True, required_permissions=["fs.write"]),
        tool(edit, destructive=True, required_permissions=["fs.write"]),
        tool(apply_patch, destructive=True, required_permissions=["fs.write"]),
    ]


def decoded(data: bytes, path: str) -> str:
    try:
        if b"\0" not in data:
            return data.decode()
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{path} is not text in UTF-8 ({len(data)} bytes).", code="not_text")


def _entries(descriptor: int) -> tuple[list[FolderEntry], bool]:
    found: list[FolderEntry] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if len(found) == _MAX_ENTRIES:
                return sorted(found, key=lambda one: one["name"]), True
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed since
            found.append(
                {"name": _shown_name(entry.name), "type": _type(about.st_mode), "bytes": about.st_size}
            )
    return sorted(found, key=lambda one: one["name"]), False


def _shown_name(name: str) -> str:
    """A name that is no UTF-8 is shown with question marks: JSON cannot carry it."""
    return name.encode("utf-8", "replace").decode()


def _type(mode: int) -> Literal["file", "folder", "link", "other"]:
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    return "link" if stat.S_ISLNK(mode) else "other"


def _lines(descriptor: int, path: str, first: int, count: int, bound: FileLimits) -> ReadResult:
    """Reads in blocks: a file of many gigabytes costs no more memory than what is shown of it."""
    line, passed, kept = 1, 0, bytearray()
    is_cut = False
    while block := os.read(descriptor, 1 << 20):
        at = 0
        if line < first:
            at, line = _skip(block, line, first)
            passed += len(block)
            if line < first:
                if passed > bound.scan_bytes:
                    raise ToolError(
                        f"Line {first} of {path} is behind its first {bound.scan_bytes} bytes; "
                        "a command can get at it.",
                        code="too_large",
                    )
                continue
        kept += block[at:]
        if kept.count(b"\n") > count or len(kept) > bound.read_bytes + 4:
            is_cut = True
            break
    if line < first and not kept:
        raise ToolError(f"{path} has {line} lines; line {first} is behind its end.", code="not_found")
    return _shown(bytes(kept), path, first, count, bound, is_cut)


def _skip(block: bytes, line: int, first: int) -> tuple[int, int]:
    at = 0
    while line < first:
        end = block.find(b"\n", at)
        if end < 0:
            return len(block), line
        at, line = end + 1, line + 1
    return at, line


def _shown(kept: bytes, path: str, first: int, count: int, bound: FileLimits, is_cut: bool) -> ReadResult:
    lines = kept.split(b"\n", count)
    rest = lines.pop() if len(lines) > count else b""
    more = is_cut or bool(rest)
    if not more and lines and not lines[-1]:
        lines.pop()  # the end of the last line is no line of its own
    text = b"\n".join(lines) + (b"\n" if lines and (rest or kept.endswith(b"\n")) else b"")
    if len(text) > bound.read_bytes:
        text = text[: bound.read_bytes].decode(errors="ignore").encode()
        whole = text.rfind(b"\n") + 1
        text, more = text[:whole] or text, True
    shown = decoded(text, path)
    return {
        "text": shown,
        "firstLine": first,
        "lastLine": first + max(shown.count("\n") - (1 if shown.endswith("\n") else 0), 0),
        "hasMore": more,
    }
