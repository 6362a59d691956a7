"""Programs against what TypeScript's own compiler makes of them: official/*.json, one program a line.

Each line has a program and what the official output of it (5.9, ESNext) did when it ran here, or null where
the official compiler refuses the program or its output does not run. In angles.json they are put together
from parts around `<` and `>`, where comparisons and type arguments look alike; every name is a proxy that
records what is done to it, so that two readings never look the same. In declarations.json they are random:
namespaces, enums, classes and aliases that merge and shadow, with comments and line breaks in all places.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from codemode_runtime.compile import SourceError, prepare

quickjs: Any = importlib.import_module("quickjs")  # the native oracle ships no types

OFFICIAL = Path(__file__).parent / "typescript" / "official"

TRACE = """
const done = [];
const noted = (name, value) => new Proxy(function () {}, {
  get(_, key) {
    if (key === Symbol.toPrimitive) return () => (done.push(`${name}:value`), value);
    if (key === "toJSON") return () => name;
    if (key === "then") return undefined;
    done.push(`${name}.${String(key)}`);
    return noted(`${name}.${String(key)}`, value + 1);
  },
  apply: (_, self, given) => (done.push(`${name}(${given.map(show)})`), noted(`${name}()`, value + 2)),
  construct: (_, given) => (done.push(`new ${name}(${given.map(show)})`), noted(`new ${name}`, value + 3)),
});
const show = (value) => typeof value === "function" && value.toJSON ? value.toJSON() : JSON.stringify(value);
const out = (...values) => void done.push(values.map(show).join());
const f = (...values) => values.map(show);
let a = noted("a", 5), b = noted("b", 7), c = noted("c", 1), x = noted("x", 3), n = 4, g = 2;
"""


def trace(code: str) -> object:
    """Everything that a function body did to the names, and how it ended."""
    context = quickjs.Context()
    context.eval(f"""var ended = "";
(async () => {{ "use strict"; {TRACE}
try {{ await (async () => {{
{code}
}})(); done.push("ended") }} catch (error) {{ done.push(`threw ${{error.name}}`) }}
ended = JSON.stringify(done); }})();""")
    while context.execute_pending_job():
        pass
    return json.loads(context.eval("ended"))


SHOW = """
const seen = [];
const o = {};
const show = (value, depth = 0) => {
  const item = (key) => `${key}:${depth > 3 ? "…" : show(value[key], depth + 1)}`;
  const inner = () => Object.keys(value).map(item);
  if (typeof value === "function") return `function ${inner()}`;
  if (value && typeof value === "object") return `{${inner()}}`;
  return typeof value === "string" ? JSON.stringify(value) : String(value);
};
const out = (value) => void seen.push(show(value));
"""
LOOK = """
;for (const name of ["a", "b", "c", "v", "w", "A", "B", "N", "M", "E"]) {
  try {
    out(`${name}=${eval(`typeof ${name}`)}`);
    const value = eval(name);
    if (value && typeof value === "object") out(value);
  } catch {}
}
"""


def look(code: str) -> object:
    """What a program shows, and what its names stand for when it has ended."""
    context = quickjs.Context()
    shown = context.eval(f"""(function () {{ "use strict"; {SHOW}
try {{ (function () {{
{code}
{LOOK}
}})() }} catch (error) {{ seen.push(`threw ${{error.name}}`) }}
return JSON.stringify(seen); }})()""")
    return json.loads(shown)


def corpus(name: str) -> list[tuple[str, object]]:
    return [tuple(json.loads(line)) for line in (OFFICIAL / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("name", ["angles.json", "declarations.json"])
def test_a_program_does_what_the_official_compiler_says(name: str) -> None:
    watch = trace if name == "angles.json" else look
    programs = corpus(name)
    assert len(programs) >= 200
    wrong: list[str] = []
    for text, expected in programs:
        try:
            found = watch(prepare(text, "typescript").code)
        except (SourceError, quickjs.JSException):
            found = None
        if found != expected:
            wrong.append(text)
    assert wrong == []
