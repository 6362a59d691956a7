"""memory_search and memory_get: notes in Markdown files, `MEMORY.md` and all below `memory/`.

A note is a section of a file: a heading and what stands below it. Sections are ranked by the words that they
share with the question, rare words counting more; the words are those of the tool search.
"""

from __future__ import annotations

import math
import os
import stat
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated, TypedDict

import msgspec

from codemode.catalog.words import terms
from codemode.toolbox.workspace import FileState, Workspace
from codemode.tools import Tool, ToolError, tool

_FILE, _FOLDER = "MEMORY.md", "memory"
_MAX_FILES = 2_000
_MAX_DEPTH = 8
_MAX_FILE_BYTES = 1024 * 1024
_MAX_BYTES = 16 * 1024 * 1024
_MAX_SECTION = 4_000  # characters of a section that are ranked as one; a longer one is several
_MAX_SHOWN = 600
_HEADING_WEIGHT = 3

_Hits = Annotated[int, msgspec.Meta(ge=1, le=20)]
_Line = Annotated[int, msgspec.Meta(ge=1)]
_Lines = Annotated[int, msgspec.Meta(ge=1, le=2_000)]


class MemoryHit(TypedDict):
    path: str
    line: int
    heading: str
    text: str
    score: float


class MemoryHits(TypedDict):
    hits: list[MemoryHit]
    files: int


class MemoryText(TypedDict):
    path: str
    text: str
    firstLine: int
    hasMore: bool


@dataclass(frozen=True, slots=True)
class _Note:
    path: str
    line: int
    heading: str
    text: str
    counts: Counter[str]
    length: int


class _Notes:
    """Reads the files again only where they changed."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, tuple[FileState, list[_Note]]] = {}

    def sections(self) -> tuple[list[_Note], int]:
        found: dict[str, tuple[FileState, list[_Note]]] = {}
        size = 0
        for path in self._paths():
            read = self._read(path)
            if read is None or size + read[0].size > _MAX_BYTES:
                continue
            size += read[0].size
            found[path] = read
        self._known = found
        return [section for _, own in found.values() for section in own], len(found)

    def _read(self, path: str) -> tuple[FileState, list[_Note]] | None:
        try:
            with self._workspace.reading(path) as (descriptor, shown):
                about = os.fstat(descriptor)
                state = FileState.of(about)
                known = self._known.get(path)
                if known is not None and known[0] == state:
                    return known
                is_readable = stat.S_ISREG(about.st_mode) and about.st_size <= _MAX_FILE_BYTES
                if not is_readable or not _is_note(shown):
                    return None
                data = os.read(descriptor, _MAX_FILE_BYTES)
        except ToolError:
            return None  # gone meanwhile, or a link that leads outside
        return state, list(_split(path, data.decode("utf-8", "replace")))

    def _paths(self) -> Iterator[str]:
        yield _FILE
        left, folders = _MAX_FILES, [(_FOLDER, 0)]
        while folders and left > 0:
            folder, depth = folders.pop()
            try:
                with self._workspace.reading(folder) as (descriptor, _):
                    names = sorted(
                        (entry.name, entry.is_dir(follow_symlinks=False)) for entry in os.scandir(descriptor)
                    )
            except (ToolError, NotADirectoryError):
                continue
            for name, is_folder in names:
                if is_folder and depth < _MAX_DEPTH:
                    folders.append((f"{folder}/{name}", depth + 1))
                elif name.lower().endswith(".md") and left > 0:
                    left -= 1
                    yield f"{folder}/{name}"


def _is_note(shown: str) -> bool:
    """By where a path leads, after all links."""
    return shown == _FILE or (shown.startswith(f"{_FOLDER}/") and shown.lower().endswith(".md"))


def _split(path: str, text: str) -> Iterator[_Note]:
    heading, first, lines, size, is_code = "", 1, list[str](), 0, False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= line.lstrip().startswith("```")
        is_heading = line.startswith("#") and not is_code
        if is_heading or size > _MAX_SECTION:
            yield from _section(path, first, heading, lines)
            first, lines, size = number, [], 0
        if is_heading:
            heading = line.lstrip("#").strip()
        lines.append(line[:_MAX_SECTION])
        size += len(line)
    yield from _section(path, first, heading, lines)


def _section(path: str, line: int, heading: str, lines: list[str]) -> Iterator[_Note]:
    text = "\n".join(lines).strip()
    if text:
        counts = Counter(terms(text))
        for word in terms(f"{heading} {path.removesuffix('.md')}"):
            counts[word] += _HEADING_WEIGHT
        yield _Note(path, line, heading, text, counts, counts.total())


def _ranked(sections: list[_Note], query: str, most: int) -> list[tuple[float, _Note]]:
    """BM25."""
    wanted = set(terms(query))
    average = sum(one.length for one in sections) / max(len(sections), 1)
    held = Counter(word for one in sections for word in wanted & one.counts.keys())
    found: list[tuple[float, _Note]] = []
    for one in sections:
        score = 0.0
        for word in wanted & one.counts.keys():
            rarity = math.log(1 + (len(sections) - held[word] + 0.5) / (held[word] + 0.5))
            often = one.counts[word]
            score += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * one.length / average))
        if score > 0:
            found.append((score, one))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].path, pair[1].line))[:most]


def memory_tools(workspace: Workspace) -> list[Tool]:
    notes = _Notes(workspace)

    def memory_search(query: str, limit: _Hits = 5) -> MemoryHits:
        """Searches the notes of this workspace: MEMORY.md and the Markdown files below memory/.

        Args:
            query: A question or a few words.
            limit: How many notes at most.
        """
        sections, files = notes.sections()
        return {
            "hits": [
                {
                    "path": one.path,
                    "line": one.line,
                    "heading": one.heading,
                    "text": one.text[:_MAX_SHOWN],
                    "score": round(score, 3),
                }
                for score, one in _ranked(sections, query, limit)
            ],
            "files": files,
        }

    def memory_get(path: str, line: _Line = 1, lines: _Lines = 200) -> MemoryText:
        """Reads a note that memory_search found.

        Args:
            path: From a hit.
            line: The first line wanted.
            lines: How many lines at most.
        """
        data, _, shown = workspace.read_bytes(path, _MAX_FILE_BYTES)
        if not _is_note(shown):
            raise ToolError(
                f"{path[:200]!r} is not a note: notes are {_FILE} and .md files below {_FOLDER}/.",
                code="not_found",
            )
        every = data.decode("utf-8", "replace").splitlines(keepends=True)
        part = every[line - 1 : line - 1 + lines]
        return {
            "path": shown,
            "text": "".join(part),
            "firstLine": line,
            "hasMore": line - 1 + len(part) < len(every),
        }

    reads = partial(tool, read_only=True, idempotent=True, required_permissions=["fs.read"])
    return [reads(memory_search), reads(memory_get)]
