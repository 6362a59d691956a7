"""What a body of `tool_search_code` sees: the language, console and `openclaw.tools`, and no way to anything else."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import re

import pytest

from codemode.failures import GLOBALS
from tests.harness.mcp_servers import fast, servers
from tests.harness.tool_search import Log
from tests.tool_search.test_programs import failure, program

GONE = sorted({*GLOBALS, "DOMException", "fleet"} - {"console"})


@pytest.mark.guarantee("search-programs-are-bare")
async def test_of_code_modes_own_globals_only_console_is_there() -> None:
    text = f"""
      const there = (name) => name in globalThis || new Function("return typeof " + name)() !== "undefined";
      return [{GONE}.filter(there), typeof console.log, Reflect.ownKeys(openclaw), Reflect.ownKeys(openclaw.tools)];"""
    answer = await program(text, mcp=servers(fast=fast()))
    assert answer.value == [[], "function", ["tools"], ["search", "describe", "call"]]


# Ways around a missing name: other scopes, prototypes, functions made at run time, what other objects hold.
TRIES = [
    "globalThis.tools",
    "this?.tools",
    "(0, eval)('this').tools",
    "new Function('return this')().tools",
    "Function('return tools')()",
    "(0, eval)('setTimeout')",
    "(function () { return this })()?.tools",
    "Reflect.get(globalThis, 'text')",
    "Object.getPrototypeOf(globalThis).tools",
    "Object.getOwnPropertyDescriptor(globalThis, 'ALL_TOOLS')?.get",
    "globalThis.__lookupGetter__('namespaces')",
    "console.log.constructor('return API')()",
    "openclaw.tools.call.constructor('return MCP')()",
    "openclaw.constructor",
    "openclaw.tools.constructor",
    "openclaw.tools.__proto__",
    "(async () => {}).constructor('return yield_control')()",
    "Object.getPrototypeOf(function* () {}).constructor('return crypto')().next().value",
    "(await openclaw.tools.call('nope', {}).catch((e) => e)).constructor.constructor('return json')()",
    "Error.prepareStackTrace",
    "new Proxy(globalThis, {}).performance",
    "Object.assign({}, globalThis).structuredClone",
    "Symbol.for('tools').tools",
    "Promise.constructor('return TextDecoder')()",
    "import('tools')",
]


@pytest.mark.guarantee("search-programs-are-bare")
@pytest.mark.parametrize("way", TRIES)
async def test_no_way_around_leads_to_what_is_not_there(way: str) -> None:
    answer = await program(
        f"const found = {way};\nreturn found === undefined || found === null ? 'nothing' : 'something'"
    )
    refused = answer.error is not None and answer.error.code in ("guest_error", "module_access_denied")
    assert refused or answer.value == "nothing", answer


@pytest.mark.guarantee("search-programs-are-bare")
async def test_a_program_cannot_put_back_what_is_not_there() -> None:
    text = """
      globalThis.tools = { call: () => 'forged' };
      const mine = tools.call();
      const [hit] = await openclaw.tools.search('ship');
      return [mine, (await openclaw.tools.call(hit.id, { subject: 'x' })).did];"""
    assert (await program(text)).value == ["forged", "ship"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("return await tools.ship({})", "There is no `tools` here: a program has the language, console and `openclaw.tools`; `await openclaw.tools.search(…)` finds tools."),
        ("setTimeout(() => 1, 5)", "There is no `setTimeout` here"),
        ("globalThis.setTimeout(() => 1, 5)", "There is no `setTimeout` here"),
        ("fetch('https://x')", "There is no `fetch` here"),
        ("Buffer.from('x')", "There is no `Buffer` here"),
        ("text('x')", "There is no `text` here"),
        ("consle.log(1)", "Did you mean `console`?"),
        ("const results = []; return result", "Did you mean `results`?"),
        ("await ship({})", 'Tools are called by id: `await openclaw.tools.call("plugin:acme:ship", { … })`.'),
        ("openclaw.tools.ship({})", '`openclaw.tools` has search, describe and call: `await openclaw.tools.call("plugin:acme:ship", { … })`.'),
        ("openclaw.tools.find('x')", "`openclaw.tools` has search, describe and call."),
        ("console.exception(1)", "console has log, info, warn, error, debug and table."),
        ("const a = openclaw.tools.search('x'); return a.map((b) => b)", "`a` is a promise: put `await` before"),
        ("await openclaw.tools.call('plugin:acme:ship', {})", "subject"),
        ("await openclaw.tools.call('shp', {})", "Nearest: "),
        ("await new Promise(() => {})", "nothing can settle"),
    ],
)  # fmt: skip
async def test_an_error_tells_only_of_what_is_there(text: str, told: str) -> None:
    _, message = failure(await program(text))
    assert told in message
    hint = message.rpartition("\n")[2]
    named = set(re.findall(r"`(?:await )?([\w$]+)", hint))
    assert {name for name in named & set(GONE) if name not in text} == set()


async def test_the_hint_of_a_large_catalog_names_the_search_that_is_there() -> None:
    tools = tuple(Log().tool(f"tool_{number}") for number in range(20))
    _, message = failure(await program("await openclaw.tools.call('zzzzzz', {})", tools))
    assert message.endswith("`await openclaw.tools.search(…)` finds tools.")
