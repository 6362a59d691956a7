"""`--tools`: loading tools from `module:attribute` or `file.py:attribute`. Runs the user's own module."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from codemode.cli.errors import CommandError
from codemode.nearest import did_you_mean
from codemode.tools import Tool, ToolDefinitionError, as_tool
from codemode.trajectory.debug_log import where


def load_tools(specs: list[str]) -> list[Tool]:
    """In the order given; the same tool named twice is one. Raises CommandError."""
    found: dict[int, Tool] = {}
    for spec in specs:
        found.update((id(tool), tool) for tool in _load(spec))
    return list(found.values())


def _load(spec: str) -> list[Tool]:
    place, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    if not place:
        raise CommandError(
            f"--tools {spec}: name a module or a file, such as shop:tools or tools/shop.py:tools"
        )
    module = _import_file(spec, Path(place)) if place.endswith(".py") else _import_module(spec, place)
    if not attribute:
        return _decorated(spec, module)
    value: Any = module
    for name in attribute.split("."):
        if not hasattr(value, name):
            known = [known for known in dir(value) if not known.startswith("_")]
            raise CommandError(f"--tools {spec}: {place} has no {name}.{did_you_mean(name, known)}")
        value = getattr(value, name)
    return _as_tools(spec, value)


def _as_tools(spec: str, value: Any) -> list[Tool]:
    is_several = isinstance(value, list | tuple | set | frozenset)
    several = cast("Collection[Any]", value) if is_several else (value,)
    try:
        return [as_tool(item) for item in several]
    except ToolDefinitionError as error:
        raise CommandError(f"--tools {spec}: {error}") from None


def _decorated(spec: str, module: ModuleType) -> list[Tool]:
    """Without an attribute: whatever the module made with @tool."""
    found = [value for value in vars(module).values() if isinstance(value, Tool)]
    if not found:
        raise CommandError(
            f"--tools {spec}: nothing in it is made with @tool; name what you mean, as in {spec}:my_tools"
        )
    return found


def _import_module(spec: str, name: str) -> ModuleType:
    # a command started by its entry point does not look where it was called, as `python -m` does
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise _cannot_import(spec, error) from error


def _import_file(spec: str, path: Path) -> ModuleType:
    if not path.is_file():
        raise CommandError(f"--tools {spec}: there is no file {path}")
    name = f"codemode_tools_{path.stem}"
    located = spec_from_file_location(name, path)
    assert located is not None, "a .py file has a loader"
    assert located.loader is not None, "a .py file has a loader"
    module = module_from_spec(located)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # hints in it are resolved through this
    try:
        located.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _cannot_import(spec, error) from error
    return module


def _cannot_import(spec: str, error: Exception) -> CommandError:
    return CommandError(f"--tools {spec}: cannot be imported: {where(error)}: {error}")
