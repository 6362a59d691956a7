"""Comparisons and type arguments look alike: what is left of either computes what OXC's reading of it does.

Expressions are put together from parts around `<` and `>` and set into places where the parser reads them
differently. Every name is a proxy that records what is done to it, so that two readings never look the same.
"""

# ruff: noqa: E501 - parts of programs are data and read best unwrapped

import importlib
import json
from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

from codemode_runtime.compile import SourceError, oxc, prepare

quickjs: Any = importlib.import_module("quickjs")  # the native oracle ships no types

# fmt: off
HEADS = ["a", "a.p", "a[0]", "a!", "c + a", "-a", "new a", "a()", "n++", "a as any", "x < a", "a?.p", "await a"]
CONTENTS = [
    "b", "b.q", "b, c", "b | c", "b & c", '"x" | "y"', "b[0]", "{ x: b }", "[b, c]", "b, 1 | 2", "b + c", "b && c",
    "b || c", "b === c", "b - 1", "b * c", "!b", "-1", "b\n", "b\n[0]", "b\n<c>", "\nb, c\n", "(b)", "b<c>",
    "typeof b", "b as any", "() => b", "b ? b : c", "'<' | '>'", "`b`", "b\u2028[0]", "b\u3000",
]
CLOSINGS = [">", ">", " > ", ">>", ">>>", ">=", ">>="]
TAILS = [
    "c", "-1", " +c", "(c)", "[c]", "[c as any]", "`t`", "`t`.length", "`t`(1)", "`t`[0]", "`t${b as any}` + 1", "",
    " ? b : c", " && c", " as any", "\nc", "\n(c)", "\n`t`", ", c", ", c > (b)", ".5", "!c", "/c/g", " / c", "<any>c",
    "-<any>c", "(c as any)", "(c)`t`", " > c", " < c", "?.(c)", "// c\n(c)", " | c > -1", "--n", " = c",
]
PLACES = [
    "const z = @;\nout(z);", "out(@);", "out(f(@));", "out(f(c, @));", "out([@]);", "out((@));", "if (@) out(1);",
    "for (let i = 0; @;) { out(i); break; }", "for (@; ;) break;", "while (@) { out(1); break; }", "out(`${@}`);",
    "out({ z: @ });", "const g = () => @;\nout(g());", "let z = 0\nz = @\nout(z)", "out(f(@), a < b);",
]
# fmt: on

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


def programs(count: int, seed: int) -> Iterator[str]:
    dice = Random(seed)
    for _ in range(count):
        parts = (HEADS, [" < ", "<"], CONTENTS, CLOSINGS, TAILS)
        yield dice.choice(PLACES).replace("@", "".join(map(dice.choice, parts)))


def differs(text: str) -> bool:
    """Whether a valid program is refused or computes something else than OXC's form of it."""
    try:
        expected = trace(oxc.transform(text))
    except (oxc.OxcRefused, quickjs.JSException):
        return False  # no TypeScript, or nothing that JavaScript would run
    try:
        return trace(prepare(text, "typescript").code) != expected
    except (SourceError, quickjs.JSException):
        return True


def test_comparisons_and_type_arguments_are_told_apart_as_oxc_does() -> None:
    assert [text for text in programs(800, seed=1) if differs(text)] == []


PLAIN = [
    place.replace("@", f"a < {inner}{closing}")
    for place, inner, closing in product(
        PLACES, ["b", "b.q, c", "b | c", "b & c"], [" > -1", " >> 1", ">>>1", ">+c", "> - <any>c"]
    )
]


def test_comparisons_of_plain_names_keep_their_positions() -> None:
    moved = [text for text in PLAIN if not prepare(text, "typescript").exact_positions]
    assert moved == []
    assert [text for text in PLAIN if differs(text)] == []
