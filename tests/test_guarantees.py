"""Promises and tests agree: each guarantee has a test, and each marker names a guarantee.

Reads the sources instead of asking pytest, so that it also holds when only a part of the suite runs.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.guarantees import GUARANTEES

TESTS = Path(__file__).resolve().parent


def test_each_guarantee_has_a_test() -> None:
    shown = {name for _, name in markers()}
    assert sorted(GUARANTEES.keys() - shown) == []


def test_each_marker_names_a_guarantee() -> None:
    assert [(where, name) for where, name in markers() if name not in GUARANTEES] == []


def test_each_guarantee_is_one_sentence() -> None:
    assert [text for text in GUARANTEES.values() if not text.endswith(".") or ". " in text] == []


def markers() -> Iterator[tuple[str, str]]:
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                for decorator in node.decorator_list:
                    name = guarantee(decorator)
                    if name is not None:
                        yield f"{path.relative_to(TESTS)}::{node.name}", name


def guarantee(decorator: ast.expr) -> str | None:
    match decorator:
        case ast.Call(func=ast.Attribute(attr="guarantee"), args=[ast.Constant(value=str(name))]):
            return name
        case ast.Call(func=ast.Attribute(attr="guarantee")):
            return f"not a plain string: {ast.unparse(decorator)}"
        case _:
            return None
