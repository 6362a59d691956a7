"""What importing a plane brings in, seen in a fresh interpreter."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.processes import MEASURED, python

# Each loads a framework of the user's choice, with whatever that loads; nothing of ours imports them.
FRAMEWORKS = (
    *(f"codemode.adapters.{name}" for name in ("fastmcp", "langchain", "openai_agents", "pydantic_ai")),
    "codemode.cluster.ray",
)
# Imports the package and then everything in it, and prints what is loaded after each of the two.
PROGRAM = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
print(*sys.modules)
for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
    if not found.name.endswith("__main__") and found.name not in sys.argv[2:]:
        importlib.import_module(found.name)
print(*sys.modules)
"""


def loaded_by(package: str) -> tuple[set[str], set[str]]:
    """The modules after importing the package, and after importing each of its modules too."""
    done = python("-c", PROGRAM, package, *FRAMEWORKS, without=MEASURED)
    assert done.stderr == ""
    alone, whole = done.stdout.splitlines()
    return set(alone.split()), set(whole.split())


@pytest.mark.guarantee("planes-are-separate")
@pytest.mark.parametrize(
    ("package", "others"),
    [
        ("codemode_runtime", {"codemode", "codemode_snapshots"}),
        ("codemode_snapshots", {"codemode", "codemode_runtime"}),
    ],
)
def test_a_lower_plane_loads_nothing_of_the_others(package: str, others: set[str]) -> None:
    alone, whole = loaded_by(package)
    assert package in alone
    assert {name.split(".")[0] for name in whole} & others == set()


@pytest.mark.guarantee("host-stays-light")
def test_importing_codemode_loads_no_engine_no_parser_and_no_compressor() -> None:
    alone, whole = loaded_by("codemode")
    heavy = {"wasmtime", "tree_sitter", "tree_sitter_javascript", "zstandard"}
    assert "codemode" in alone
    assert whole & {*heavy, *FRAMEWORKS} == set()


# Loaded by the first who needs them: for a failure, a search, a prompt, a store in a file, a call.
LATER = {
    "codemode.catalog.search",
    "codemode.executor.unfolding",
    "codemode.failures",
    "codemode.mcp.link",
    "codemode.namespaces",
    "codemode.surface",
    "codemode.tool_search",
    "codemode.trajectory.tree",
    "concurrent.futures.thread",
    "ctypes",
    "json",
    "jsonschema_rs",
    "mcp",
    "pydantic",
    "sqlite3",
}
FIRST_RUN = """
import asyncio, sys
from codemode import Engine
print(*sys.modules)
async def main():
    async with Engine() as engine:
        assert (await engine.exec("text('hello'); return 1")).unwrap() == 1
asyncio.run(main())
print(*sys.modules)
"""


@pytest.mark.guarantee("host-stays-light")
def test_neither_importing_the_engine_nor_a_first_run_loads_what_they_do_not_need() -> None:
    done = python("-c", FIRST_RUN, without=MEASURED)
    assert done.stderr == ""
    imported, ran = (set(line.split()) for line in done.stdout.splitlines())
    assert imported & LATER == set()
    # processors and layers of confinement are looked at through ctypes, while the first zygote starts
    assert ran & LATER == {"ctypes"}


def test_what_the_host_imports_from_the_runtime_is_what_the_architecture_says() -> None:
    project = Path(__file__).parents[1]
    imported = {name for path in (project / "codemode").rglob("*.py") for name in runtime_modules_of(path)}
    page = (project / "ARCHITECTURE.md").read_text()
    (said,) = re.findall(r"only what has no WebAssembly in it: (.*?)\.\s", page, re.DOTALL)
    assert re.findall(r"`([\w.]+)`", said) == sorted(imported)


def runtime_modules_of(path: Path) -> Iterator[str]:
    for found in ast.walk(ast.parse(path.read_text())):
        if not isinstance(found, ast.ImportFrom) or found.module is None:
            continue
        package, _, module = found.module.partition(".")
        if package == "codemode_runtime":
            yield from [module] if module else [alias.name for alias in found.names]
