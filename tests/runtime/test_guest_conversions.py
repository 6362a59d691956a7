"""Values to JSON by the rules of the contract: final value, text(), json() and call arguments alike."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json
from typing import Any

import pytest
from codemode_runtime.shapes import Limits
from codemode_runtime.wire import Done, Threw

from tests.harness.guests import always, run

# an expression, the JSON it becomes, and the lossy conversions as "path kind" of the final value
CASES: list[tuple[str, Any, str]] = [
    ("1", 1, ""),
    ("-0", 0, ""),
    ("1e21", 1e21, ""),
    ("'a\"\\n\\u0000é😀'", 'a"\n\x00é😀', ""),
    ("undefined", None, ""),
    ("null", None, ""),
    ("{ a: undefined, b: 1 }", {"b": 1}, ""),
    ("[undefined, 1]", [None, 1], ""),
    ("[, 1, , 2]", [None, 1, None, 2], ""),
    ("NaN", None, "$ number"),
    ("[Infinity, -Infinity]", [None, None], "$[0] number,$[1] number"),
    ("new Date(0)", "1970-01-01T00:00:00.000Z", ""),
    ("{ d: new Date(NaN) }", {"d": None}, "$.d date"),
    ("10n ** 20n", "100000000000000000000", "$ bigint"),
    ("new Map([['a', 1], [{ k: 1 }, 2n]])", [["a", 1], [{"k": 1}, "2"]], "$ map,$[1][1] bigint"),
    ("new Set([1, new Set([2n])])", [1, ["2"]], "$ set,$[1] set,$[1][0] bigint"),
    ("new TypeError('m')", {"name": "TypeError", "message": "m"}, "$ error"),
    ("Object.assign(new Error('m'), { extra: 1 })", {"name": "Error", "message": "m"}, "$ error"),
    ("new DOMException('m', 'AbortError')", {"name": "AbortError", "message": "m"}, "$ error"),
    ("new AggregateError([1], 'all')", {"name": "AggregateError", "message": "all"}, "$ error"),
    ("new (class Mine extends Error { name = 'Mine'; })('m')", {"name": "Mine", "message": "m"}, "$ error"),
    ("{ f() {}, g: () => 1, h: class K {}, i: (() => {}).bind() }",
     {"f": "[Function f]", "g": "[Function g]", "h": "[Function K]", "i": "[Function bound ]"},
     "$.f function,$.g function,$.h function,$.i function"),
    ("[Symbol('s'), Symbol(), Symbol.iterator]", ["[Symbol s]", "[Symbol]", "[Symbol Symbol.iterator]"],
     "$[0] symbol,$[1] symbol,$[2] symbol"),
    ("{ [Symbol('k')]: 1, a: 1 }", {"a": 1}, ""),
    ("[new Uint8Array(3), new Float64Array(2), new ArrayBuffer(5), new DataView(new ArrayBuffer(4), 1)]",
     ["[Uint8Array of 3 bytes]", "[Float64Array of 16 bytes]", "[ArrayBuffer of 5 bytes]", "[DataView of 3 bytes]"],
     "$[0] binary,$[1] binary,$[2] binary,$[3] binary"),
    ("[Promise.resolve(1), new WeakMap(), new WeakSet(), new WeakRef({}), (function* () {})()]",
     ["[Promise, not awaited]", "[WeakMap]", "[WeakSet]", "[WeakRef]", "[Generator]"],
     "$[0] object,$[1] object,$[2] object,$[3] object,$[4] object"),
    ("['ab'.matchAll(/./g), new Map().keys(), new Set().values(), [1].values(), 'a'[Symbol.iterator]()]",
     ["[RegExp String Iterator]", "[Map Iterator]", "[Set Iterator]", "[Array Iterator]", "[String Iterator]"],
     "$[0] object,$[1] object,$[2] object,$[3] object,$[4] object"),
    ("[Iterator.from([1]).map((x) => x), Iterator.from({ next() { return { done: true }; } })]",
     ["[Iterator Helper]", "[Iterator]"], "$[0] object,$[1] object"),
    ("[new TextEncoder(), new TextDecoder(), new FinalizationRegistry(() => 1)]",
     ["[TextEncoder]", "[TextDecoder]", "[FinalizationRegistry]"], "$[0] object,$[1] object,$[2] object"),
    ("{ q: new URLSearchParams({ a: '1 2', b: 'x' }), none: new URLSearchParams(), i: new URLSearchParams().keys() }",
     {"q": "a=1+2&b=x", "none": "", "i": "[URLSearchParams Iterator]"}, "$.q object,$.none object,$.i object"),
    ("new (class Query extends URLSearchParams { page = 2; })('a=1')", {"page": 2}, ""),
    ("[new (class { #x = 1; })(), Object.create({}), Object.create(URLSearchParams.prototype)]", [{}, {}, {}], ""),
    ("/a\\/b/gi", "/a\\/b/gi", "$ regexp"),
    ("[new Number(1), new String('s'), new Boolean(false), Object(5n), Object(Symbol('q'))]",
     [1, "s", False, "5", "[Symbol q]"], "$[3] bigint,$[4] symbol"),
    ("(() => { const a = { x: 1 }; return [a, a, { a }]; })()", [{"x": 1}, {"x": 1}, {"a": {"x": 1}}], ""),
    ("(() => { const a = { b: {} }; a.b.a = a; return a; })()", {"b": {"a": "[Circular]"}}, "$.b.a circular"),
    ("(() => { const a = [1]; a.push(a); return [a, a]; })()", [[1, "[Circular]"], [1, "[Circular]"]],
     "$[0][1] circular,$[1][1] circular"),
    ("(() => { const m = new Map(); m.set('m', m); return m; })()", [["m", "[Circular]"]], "$ map,$[0][1] circular"),
    ("{ get a() { throw new Error('no'); }, b: 1 }", {"a": "[Threw: no]", "b": 1}, "$.a threw"),
    ("{ get a() { throw 'text'; }, get b() { throw {}; } }", {"a": "[Threw: text]", "b": "[Threw]"}, "$.a threw,$.b threw"),
    ("[{ toJSON() { throw new TypeError('tj'); } }]", ["[Threw: tj]"], "$[0] threw"),
    ("{ get toJSON() { throw new Error('g'); } }", "[Threw: g]", "$ threw"),
    ("{ a: { toJSON(key) { return 'key ' + key; } }, b: [{ toJSON(key) { return key; } }] }", {"a": "key a", "b": ["0"]}, ""),
    ("{ toJSON() { return new String('boxed'); } }", "boxed", ""),
    ("{ toJSON() { return undefined; } }", None, ""),
    ("{ toJSON() { return { toJSON() { return 1; } }; } }", {"toJSON": "[Function toJSON]"}, "$.toJSON function"),
    ("{ toJSON: 5, a: 1 }", {"toJSON": 5, "a": 1}, ""),
    ("(() => { const o = { toJSON() { return { o }; } }; return o; })()", {"o": "[Circular]"}, "$.o circular"),
    ("JSON.parse('{\"__proto__\": {\"x\": 1}, \"a\": 2}')", {"__proto__": {"x": 1}, "a": 2}, ""),
    ("{ __proto__: { inherited: 1 }, own: 2 }", {"own": 2}, ""),
    ("Object.create(null, { a: { value: 1, enumerable: true }, b: { value: 2 } })", {"a": 1}, ""),
    ("'\\ud800a'", "\ufffda", "$ surrogate"),
    ("{ '\\udfff': '\\ud83d\\ude00' }", {"\ufffd": "😀"}, "$.\ufffd surrogate"),
    ("new Proxy([1, 2], {})", [1, 2], ""),
    ("new Proxy({ a: 1 }, { get: () => 5 })", {"a": 5}, ""),
    ("[new Proxy({}, { ownKeys() { throw new Error('trap'); } })]", ["[Threw: trap]"], "$[0] threw"),
    ("(() => { const { proxy, revoke } = Proxy.revocable([], {}); revoke(); return [proxy]; })()",
     ["[Threw: revoked proxy]"], "$[0] threw"),
    ("(() => { const a = [1, 2]; Object.defineProperty(a, 0, { get() { throw new Error('el'); } }); return a; })()",
     ["[Threw: el]", 2], "$[0] threw"),
    ("(function () { return arguments; })(1, 2)", {"0": 1, "1": 2}, ""),
    ("new (class { #hidden = 1; shown = 2; get computed() { return 3; } })()", {"shown": 2}, ""),
    ("new URL('http://h/')", "http://h/", ""),
    ("{ a: { b: [{ 'c d': 1n }] } }", {"a": {"b": [{"c d": "1"}]}}, '$.a.b[0]["c d"] bigint'),
    ("{ 'x.y': NaN, x: { y: NaN } }", {"x.y": None, "x": {"y": None}}, '$["x.y"] number,$.x.y number'),
    ("{ '': 1n, 'a\"b': 2n, 0: 3n, $é_1: 4n }", {"": "1", 'a"b': "2", "0": "3", "$é_1": "4"},
     '$["0"] bigint,$[""] bigint,$["a\\"b"] bigint,$.$é_1 bigint'),
    ("new Date(8.64e15)", "+275760-09-13T00:00:00.000Z", ""),
    ("{ 2: 'b', 1: 'a', z: 1, y: 2 }", {"1": "a", "2": "b", "z": 1, "y": 2}, ""),
]  # fmt: skip
IDS = [case[0][:60] for case in CASES]


@pytest.mark.guarantee("losses-are-listed")
@pytest.mark.parametrize(("expression", "expected", "lossy"), CASES, ids=IDS)
def test_the_final_value_is_converted_and_each_loss_is_listed(
    expression: str, expected: Any, lossy: str
) -> None:
    ran = run(f"return ({expression})")
    assert ran.value == expected
    assert ",".join(f"{entry['path']} {entry['kind']}" for entry in ran.lossy) == lossy


@pytest.mark.parametrize(("expression", "expected", "lossy"), CASES, ids=IDS)
def test_output_and_arguments_are_converted_the_same_way(expression: str, expected: Any, lossy: str) -> None:
    ran = run(
        f"const v = ({expression}); json(v); text([v]); await tools.call('t', v); return 1",
        {"t": always(1)},
    )
    assert ran.sent("json")[0]["value"] == expected
    assert json.loads(ran.texts[0]) == [expected]
    assert ran.sent("call")[0]["args"] == [expected]


def test_keys_keep_their_order() -> None:
    outcome = run("return { z: 1, a: 2, 10: 3, 9: 4 }").outcome
    assert isinstance(outcome, Done)
    assert outcome.result == b'{"value":{"9":4,"10":3,"z":1,"a":2},"lossy":[]}'


@pytest.mark.parametrize(("wrap", "inner"), [("[x]", "[]"), ("({ x })", "({})")])
def test_two_hundred_levels_cross_and_the_next_one_is_cut(wrap: str, inner: str) -> None:
    make = f"let x = {inner}; for (let i = 1; i < LEVELS; i++) x = {wrap};"
    whole = run(make.replace("LEVELS", "200") + "return x")
    assert whole.lossy == []
    cut = run(make.replace("LEVELS", "201") + "return x")
    assert json.dumps(cut.value).count("[Nested too deep]") == 1
    assert [entry["kind"] for entry in cut.lossy] == ["depth"]


def test_arguments_that_are_too_deep_reject_the_call_before_it_is_sent() -> None:
    ran = run(
        "let x = []; for (let i = 0; i < 200; i++) x = [x]; return await tools.call('t', x).catch((e) => e.name)"
    )
    assert ran.value == "RangeError"
    assert ran.messages == []


def test_deep_maps_stay_within_the_depth_of_json() -> None:
    ran = run("let x = 1; for (let i = 0; i < 150; i++) x = new Map([[i, x]]); return x")
    depth = deepest = 0
    for character in json.dumps(ran.value):
        depth += (character == "[") - (character == "]")
        deepest = max(deepest, depth)
    assert deepest <= 201


def test_at_most_a_hundred_losses_are_listed() -> None:
    assert len(run("return Array.from({ length: 500 }, () => 1n)").lossy) == 100


@pytest.mark.parametrize(
    "expression",
    ["Object.defineProperty(() => 1, 'name', { value: '€'.repeat(50) })",
     "({ get a() { throw new Error('x' + '€'.repeat(300)); } })",
     "({ ['x' + '€'.repeat(300)]: 1n })",
     "({ ['😀'.repeat(300)]: 1n })",
     "Symbol('€'.repeat(99))"],
)  # fmt: skip
def test_long_texts_are_never_cut_inside_a_character(expression: str) -> None:
    outcome = run(f"return {expression}").outcome
    assert isinstance(outcome, Done)
    outcome.result.decode("utf-8")


@pytest.mark.parametrize("text", ["'x' + '€'.repeat(9000)", "'😀'.repeat(9000)"])
def test_a_long_error_message_is_cut_between_characters(text: str) -> None:
    outcome = run(f"throw new Error({text})").outcome
    assert isinstance(outcome, Threw)
    message = json.loads(outcome.failure)["error"]["message"]
    assert 16_380 <= len(message.encode()) <= 16_384


def test_a_getter_that_calls_a_tool_while_the_final_value_is_read_sends_nothing() -> None:
    ran = run(
        "return { get a() { const p = tools.call('t'); p.catch(() => 1); return p; },"
        "b: { toJSON() { return setTimeout(() => 1); } } }"
    )
    assert ran.value == {"a": "[Promise, not awaited]", "b": "[Threw: the program has already returned]"}
    assert ran.messages == []


def test_a_call_made_while_the_final_value_is_read_fails_the_run_if_nobody_handles_its_refusal() -> None:
    ran = run("return { get a() { return tools.call('t'); } }")
    assert (ran.failure["kind"], ran.failure["call"]) == ("unhandled", 0)
    assert ran.messages == []


def test_a_getter_may_call_a_tool_while_arguments_are_read() -> None:
    ran = run(
        "const inner = []; await tools.call('outer', { get a() { inner.push(tools.call('inner')); return 1; } });"
        "return await inner[0]",
        {"outer": always(1), "inner": always("inner result")},
    )
    assert ran.value == "inner result"
    assert [(m["id"], m["target"]) for m in ran.sent("call")] == [(1, "inner"), (2, "outer")]


def test_a_getter_that_changes_the_object_while_it_is_read_cannot_damage_the_json() -> None:
    program = """const o = { get a() { delete o.b; o.c = 1; o.d = [o]; return 1; }, b: 2, c: 3 };
      const list = [{ toJSON() { list.length = 1; return 0; } }, 1, 2]; const map = new Map([[1, { toJSON() { map.clear(); return 2; } }], [3, 4]]);
      return [o, list, map]"""
    assert run(program).value == [{"a": 1, "c": 1}, [0, None, None], [[1, 2], [3, 4]]]


def test_a_huge_string_crosses_whole() -> None:
    limits = Limits(output_bytes=8 << 20)
    ran = run("const s = 'é'.repeat(2e6); text(s); return s.length", limits=limits)
    assert ran.texts[0] == "é" * 2_000_000


def test_text_output_replaces_lone_surrogates() -> None:
    assert run("text('a\\ud800b'); console.log('\\udc00'); return 1").texts == ["a\ufffdb", "\ufffd"]


def test_a_proto_key_of_a_result_is_data() -> None:
    program = """const r = await tools.call("t");
      return [Object.keys(r), Object.getPrototypeOf(r) === Object.prototype, r.polluted === undefined, r, ({}).polluted === undefined]"""
    result = {"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}
    assert run(program, {"t": always(result)}).value == [
        ["__proto__", "constructor"], True, True, result, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "result", [None, True, 0, -1.5, 1e300, "", "é😀\u2028\0", [], [[]], {}, {"": {"a.b": [None]}}]
)
def test_results_arrive_as_they_were_sent(result: object) -> None:
    assert run("return await tools.call('t')", {"t": always(result)}).value == result


def test_a_value_larger_than_the_heap_is_measured_and_refused() -> None:
    ran = run(
        "let n = 0; return { get a() { return { toJSON() { return new Array(1e6).fill('x'.repeat(100)); } }; } }"
    )
    assert (ran.failure["kind"], ran.failure["bytes"]) == ("value_too_large", 103000007)


def test_the_list_of_losses_is_small_however_long_the_paths_are() -> None:
    program = """const root = {}; let o = root; const key = "k".repeat(195);
      for (let i = 0; i < 190; i++) o = o[key + i] = {};
      for (let i = 0; i < 150; i++) o["n" + i] = NaN;
      return root;"""
    lossy = run(program, limits=Limits(output_bytes=1 << 20)).lossy
    assert len(lossy) == 100
    assert {len(loss["path"]) for loss in lossy} == {300}
