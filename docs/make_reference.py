"""Writes docs/reference.md and the settings tables of other pages: `python docs/make_reference.py`.

The reference has signatures and docstrings of the public names and the tables of configuration, error codes
and events. With --check nothing is written: the pages that are stale are printed, and a test runs that. So
change the code or the words here, never what this makes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tables import fill_tables, settings_table

import codemode
from codemode.config import CodeModeConfig, EngineSettings, ToolSearchConfig
from codemode.contract import events
from codemode.contract.error_codes import ERRORS

FOLDER = Path(__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef
_WIDTH = 100

# Where codemode/__init__.py does not reach: each module is imported by who needs it.
ADAPTERS = {
    "codemode.adapters": ("prepare_tools", "ModelTools", "ModelAnswer"),
    "codemode.adapters.raw": ("declare", "answer_calls", "converse", "Conversation", "TurnLimit"),
}
# Read and not imported: the frameworks they load take seconds.
SHELLS = {
    "pydantic_ai": "CodeModeToolset",
    "langchain": "as_langchain",
    "openai_agents": "as_openai_agents",
    "fastmcp": "code_mode",
}
# Their fields are the tables above.
IN_TABLES = {
    "CodeModeConfig": "See [configuration](#configuration).",
    "EngineSettings": "See [settings](#settings).",
}


def render() -> str:
    parts = [
        "# Reference",
        "Made from the code by `python docs/make_reference.py`; edit that, not this page.",
        "## Configuration",
        "`Engine(config=...)`: `true`, `false` or an object, `tools.codeMode` in a host's document. Numbers "
        "are clamped; unknown keys and wrong types are a `ConfigError`.",
        settings_table(CodeModeConfig),
        "## Settings",
        "`Engine(settings=...)`: how the engine works, which no program can see.",
        settings_table(EngineSettings),
        "## Tool Search",
        "`engine.tool_search(...)`: `true`, `false` or an object, `tools.toolSearch` in a host's document. "
        "See [Tool Search](tool-search.md).",
        settings_table(ToolSearchConfig),
        "## Error codes",
        "`result.code` of a failed result. The texts are in [errors](guides/errors.md); the suggestion is in "
        "`to_envelope(result)`.",
        _errors(),
        "## Events",
        "What `engine.events()` yields. Attributes are snake_case, the keys of `to_dict()` camelCase; all "
        "have `run_id` and `at_ms` (wall time since 1970).",
        _events(),
        "## codemode",
        *(_entry(name, getattr(codemode, name)) for name in codemode.__all__),
    ]
    for module, names in ADAPTERS.items():
        found = importlib.import_module(module)
        parts += [f"## {module}", *(_entry(name, getattr(found, name)) for name in names)]
    parts += [_shell(module, name) for module, name in SHELLS.items()]
    return "\n\n".join(parts) + "\n"


def _errors() -> str:
    rows = ["| code | phase | recoverable | suggestion |", "|---|---|---|---|"]
    for code, facts in ERRORS.items():
        recoverable = "yes" if facts.recoverable else "no"
        rows.append(
            f"| [`{code}`](guides/errors.md#{code}) | {facts.phase} | {recoverable} | {facts.suggestion} |"
        )
    return "\n".join(rows)


def _events() -> str:
    rows = ["| type | class | own fields | |", "|---|---|---|---|"]
    for kind in events.Event.__args__:
        own = [name for name in kind.__struct_fields__ if name not in ("run_id", "at_ms")]
        fields = ", ".join(f"`{name}`" for name in own)
        rows.append(f"| `{kind.type}` | `{kind.__name__}` | {fields} | {_doc(_source(kind))} |")
    return "\n".join(rows)


def _entry(name: str, found: Any) -> str:
    if not inspect.isclass(found) and not inspect.isroutine(found):
        return re.sub(r"codemode\.contract\.\w+\.", "", f"### {name}\n\n`{found}`")
    written = _source(found)
    head = ["```text", _head(name, written, _names(found)), "```"]
    lines = [f"### {name}", "", _doc(written), "", *([IN_TABLES[name]] if name in IN_TABLES else head), ""]
    if inspect.isclass(found):
        lines += [_member(member, owner) for member, owner in _public(found)]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip()


def _shell(module: str, name: str) -> str:
    path = Path(codemode.__file__).parent / "adapters" / f"{module}.py"
    body = ast.parse(path.read_text()).body
    (written,) = [part for part in body if isinstance(part, Definition) and part.name == name]
    return f"## codemode.adapters.{module}\n\n```text\n{_head(name, written, {})}\n```"


def _source(found: Any) -> Definition:
    """As it is written: annotations and defaults read better there than evaluated."""
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
    assert isinstance(written, Definition)
    return written


def _names(found: Any) -> Mapping[str, Any]:
    return vars(sys.modules[found.__module__])


def _head(name: str, written: Definition, known: Mapping[str, Any]) -> str:
    if not isinstance(written, ast.ClassDef):
        return _signature(name, written, known)
    for part in written.body:
        if isinstance(part, ast.FunctionDef) and part.name == "__init__":
            return _signature(name, part, known)
    fields = [part for part in written.body if isinstance(part, ast.AnnAssign) and _is_field(part)]
    return "\n".join([f"class {name}", *(f"    {ast.unparse(part)}" for part in fields)])


def _is_field(part: ast.AnnAssign) -> bool:
    return "ClassVar" not in ast.unparse(part.annotation) and not ast.unparse(part.target).startswith("_")


def _signature(name: str, written: Function, known: Mapping[str, Any]) -> str:
    """On one line, or on one for each parameter."""
    line = _call(name, written, known)
    if len(line) <= _WIDTH:
        return line
    taken = "".join(f"    {part},\n" for part in _split(line[len(name) + 1 : line.rindex(")")]))
    return f"{name}(\n{taken}{line[line.rindex(')') :]}"


def _call(name: str, written: Function, known: Mapping[str, Any]) -> str:
    """Of constants as default values what they stand for is shown."""
    arguments = written.args
    arguments.args = [own for own in arguments.args if own.arg not in ("self", "cls")]
    for defaults in (arguments.defaults, arguments.kw_defaults):
        for at, default in enumerate(defaults):
            if isinstance(default, ast.Name) and default.id.isupper():
                defaults[at] = ast.Constant(known[default.id])
    answer = ast.unparse(written.returns) if written.returns is not None else "None"
    returns = "" if written.name == "__init__" else f" -> {answer}"
    return f"{name}({ast.unparse(arguments)}){returns}"


def _public(found: type) -> list[tuple[Function, Any]]:
    """Its methods and those it has from other classes of ours, each with what was written in its module."""
    methods: dict[str, tuple[Function, Any]] = {}
    for owner in (kind for kind in found.__mro__ if kind.__module__.startswith("codemode.")):
        written = _source(owner)
        assert isinstance(written, ast.ClassDef)
        for part in written.body:
            if isinstance(part, Function) and not part.name.startswith("_"):
                methods.setdefault(part.name, (part, owner))
            elif isinstance(part, ast.Assign) and isinstance(target := part.targets[0], ast.Name):
                front = getattr(owner, target.id)
                if inspect.isfunction(front) and not target.id.startswith("_"):
                    methods.setdefault(target.id, (_blocking(_source(front)), inspect.unwrap(front)))
    return list(methods.values())


def _blocking(written: Definition) -> ast.FunctionDef:
    """A method that was made of an async one is written as that, and called without `await`."""
    assert isinstance(written, ast.AsyncFunctionDef)
    return ast.FunctionDef(written.name, written.args, written.body, [], written.returns, lineno=1)


def _member(member: Function, owner: Any) -> str:
    words = [ast.unparse(decorator) for decorator in member.decorator_list]
    call = f".{member.name}" if "property" in words else _call(f".{member.name}", member, _names(owner))
    prefix = "await " if isinstance(member, ast.AsyncFunctionDef) else ""
    doc = _doc(member)
    return f"- `{prefix}{call}`{': ' + doc if doc else ''}"


def _split(parameters: str) -> Iterator[str]:
    """At commas that are not inside brackets."""
    depth, start = 0, 0
    for at, sign in enumerate(parameters):
        depth += (sign in "[({") - (sign in "])}")
        if sign == "," and depth == 0:
            yield parameters[start:at].strip()
            start = at + 1
    yield parameters[start:].strip()


def _doc(written: Definition) -> str:
    """The first paragraph, its own."""
    return " ".join((ast.get_docstring(written) or "").split("\n\n")[0].split())


def stale_pages() -> dict[Path, str]:
    """The pages that are not what the code makes of them, with what they should be."""
    made = {page: fill_tables(page.read_text()) for page in sorted(FOLDER.rglob("*.md"))}
    made[FOLDER / "reference.md"] = render()
    return {page: text for page, text in made.items() if not page.exists() or page.read_text() != text}


if __name__ == "__main__":
    for page, text in stale_pages().items():
        print(page.relative_to(FOLDER))
        if "--check" not in sys.argv:
            page.write_text(text)
