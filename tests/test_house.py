"""The shape of the house: which modules lie where, who may write what, and one meaning for a class name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from codemode.runs.phases import Active, Ended, Running, Suspended
from codemode.runs.run import Run
from codemode.runs.work import Work

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = ("codemode", "runtime/codemode_runtime", "snapshots/codemode_snapshots")
LOOSE = {"engine", "blocking", "loop_thread", "health", "nearest", "clock"}
# The run and what it is made of: each may write its own fields.
OWN = {
    "codemode/runs/run.py": {
        *Run.__slots__,
        *Active.__slots__,
        *Suspended.__struct_fields__,
        *Running.__struct_fields__,
    },
    "codemode/runs/phases.py": {*Active.__slots__, *Ended.__struct_fields__},
    "codemode/runs/work.py": set(Work.__struct_fields__),
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package in PACKAGES:
        for path in sorted((PROJECT / package).rglob("*.py")):
            yield str(path.relative_to(PROJECT)), ast.parse(path.read_text())


def test_only_the_front_doors_and_two_helpers_lie_loose_in_the_package() -> None:
    found = {path.stem for path in (PROJECT / "codemode").glob("*.py")} - {"__init__", "__main__"}
    assert found == LOOSE


def test_no_module_but_its_own_assigns_to_a_field_of_a_run_or_of_what_it_waits_for() -> None:
    fields = {name for names in OWN.values() for name in names} - {"id", "name", "tool"}
    written = [
        f"{path}:{target.lineno} {ast.unparse(target)}"
        for path, tree in modules()
        for target in assigned_attributes(tree)
        if is_of_a_run(target) and target.attr in fields and target.attr not in OWN.get(path, set())
    ]
    assert written == []


def assigned_attributes(tree: ast.Module) -> Iterator[ast.Attribute]:
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=targets):
                found = targets
            case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
                found = [target]
            case ast.Delete(targets=targets):
                found = targets
            case _:
                continue
        for target in found:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
                    yield part


def is_of_a_run(target: ast.Attribute) -> bool:
    """`run.x`, `self._run.x`, `leg.run.x`, `work.x`, `run.active.x`: what is called so, or hangs off it."""
    words = ast.unparse(target.value).replace("self._", "").split(".")
    return bool({"run", "work", "adopted", "active", "phase"} & set(words))


def test_the_check_above_sees_what_it_is_for() -> None:
    for line in (
        "run.caller_task = 1",
        "self._run.trace = 1",
        "work.approval, x = 1, 2",
        "del leg.run.origin",
    ):
        (target,) = assigned_attributes(ast.parse(line))
        assert is_of_a_run(target), line


def test_no_class_overrides_a_private_method_of_a_class_from_another_module() -> None:
    methods: dict[str, tuple[str, set[str]]] = {}
    bases: list[tuple[str, str, list[str]]] = []
    for path, tree in modules():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            methods[node.name] = (path, private_methods(node))
            bases.append((path, node.name, [base.id for base in node.bases if isinstance(base, ast.Name)]))
    overridden = [
        f"{path}: {name} overrides {base}.{method}"
        for path, name, parents in bases
        for base in parents
        if base in methods and methods[base][0] != path
        for method in methods[name][1] & methods[base][1]
    ]
    assert overridden == []


def private_methods(node: ast.ClassDef) -> set[str]:
    functions = (item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef))
    return {item.name for item in functions if item.name.startswith("_") and not item.name.startswith("__")}


# What a tool returns, under the name that its author expects; and the guest's own.
TWO_IMAGES = {"Image"}


def test_a_class_name_has_one_meaning_in_all_three_packages() -> None:
    names: dict[str, list[str]] = {}
    for path, tree in modules():
        for node in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
            names.setdefault(node.name, []).append(path)
    twice = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert {name: twice[name] for name in twice.keys() - TWO_IMAGES} == {}


def test_an_upper_limit_is_called_max_wherever_it_is_a_constant() -> None:
    found = [f"{path} {name}" for path, tree in modules() for name in odd_limits(tree)]
    assert found == []


def odd_limits(tree: ast.Module) -> list[str]:
    others = {"LONGEST", "MOST", "LARGEST", "DEEPEST", "MAXIMUM"}
    return [name for name in constants(tree) if others & set(name.split("_"))]


def constants(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def test_the_check_above_sees_each_spelling_of_a_limit() -> None:
    tree = ast.parse("_LONGEST = 1\nMOST_CALLS: int = 2\nMAX_CALLS = 3\nalmost = 4")
    assert odd_limits(tree) == ["_LONGEST", "MOST_CALLS"]
