"""What `codemode` exports: each name once, loaded when it is used, and all that guides import."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import codemode
from tests.docs_page import read_blocks

PROJECT = Path(__file__).resolve().parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]
EXAMPLES = sorted((PROJECT / "examples").rglob("*.py"))
# Adapters load a framework each, so they are imported by name; the persistence plane is a package of its own.
PUBLIC = re.compile(
    r"codemode|codemode\.adapters(\.\w+)?|codemode\.(toolbox|cluster\.ray)|codemode_snapshots(\.\w+)?"
)


def test_every_exported_name_is_there_and_is_listed() -> None:
    for name in codemode.__all__:
        assert getattr(codemode, name) is not None
    assert sorted(set(codemode.__all__)) == sorted(codemode.__all__)
    homes: dict[str, str] = vars(codemode)["_NAMES"]
    assert set(codemode.__all__) == {name for own in homes.values() for name in own.split()}


@pytest.mark.parametrize(
    "name", ["ERRORS", "CALL_ERRORS", "ErrorCode", "Approve", "Audit", "OnWaiting", "Redactor", "Provider"]
)
def test_what_is_for_annotations_and_look_ups_is_there_too(name: str) -> None:
    assert getattr(codemode, name) is not None


def test_events_are_a_module_of_their_own_as_well() -> None:
    assert codemode.events.RunStarted is codemode.RunStarted
    assert codemode.Event.__args__ == codemode.events.Event.__args__


def test_the_version_is_that_of_the_installed_package() -> None:
    assert codemode.__version__ == importlib.metadata.version("codemode")


def test_a_source_tree_that_is_not_installed_has_a_version_too(tmp_path: Path) -> None:
    (tmp_path / "codemode").symlink_to(PROJECT / "codemode")
    where = f"import sys; sys.path.insert(0, {str(tmp_path)!r})"
    assert printed("-I", "-S", "-c", f"{where}; import codemode; print(codemode.__version__)") == "0+source"


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'codemode' has no attribute 'Enigne'"):
        _ = codemode.Enigne  # pyright: ignore[reportAttributeAccessIssue] - that it fails is the point


def test_importing_a_type_loads_no_engine() -> None:
    code = "import sys; from codemode import Scope, RunInfo; print('codemode.engine' in sys.modules)"
    assert printed("-c", code) == "False"


def printed(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.relative_to(PROJECT).as_posix())
def test_what_a_reader_sees_imports_nothing_from_inside(path: Path) -> None:
    if path.suffix == ".py":
        codes = [path.read_text()]
    else:
        shown = re.sub(r"^<!--python\n.*?^-->$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        codes = [block.code for block in read_blocks(shown) if block.kind == "python"]
    assert [module for code in codes for module in imported(code) if not PUBLIC.fullmatch(module)] == []


def imported(code: str) -> Iterator[str]:
    """The modules of ours that a text imports."""
    for node in ast.walk(compile_only(code)):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        yield from (name for name in names if name.split(".")[0].startswith("codemode"))


def compile_only(code: str) -> ast.Module:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return compile(code, "<page>", "exec", flags=flags)
