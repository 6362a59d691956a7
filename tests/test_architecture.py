"""The map is the land: what ARCHITECTURE.md names exists, and its chains are called in the order it gives."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from types import FrameType

import pytest

from tests.harness.engine import engine, value_of, waiting
from tests.harness.processes import PROJECT
from tests.test_house import modules

PAGE = (PROJECT / "ARCHITECTURE.md").read_text()
_METHOD = re.compile(r"\b([A-Z][A-Za-z]+)\.(?!md\b)(\w+)")
_FILE = re.compile(r"[\w/]*\w\.(?:py|c)\b")
_FOLDER = re.compile(r"(?<![\w/])(?:\w+/)+(?!\w)")


class Hook:
    """Makes the executor ask hooks, as the page says that it does."""

    def before_tool_call(self, event: object) -> None: ...


def test_each_file_and_folder_on_the_map_exists() -> None:
    folders = [PROJECT / name for name in ("codemode", "runtime", "snapshots", "tests", "docs")]
    known = [path for folder in folders for path in folder.rglob("*")]
    files = {"/" + path.relative_to(PROJECT).as_posix() for path in known}
    named = {*_FILE.findall(PAGE), *(folder.rstrip("/") for folder in _FOLDER.findall(PAGE))}

    assert len(named) > 40
    roots = {folder.name for folder in folders}
    assert [n for n in sorted(named) if n not in roots and not any(f.endswith(f"/{n}") for f in files)] == []


def test_each_method_on_the_map_exists() -> None:
    classes = {
        node.name: node for _, tree in modules() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    }

    def has(name: str, method: str) -> bool:
        node = classes.get(name)
        if node is None:
            return False
        own = {part.name for part in node.body if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
        return method in own or any(has(ast.unparse(base), method) for base in node.bases)

    named = methods(PAGE)
    assert len(named) > 40
    assert [
        f"{name}.{method}" for name, method in (n.split(".") for n in named) if not has(name, method)
    ] == []


async def test_an_exec_a_call_a_suspension_and_a_wait_take_the_way_on_the_map() -> None:
    async with engine(hooks=Hook()) as made:
        with calls_seen() as seen:
            assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1
        assert missing(methods(between("Engine.exec  ", "```")), seen) == []
        assert missing(methods(between("**A nested call.**", "\n\n")), seen) == []

        with calls_seen() as seen:
            run = waiting(await made.exec('await yield_control("a pause"); return 2'))
        assert missing(methods(between("**A suspension.**", "\n\n")), seen) == []

        with calls_seen() as seen:
            assert value_of(await made.wait(run.run_id)) == 2
        assert missing(methods(between("**A wait.**", "\n\n")), seen) == []


@pytest.mark.parametrize("names", [["Engine.wait"], ["Engine.exec", "Leg.lead", "Run.started"]])
async def test_the_check_above_sees_a_step_that_is_not_taken_or_comes_too_early(names: list[str]) -> None:
    async with engine() as made:
        with calls_seen() as seen:
            await made.exec("return 1")
    assert missing(names, seen) == names[-1:]


def between(start: str, end: str) -> str:
    found = PAGE[PAGE.index(start) :]
    return found[: found.index(end)]


def methods(text: str) -> list[str]:
    return [f"{name}.{method}" for name, method in _METHOD.findall(text)]


def missing(names: Iterable[str], seen: list[str]) -> list[str]:
    """The names that are not called after the one before."""
    at, lost = 0, list[str]()
    for name in names:
        if name in seen[at:]:
            at = seen.index(name, at) + 1
        else:
            lost.append(name)
    return lost


@contextmanager
def calls_seen() -> Generator[list[str]]:
    seen: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            seen.append(frame.f_code.co_qualname)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(before)
