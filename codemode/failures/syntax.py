"""The hint for a text that does not parse, or that asks for modules: what to write. Pure, and only a hint."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, cast

from codemode.failures.available import Available
from codemode.failures.missing import FILES, NETWORK

_TYPED = re.compile(
    r"^\s*(?:interface|type|enum|declare|namespace|abstract\s+class)\s+[\w$]"
    r"|\b(?:const|let|var)\s+[\w$]+\s*:"
    r"|[(,]\s*[\w$]+\??\s*:\s*(?:string|number|boolean|any|unknown|void|object|Record|Array|Promise)\b"
    r"|\s(?:as|satisfies)\s+(?:const|any|unknown|string|number|boolean|[A-Z])"
)
_AWAIT_IN_ARROW = re.compile(
    r"(?<!async )(?:\([^()]{0,200}\)|(?<![\w$])(?!async\b)[\w$]{1,80})\s*+=>\s*+\{?.{0,200}\bawait\b"
)
_FUNCTION = re.compile(r"(async\s+)?\bfunction\s*\*?\s*([\w$]*)\s*\(")
_COMPREHENSION = re.compile(r"[\[({].{1,200}\bfor\s+[\w$, ]{1,60}\s+in\s")
_PYTHON = re.compile(
    r"^\s*(?:elif\b|except\b|def\s+\w|from\s+\w+\s+import\b|(?:if|for|while|else|try|with)\b[^{}]*:\s*$)"
    r"|\bf[\"'][^\"'\n]*\{|\blambda\s+\w*:|\b(?:and|or)\s+not\b|\bis\s+not\s+None\b"
)
_SQL = re.compile(r"\s*(?:SELECT|INSERT\s+INTO|UPDATE|DELETE\s+FROM|CREATE\s+TABLE|WITH\s+\w+\s+AS)\b")
_FROM = re.compile(r"""(?:from|require\s*\(|import\s*\(|import)\s*["'`](?:node:)?([^"'`\n]{1,80})["'`]""")
_NAMES = re.compile(r"[\w$]+")
_IMPORTED = re.compile(
    r"import\s+(?:type\s+)?([^\"']{1,200}?)\s+from\b|\{([^{}]{1,200})\}\s*=\s*(?:await\s+)?(?:require|import)\b"
)
_EXPORTED = re.compile(r"export\s+(?:default\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)")
_NETWORK = ("axios", "node-fetch", "http", "https", "got", "request", "superagent", "ws", "undici", "net")
_FILES = (
    "fs",
    "fs/promises",
    "path",
    "os",
    "child_process",
    "process",
    "readline",
    "stream",
    "worker_threads",
)
_GLOBALS = {
    "crypto": "`crypto.randomUUID()` and `crypto.getRandomValues(…)`",
    "url": "`URL` and `URLSearchParams`",
    "util": "`TextEncoder` and `structuredClone`",
    "buffer": "`atob`, `btoa` and `TextEncoder`",
    "timers": "`setTimeout`",
    "timers/promises": "`setTimeout`",
    "perf_hooks": "`performance.now()`",
}
_MAX_LINE = 2_000
_MAX_JSON = 100_000


def hint_for_syntax(
    program: str, source_line: str, offset: int | None, language: str, languages: Collection[str]
) -> str | None:
    line = source_line[:_MAX_LINE]
    if (hint := _not_async(program, line, offset)) is not None:
        return hint
    if (hint := _other_language(program, line)) is not None:
        return hint
    if language == "typescript" or not _TYPED.search(line):
        return None
    if "typescript" in languages:
        return 'If this is TypeScript, pass language: "typescript".'
    return "TypeScript is switched off here: leave the types out."


def _not_async(program: str, line: str, offset: int | None) -> str | None:
    if _AWAIT_IN_ARROW.search(line):
        return "`await` needs an async function: write `async (…) => …`."
    if offset is None or not program[max(0, offset - 20) : offset].rstrip().endswith("await"):
        return None
    before = list(_FUNCTION.finditer(program, max(0, offset - _MAX_LINE), offset))
    if not before or before[-1][1]:
        return "`await` needs an async function: put `async` before the function that it is in."
    return f"`await` needs an async function: write `async function {before[-1][2]}(…)`."


def _other_language(program: str, line: str) -> str | None:
    if program.lstrip()[:2].startswith("{") and (given := _json_object(program)) is not None:
        return _of_json(given)
    if _SQL.match(line):
        return "This looks like SQL: write JavaScript, and give the query to a tool that takes one."
    if _COMPREHENSION.search(line):
        return "JavaScript has no comprehensions: write `list.filter((x) => …).map((x) => …)`."
    return "This looks like Python: write JavaScript." if _PYTHON.search(line) else None


def _json_object(program: str) -> dict[str, Any] | None:
    try:
        found: object = json.loads(program) if len(program) <= _MAX_JSON else None
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if isinstance(found, dict) else None


def _of_json(given: dict[str, Any]) -> str:
    if "code" in given or "command" in given:
        return "This is JSON around a program: send the program alone, as `code`."
    name = next((given[key] for key in ("tool", "name", "function", "tool_name") if key in given), None)
    if isinstance(name, str) and re.fullmatch(r"[\w$]{1,80}", name):
        return f"This is JSON: to call a tool write `return await tools.{name}({{…}})`."
    return "This is JSON, not a program: to give it back write `return` before it."


def hint_for_modules(source_line: str, available: Available) -> str:
    """For a program that was refused because it asks for modules, or is written as one."""
    line = source_line[:_MAX_LINE]
    if "export" in line:
        exported = _EXPORTED.search(line)
        called = f" and end with `return await {exported[1]}()`" if exported else "; `return` gives the value"
        return f"A program is the body of an async function: leave `export` out{called}."
    names = _imported(line)
    if names and all(name in available.globals for name in names):
        return f"`{names[0]}` is there already: leave this line out."
    found = _FROM.search(line)
    module = found[1] if found else ""
    if module in _NETWORK:
        return NETWORK
    if module in _FILES:
        return FILES
    if module in _GLOBALS:
        return f"{_GLOBALS[module]} are there already: leave this line out."
    return "Leave it out: write it with the language itself, or call a tool (`tools.search(…)` finds one)."


def _imported(line: str) -> list[str]:
    found = _IMPORTED.search(line)
    return [] if found is None else [name for name in _NAMES.findall(found[1] or found[2]) if name != "as"]
