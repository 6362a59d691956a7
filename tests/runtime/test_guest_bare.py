"""All that a bare program can reach: a part of what others reach, without the API of code mode."""

from __future__ import annotations

import re
from typing import Literal, cast

import pytest
from codemode_runtime.shapes import Limits, Lookup

from tests.harness.guests import Offer, run
from tests.runtime.test_guest_globals import LIST, VISIT

NAMESPACE = {"openclaw": {"o": {"tools": {"o": {"call": {"c": "openclaw.tools.call", "m": "namespace"}}}}}}
BARE = Offer({(Lookup.NAMESPACES, ""): NAMESPACE}, has_namespaces=True, bare=True)
WALK = (
    VISIT
    + """
visit("globalThis", globalThis);
const roots = {
  error: await openclaw.tools.call("nope").catch((e) => e), arguments, asyncFunction: async () => {},
  generator: (function* () {})(), asyncGenerator: (async function* () {})(), promise: Promise.resolve(),
  arrayIterator: [][Symbol.iterator](), stringIterator: ""[Symbol.iterator](), mapIterator: new Map().keys(),
  setIterator: new Set().keys(), matchIterator: "a".matchAll(/a/g), match: /(?<x>a)/d.exec("a"),
  helper: Iterator.from([]).map((x) => x), wrapped: Iterator.from({ next() {} }), bound: (() => {}).bind(),
  proxy: Proxy.revocable({}, {}), weak: new WeakRef({}),
};
for (const [name, value] of Object.entries(roots)) visit(name, value);
return lines.join("\\n");
"""
)


def reachable() -> list[str]:
    limits = Limits(output_bytes=4 << 20)
    return cast("str", run(WALK, limits=limits, descriptor=BARE).value).split("\n")


@pytest.mark.guarantee("search-programs-are-bare")
def test_a_bare_program_reaches_the_language_console_and_its_namespace_and_nothing_else() -> None:
    now = set(reachable())
    own = {line for line in now if line.startswith("globalThis.openclaw")}
    assert sorted(now - own - set(LIST.read_text("utf-8").splitlines())) == []
    assert sorted(own) == [
        "globalThis.openclaw -e- object",
        "globalThis.openclaw.tools -e- object",
        "globalThis.openclaw.tools.call -e- function",
        "globalThis.openclaw.tools.call.length --- number",
        "globalThis.openclaw.tools.call.name --- string",
    ]
    globals_of_ours = re.compile(r"^globalThis\.([a-z]\w*|[A-Z]+_\w+|MCP|API|URL\w*|Text\w+|DOM\w+)[ .]")
    named = {found[1] for line in now if (found := globals_of_ours.match(line))}
    assert sorted(named) == [
        "console", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "eval",
        "globalThis", "isFinite", "isNaN", "openclaw", "parseFloat", "parseInt", "undefined", "unescape",
    ]  # fmt: skip


def test_the_next_program_of_the_same_image_has_everything_again() -> None:
    assert run("return typeof setTimeout", descriptor=BARE).value == "undefined"
    assert run("return [typeof setTimeout, typeof tools, typeof URL]").value == [
        "function",
        "object",
        "function",
    ]


def test_a_bare_program_asks_the_descriptor_for_its_namespaces_only() -> None:
    offer = Offer(BARE.answers, has_namespaces=True, bare=True)
    run("openclaw.tools.call; typeof tools; 'MCP' in globalThis; return 1", descriptor=offer)
    assert offer.asked == [(Lookup.NAMESPACES, "")]


@pytest.mark.parametrize("suspend", ["capture_only", "every_await"])
def test_it_stays_bare_over_a_suspension(suspend: Literal["capture_only", "every_await"]) -> None:
    text = (
        "const r = await openclaw.tools.call(1); return [r, typeof tools, typeof setTimeout, typeof console]"
    )
    ran = run(text, {"openclaw.tools.call": lambda *_: 7}, descriptor=BARE, suspend=suspend)
    assert ran.value == [7, "undefined", "undefined", "object"]
