"""Everything a program can reach, by name: compared with a list, so that nothing leaks unseen.

After a deliberate change: python -m tests.runtime.test_guest_globals > tests/runtime/oracle/reachable.txt
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from pathlib import Path
from typing import cast

import pytest
from codemode_runtime.shapes import Limits, Lookup

from tests.harness.guests import Offer, run

LIST = Path(__file__).parent / "oracle" / "reachable.txt"
OFFER = Offer(
    {
        (Lookup.TOOL, "echo"): "openclaw:core:echo",
        (Lookup.TOOL_NAMES, ""): {"echo": "openclaw:core:echo"},
        (Lookup.SERVERS, ""): ["docs"],
        (Lookup.SERVER, "docs"): {"o": {"find": {"c": "mcp:docs:find", "m": "mcp"}, "$api": {"api": "docs"}}},
        (Lookup.NAMESPACES, ""): {"fleet": {"o": {"list": {"c": "fleet:list", "m": "namespace"}}}},
        (Lookup.API_LIST, ""): {"files": []},
        (Lookup.API_READ, "f"): {"path": "f", "content": "x", "description": "", "bytes": 1},
        (Lookup.ALL_TOOLS, ""): [{"id": "openclaw:core:echo", "name": "echo", "description": "Echo."}],
    },
    has_namespaces=True,
)

# Depth first through own properties, accessors and prototypes; each object counts where it is met first.
VISIT = """
const lines = [], seen = new Set();
const visit = (path, value) => {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return;
  if (seen.has(value)) return;
  seen.add(value);
  for (const key of Reflect.ownKeys(value)) {
    const name = path + (typeof key === "symbol" ? `[${key.description}]` : "." + key);
    const found = Reflect.getOwnPropertyDescriptor(value, key);
    const flags = (found.writable ? "w" : "-") + (found.enumerable ? "e" : "-") + (found.configurable ? "c" : "-");
    lines.push(`${name} ${flags} ${"value" in found ? typeof found.value : "accessor"}`);
    if ("value" in found) visit(name, found.value);
    else { visit(name + "<get>", found.get); visit(name + "<set>", found.set); }
  }
  visit(path + ".[[Prototype]]", Reflect.getPrototypeOf(value));
};
"""
WALK = (
    VISIT
    + """
const error = await tools.call("nope").catch((e) => e);
visit("globalThis", globalThis);
const roots = {
  error, arguments, asyncFunction: async () => {}, generator: (function* () {})(), asyncGenerator: (async function* () {})(),
  arrayIterator: [][Symbol.iterator](), stringIterator: ""[Symbol.iterator](), mapIterator: new Map().keys(),
  setIterator: new Set().keys(), matchIterator: "a".matchAll(/a/g), match: /(?<x>a)/d.exec("a"), helper: Iterator.from([]).map((x) => x),
  wrapped: Iterator.from({ next() {} }), encoder: new TextEncoder(), decoder: new TextDecoder(), url: new URL("http://h/?a=1"),
  params: new URLSearchParams("a=1"), paramsIterator: new URLSearchParams("a=1").keys(), promise: Promise.resolve(),
  echo: tools.echo, docs: MCP.docs, bound: (() => {}).bind(), proxy: Proxy.revocable({}, {}), weak: new WeakRef({}),
  dom: (() => { try { structuredClone(() => {}); } catch (e) { return e; } })(),
};
for (const [name, value] of Object.entries(roots)) visit(name, value);
const [files, file] = [await API.list(), await API.read("f")];
for (const [name, value] of Object.entries({ files, file, unawaited: API.list() })) visit(name, value);
return lines.join("\\n");
"""
)


def reachable() -> str:
    limits = Limits(output_bytes=4 << 20)
    return cast("str", run(WALK, limits=limits, descriptor=OFFER).value)


@pytest.mark.guarantee("nothing-leaks")
def test_programs_reach_exactly_what_the_list_says() -> None:
    now, listed = reachable().split("\n"), LIST.read_text("utf-8").splitlines()
    assert sorted(set(now) - set(listed)) == []
    assert sorted(set(listed) - set(now)) == []


@pytest.mark.parametrize(
    "name",
    ["Intl", "WebAssembly", "Atomics", "process", "require", "module", "exports", "global", "window", "self",
     "navigator", "fetch", "XMLHttpRequest", "WebSocket", "Worker", "Deno", "Bun", "std", "os", "bjson", "print",
     "scriptArgs", "gc", "internal", "__openclaw", "setInterval", "setImmediate", "importScripts", "open", "load"],
)  # fmt: skip
def test_things_of_other_hosts_are_not_there(name: str) -> None:
    assert run(f"return typeof {name} + ({name!r} in globalThis)").value == "undefinedfalse"


def test_every_global_of_the_contract_is_there() -> None:
    contract = """ALL_TOOLS tools MCP API namespaces fleet text json yield_control console setTimeout clearTimeout
      structuredClone queueMicrotask TextEncoder TextDecoder URL URLSearchParams atob btoa crypto performance"""
    program = f"return {contract.split()}.filter((name) => !(name in globalThis))"
    assert run(program, descriptor=OFFER).value == []


@pytest.mark.parametrize(
    "name", ["ALL_TOOLS", "tools", "MCP", "API", "namespaces", "text", "json", "image", "file", "yield_control",
             "console", "setTimeout", "clearTimeout"],
)  # fmt: skip
def test_the_api_can_be_neither_replaced_nor_deleted(name: str) -> None:
    attempts = f"""
      const before = globalThis[{name!r}], failed = [];
      for (const act of [() => {{ globalThis[{name!r}] = 1; }}, () => delete globalThis[{name!r}],
                         () => Object.defineProperty(globalThis, {name!r}, {{ value: 1 }})]) {{
        try {{ act(); }} catch (e) {{ failed.push(e.name); }}
      }}
      return [failed, globalThis[{name!r}] === before, Object.isFrozen(before)];"""
    assert run(attempts).value == [["TypeError", "TypeError", "TypeError"], True, True]


if __name__ == "__main__":
    print(reachable())
