"""Loads `--tools` and `--namespaces` from `module:attribute` or `file.py:attribute`.

Importing runs the user's own module.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Collection, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from codemode.cli.errors import CommandError
from codemode.nearest import did_you_mean
from codemode.tools import Tool, ToolDefinitionError, as_tool
from codemode.trajectory.debug_log import where


def load_tools(specs: list[str]) -> list[Tool]:
    """The tools in the order given; a tool named twice counts once. Raises CommandError."""
    found: dict[int, Tool] = {}
    for spec in specs:
        found.update((id(tool), tool) for tool in _load(spec))
    return list(found.values())


def load_namespaces(specs: list[str]) -> dict[str, list[Any]]:
    """The namespaces by plugin id. The engine checks what is in them. Raises CommandError."""
    found: dict[str, list[Any]] = {}
    for spec in specs:
        _, value = _read("--namespaces", spec)
        if not isinstance(value, Mapping):
            raise CommandError(f"--namespaces {spec}: must be an object: plugin id to a list of namespaces")
        for plugin_id, own in cast("Mapping[str, Any]", value).items():
            several = cast("list[Any]", own) if isinstance(own, list | tuple) else [own]
            found.setdefault(plugin_id, []).extend(several)
    return found


def _load(spec: str) -> list[Tool]:
    module, value = _read("--tools", spec)
    return _decorated(spec, module) if value is module else _as_tools(spec, value)


def _read(option: str, spec: str) -> tuple[ModuleType, Any]:
    """The module and the value of the attribute; without an attribute the module itself."""
    place, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    if not place:
        raise CommandError(
            f"{option} {spec}: name a module or a file, such as shop:tools or tools/shop.py:tools"
        )
    load = _import_file if place.endswith(".py") else _import_module
    module = load(f"{option} {spec}", place)
    value: Any = module
    for name in attribute.split(".") if attribute else ():
        if not hasattr(value, name):
            known = [known for known in dir(value) if not known.startswith("_")]
            raise CommandError(f"{option} {spec}: {place} has no {name}.{did_you_mean(name, known)}")
        value = getattr(value, name)
    return module, value


def _as_tools(spec: str, value: Any) -> list[Tool]:
    is_several = isinstance(value, list | tuple | set | frozenset)
    several = cast("Collection[Any]", value) if is_several else (value,)
    try:
        return [as_tool(item) for item in several]
    except ToolDefinitionError as error:
        raise CommandError(f"--tools {spec}: {error}") from None


def _decorated(spec: str, module: ModuleType) -> list[Tool]:
    """For a spec without an attribute: everything that the module made with @tool."""
    found = [value for value in vars(module).values() if isinstance(value, Tool)]
    if not found:
        raise CommandError(
            f"--tools {spec}: nothing in it is made with @tool; name what you mean, as in {spec}:my_tools"
        )
    return found


def _import_module(asked: str, name: str) -> ModuleType:
    # unlike `python -m`, a command started by its entry point does not search the current folder
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        raise _cannot_import(asked, error) from error


def _import_file(asked: str, place: str) -> ModuleType:
    path = Path(place)
    if not path.is_file():
        raise CommandError(f"{asked}: there is no file {path}")
    name = f"codemode_tools_{path.stem}"
    loaded = sys.modules.get(name)
    if loaded is not None and loaded.__file__ == str(path):
        return loaded  # loaded once, so that its namespaces mean the same tools
    located = spec_from_file_location(name, path)
    assert located is not None, "a .py file has a loader"
    assert located.loader is not None, "a .py file has a loader"
    module = module_from_spec(located)
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    sys.modules[name] = module  # Python resolves the module's type hints through it
    try:
        located.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise _cannot_import(asked, error) from error
    return module


def _cannot_import(asked: str, error: Exception) -> CommandError:
    return CommandError(f"{asked}: cannot be imported: {where(error)}: {error}")
