"""The text a model reads after a mistake, for programs that really ran in a guest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Lookup
from codemode_runtime.wire import Done, Stopped, Threw

from codemode.config import load_config
from codemode.failures import (
    GLOBALS,
    Available,
    Explained,
    Program,
    explain_failure,
    explain_stop,
    hint_for_unawaited,
)
from tests.harness.guests import Offer, ToolFailed, run

CONFIG = load_config(True)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer"},
        "query": {"type": "string"},
        "kind": {"enum": ["news", "images"]},
        "tags": {"type": "array", "items": {"type": ["string", "null"]}},
        "odd name": {},
    },
    "required": ["query"],
}
SIGNATURE = (
    '{ query: string, limit?: integer, kind?: "news" | "images", tags?: Array<string | null>, '
    '"odd name"?: any }'
)
NAMES = ("web_search", "read_mail", "echo", "list_files", "send_mail", "add", "now", "weather", "translate")
AVAILABLE = Available(
    namespaces=("calendar",),
    convenience={name: f"openclaw:core:{name}" for name in NAMES},
    ids=[f"openclaw:core:{name}" for name in NAMES],
    servers=("github", "linear"),
    parameters=lambda tool: SCHEMA if tool == "openclaw:core:web_search" else None,
)
OFFER = Offer({(Lookup.TOOL, name): f"openclaw:core:{name}" for name in NAMES})


def explain(text: str, code: str = "unknown_tool", message: str = "no such tool") -> Explained:
    def refusing(*_: object) -> object:
        raise ToolFailed(code=code, message=message)

    targets = ("openclaw:core:web_search", "openclaw:core:echo", "web_serch", "mcp:github:x", "zzz")
    ran = run(text, dict.fromkeys(targets, refusing), descriptor=OFFER)
    match ran.outcome:
        case Threw(_, failure):
            decoded = msgspec.json.decode(failure, type=wire.Failure)
            return explain_failure(decoded, Program(text), AVAILABLE, CONFIG)
        case Stopped(_, reason):
            return explain_stop(reason, CONFIG)
        case other:
            raise AssertionError(other)


def last_line(text: str, code: str = "unknown_tool", message: str = "no such tool") -> str:
    return explain(text, code, message).text.rpartition("\n")[2]


def test_a_missing_global_is_explained_with_position_source_line_and_what_exists() -> None:
    assert explain('const x = 1;\n  await fetch("https://x")') == Explained(
        "guest_error",
        "ReferenceError: fetch is not defined (2:9)\n"
        '      await fetch("https://x")\n'
        "            ^\n"
        "There is no network here; call a tool instead (`tools.search(…)` finds one). "
        f"Available: {', '.join(GLOBALS)}, calendar.",
    )


def test_the_globals_that_hints_list_exist_in_the_guest() -> None:
    assert run(f"return {list(GLOBALS)}.filter((name) => !(name in globalThis))").value == []


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        ("process.env.HOME", "There are no files, processes or environment here; call a tool instead"),
        ("window.x", "This is not a browser. Available: ALL_TOOLS, tools"),
        ("setInterval(() => 1)", "Use `setTimeout`, or a loop with"),
        ("Buffer.from('x')", "Write `btoa(text)` and `atob(base64)`, or `new TextEncoder().encode(text)`"),
        ("print('x')", "Write `text(value)` or `console.log(value)`."),
        ("globalThis.fetch('x')", "There is no network here"),
        ("tool.echo({})", "There is no `tool` here: write `await tools.echo(…)`."),
        ("consle.log(1)", "Did you mean `console`?"),
        ("const results = []; return result", "Did you mean `results`?"),
        ("await echo({})", "Tools are called through `tools`: `await tools.echo(…)`."),
        ("await web_serch({})", "Did you mean `tools.web_search`?"),
        ("github.x()", "MCP servers are reached through `MCP`: `MCP.github`."),
        (
            "tools.web_serch('x')",
            "There is no `tools.web_serch`. Did you mean `tools.web_search` or `tools.search`?",
        ),
        ("tools\n  .web_serch('x')", "There is no `tools.web_serch`. Did you mean"),
        ("tools?.ecoh()", "There is no `tools.ecoh`. Did you mean `tools.echo`?"),
        ("tools['read-mail']()", "There is no `tools.read-mail`. Did you mean `tools.read_mail`"),
        ("tools.zzz()", "There is no `tools.zzz`. `await tools.search(…)` finds tools"),
        (
            "console.exception('x')",
            "`console.exception` does not exist: console has log, info, warn, error, debug and table.",
        ),
        ("API.open('x')", "`API.open` does not exist: API has list and read."),
        ("MCP.githab.createIssue({})", "There is no `MCP.githab`. MCP has `MCP.github`."),
        ("MCP.github.createIssue({})", "`await API.read('mcp/github.d.ts')` shows what `MCP.github` has."),
        (
            "tools.ecko({\n  value: { at: new Date().toISOString() },\n})",
            "There is no `tools.ecko`. Did you mean",
        ),
        ("await Promise.all([tools.ehco(JSON.parse('{}'))])", "There is no `tools.ehco`. Did you mean"),
        ("const f = undefined;\nreturn f(Math.max(1, 2))", "`f` is not a function."),
        ("const f = 1; f (Math.max(1, 2))", "`f` is not a function."),
        ("const A = 1; new A(Math.max(1, 2))", "`A` is not a function."),
        ("const x = 1; x`a${Math.max(1, 2)}`", "`x` is not a function."),
        ("[1].map(Math.abs(1))", "What `map` was given is not a function."),
        ("const xs = [1]; xs.map((x) => await tools.echo(x))", "`await` needs an async function"),
        ("const n: number = 1", 'If this is TypeScript, pass language: "typescript".'),
        ("interface A { x: string }", 'If this is TypeScript, pass language: "typescript".'),
        ("Promise.reject(new Error('x')); return 1", "Nobody handled this rejection"),
        ("await new Promise(() => {})", "The program waits for a promise that nothing can settle"),
    ],
)
def test_a_mistake_gets_the_hint_that_helps(program: str, hint: str) -> None:
    assert last_line(program).find(hint) >= 0, last_line(program)


@pytest.mark.parametrize(
    ("program", "headline"),
    [
        ("throw new TypeError('bad')", "TypeError: bad (1:11)"),
        ("null.x", "TypeError: cannot read property 'x' of null (1:1)"),
        ("class E extends Error {}\nthrow new E('x')", "Error: x (2:11)"),
        ("let x = ;", "SyntaxError: unexpected token in expression: ';' (1:9)"),
        ("const f = 1; f()", "TypeError: not a function: it is a number (1:14)"),
        ("const é = 'ü'; föö()", "ReferenceError: föö is not defined (1:16)"),
        ("const f = undefined;\nreturn f(Math.max(1, 2))", "TypeError: not a function (2:8)"),
        ("const r = tools.ecko({\n  at: new Date().toISOString(),\n})", "TypeError: not a function (1:17)"),
        ("await tools.call(\n  'zzz',\n  JSON.parse('{}')\n)", "ToolError: no such tool (1:13)"),
        ("throw new Error('a', { cause: new Error('b') })", "Error: a (1:11)"),
        ("let o;\nlet a;\na(\n  o?.b)", "TypeError: not a function (3:1)"),
        ("let x = 1;\nreturn /(/", "SyntaxError: expecting ')' (2:8)"),
        ("let x = 1;\n  x = /a/gg", "SyntaxError: invalid regular expression flags (2:7)"),
        ("return /a{2,1}/", "SyntaxError: invalid repetition count (1:8)"),
        ("new URL('x')", 'TypeError: Invalid URL: "x" (1:5)'),
    ],
)
def test_the_first_line_names_the_error_and_its_place_in_the_text_as_sent(
    program: str, headline: str
) -> None:
    assert explain(program).text.splitlines()[0] == headline


def test_a_reference_error_the_program_made_up_gets_no_hint() -> None:
    text = explain("throw new ReferenceError('the user is not defined in the base')").text
    assert text.count("\n") == 2


def test_an_unknown_tool_is_answered_with_the_nearest_ids() -> None:
    explained = explain('await tools.call("web_serch", {})')
    assert explained.code == "nested_tool_failed"
    assert explained.text == (
        "ToolError: no such tool (1:13)\n"
        '    await tools.call("web_serch", {})\n'
        "                ^\n"
        "Nearest: `openclaw:core:web_search`."
    )


def test_an_unknown_tool_named_by_a_variable_is_found_in_the_message() -> None:
    hint = last_line("const id = 'web_serch'; await tools.call(id)", message='unknown tool "web_serch"')
    assert hint == "Nearest: `openclaw:core:web_search`."


def test_few_tools_are_listed_where_none_is_near() -> None:
    few = Available(convenience={"b": "openclaw:core:b", "a": "openclaw:core:a"}, ids=["openclaw:core:a"])
    failure = wire.Failure("exception", error=wire.ThrownError("TypeError", "not a function"))
    text = explain_failure(failure, Program("tools.zzz()"), few, CONFIG).text
    assert text == "TypeError: not a function\nThere is no `tools.zzz`. There is `a` or `b`."


@pytest.mark.parametrize(
    ("program", "called"),
    [
        ("await tools.web_search({ q: 1 })", "web_search"),
        ("await tools.call('openclaw:core:web_search', { q: 1 })", "openclaw:core:web_search"),
    ],
)
def test_wrong_arguments_are_answered_with_the_parameters(program: str, called: str) -> None:
    hint = last_line(program, "invalid_arguments", 'unknown parameter "q"')
    assert hint == f"Parameters: `{called}({SIGNATURE})`."


def test_parameters_that_the_message_already_names_are_not_repeated() -> None:
    message = "q is unknown; parameters: query, limit, kind, tags, odd name"
    text = explain("await tools.web_search({ q: 1 })", "invalid_arguments", message).text
    assert text.count("\n") == 2


@pytest.mark.parametrize(
    ("code", "hint"),
    [("denied", "refused by a policy or a person"), ("interrupted", "check before you repeat it")],
)
def test_a_refused_or_interrupted_call_says_what_that_means(code: str, hint: str) -> None:
    assert hint in last_line("await tools.echo({})", code)


def test_a_call_nobody_awaited_says_so() -> None:
    explained = explain("tools.echo({}); return 1", "tool_error", "disk full")
    assert explained.code == "nested_tool_failed"
    assert explained.text == (
        "ToolError: disk full (1:7)\n"
        "    tools.echo({}); return 1\n"
        "          ^\n"
        "This call was not awaited and failed: `await` it, or catch its error."
    )


def test_types_are_not_advised_where_typescript_is_switched_off() -> None:
    ran = run("const n: number = 1")
    assert isinstance(ran.outcome, Threw)
    failure = msgspec.json.decode(ran.outcome.failure, type=wire.Failure)
    config = load_config({"languages": ["javascript"]})
    text = explain_failure(failure, Program("const n: number = 1"), AVAILABLE, config).text
    assert text.endswith("\nTypeScript is switched off here: leave the types out.")


def test_a_fan_out_over_the_cap_is_told_how_to_chunk() -> None:
    explained = explain("Array.from({ length: 17 }).map(() => tools.echo({}))")
    assert (explained.code, explained.phase) == ("too_many_pending_tool_calls", "bridge")
    assert "items.slice(i, i + 16)" in explained.text


@pytest.mark.parametrize(
    ("program", "hint"),
    [
        (
            "return { a: [Promise.resolve(1)], b: 1n }",
            "The value has a promise that was not awaited ($.a[0]): "
            "`await Promise.all(list)` gives the values of a list.",
        ),
        (
            "return { a: Promise.resolve(1) }",
            "The value has a promise that was not awaited ($.a): put `await` before the call.",
        ),
        ("return { a: '[Promise, not awaited]' }", None),
        ("return { a: 1n }", None),
    ],
)
def test_a_value_with_a_promise_in_it_gets_a_hint(program: str, hint: str | None) -> None:
    outcome = run(program).outcome
    assert isinstance(outcome, Done)
    value = msgspec.json.decode(outcome.result, type=wire.Value)
    assert hint_for_unawaited(bytes(value.value), value.lossy) == hint


def test_text_of_the_program_that_is_no_unicode_does_not_break_the_text() -> None:
    failure = wire.Failure("exception", error=wire.ThrownError("Error", "x", stack="    at program:1:1\n"))
    text = explain_failure(failure, Program("throw '\ud800'"), AVAILABLE, CONFIG).text
    assert text == "Error: x (1:1)\n    throw '?'\n    ^"
