"""Natives that a program can send on a long way: deep ones end in a RangeError, long ones can be stopped.

search_natives.py is the search that these were found with; runtime/README.md says what it went through.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

import unicodedata
from typing import Literal

import pytest
from codemode_runtime.guest import Interrupted
from codemode_runtime.shapes import Limits

from tests.harness.guests import always, run
from tests.runtime.search_natives import program, subjects

SOON = 0.15
DEEP = "let a = FIRST; for (let i = 0; i < 2e5; i++) a = AROUND;"

# before they were mended, each of these ran for minutes or ended the guest
DEEP_USES = {
    "JSON.stringify of nested arrays": ("[]", "[a]", "JSON.stringify(a)"),
    "JSON.stringify of nested objects": ("{}", "{ a }", "JSON.stringify(a)"),
    "JSON.stringify of nested toJSON": ("1", "{ toJSON: ((inner) => () => [inner])(a) }", "JSON.stringify(a)"),
    "JSON.stringify with a replacer": ("[]", "[a]", "JSON.stringify(a, (key, value) => value)"),
    "construction by a bound function": ("function () {}", "Object.defineProperty(a.bind(), 'name', { value: '' })", "new a()"),
    "construction by a proxy": ("function () {}", "new Proxy(a, {})", "new a()"),
    "a property behind proxies": ("{}", "new Proxy(a, {})", "a.x"),
    "a bound function as a class": ("function () {}", "Object.defineProperty(a.bind(), 'name', { value: '' })", "({}) instanceof a"),
    "text of nested arrays": ("[]", "[a]", "String(a)"),
    "Array.prototype.flat of nested arrays": ("[]", "[a]", "a.flat(Infinity)"),
}  # fmt: skip


@pytest.mark.parametrize("use", DEEP_USES)
def test_what_is_too_deep_for_a_native_is_a_range_error_and_no_long_wait(use: str) -> None:
    first, around, used = DEEP_USES[use]
    program = DEEP.replace("FIRST", first).replace("AROUND", around)
    ran = run(f"{program} try {{ {used}; return 'finished' }} catch (e) {{ return e.name }}")
    assert ran.value == "RangeError"


LONG = {
    **{f"Array.prototype.{call}": f"Array.prototype.{call.replace('(', '.call({ length: 2 ** 53 - 1 }, ', 1)}" for call in (
        "join('')", "toLocaleString()", "shift()", "reverse()", "sort()", "copyWithin(0, 9)", "flat()", "flatMap((x) => x)",
        "indexOf(1)", "includes(1)", "lastIndexOf(1)", "forEach(() => 1)",
    )},
    "Array.prototype.concat": "[].concat({ length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true })",
    "Array.prototype.join of a sparse array": "const a = []; a.length = 2 ** 32 - 1; a.join('')",
    "Array.prototype.shift of a sparse array": "const a = [1]; a.length = 2 ** 32 - 1; a.shift()",
    "Reflect.ownKeys of a proxy": "const keys = Array.from({ length: 2e5 }, (_, i) => 'k' + i); Reflect.ownKeys(new Proxy({}, { ownKeys: () => keys }))",
    "JSON.stringify with names": "JSON.stringify({}, Array.from({ length: 2e5 }, (_, i) => 'k' + i))",
    "a search for half of a text": "const s = 'ab'.repeat(2e6); s.indexOf(s.slice(0, 2e6) + 'x')",
    "a search backwards": "const s = 'ab'.repeat(2e6); s.lastIndexOf(s.slice(0, 2e6) + 'x')",
    "a split at half of a text": "const s = 'ab'.repeat(2e6); s.split(s.slice(0, 2e6) + 'x')",
    "a replacement of half of a text": "const s = 'ab'.repeat(2e6); s.replaceAll(s.slice(0, 2e6) + 'x', '')",
    "a class of many characters": "new RegExp(`[${Array.from({ length: 6e4 }, (_, i) => String.fromCodePoint(16 * i + 200)).join('')}]`, 'iu')",
    "a long look behind": "new RegExp(`(?<=${'xy'.repeat(2e5)})`)",
    "the text of a large BigInt": "String(3n ** 600000n)",
    "a large BigInt as a key": "({})[3n ** 600000n]",
    "the product of large BigInts": "const a = 3n ** 640000n; a * a",
    "a power of a BigInt": "(3n ** 50000n) ** 13n",
    "the quotient of large BigInts": "const a = 3n ** 330000n; for (;;) (a << 520000n) / a",
    "a BigInt from a long text": "const s = '1'.repeat(300000); BigInt(s)",
    "sorting many numbers": "const a = new Float64Array(2e6).map(Math.random); for (;;) a.slice().sort()",
    "sorting many numbers that are hard to sort": "const a = new Int32Array(4e6).map((_, i) => i % 1000); for (;;) a.sort()",
    "the text of a long typed array": "const a = new Uint8Array(3e7); text('made'); a.join('')",
    "the text of a long array": "const a = new Array(3e6).fill(1.5); text('made'); for (;;) a.join('')",
    "findLast over a long text": "Array.prototype.findLast.call('ab'.repeat(4e6), () => 0); for (;;);",
    "a search again and again": "const a = new Array(2e6).fill(1); for (;;) a.includes(2)",
    "a comparison again and again": "const s = 'x'.repeat(4e6), t = 'x'.repeat(4e6 - 1) + 'y'; for (;;) s < t",
    "a look at a long chain of prototypes": "let a = {}; for (let i = 0; i < 2e5; i++) a = Object.create(a); for (;;) a.x",
    "proxies that are prototypes in a circle": "let a = {}; const p = new Proxy(a, {}); Object.setPrototypeOf(a, p); a instanceof Map",
    "JSON of many numbers": "const a = new Array(2e6).fill(1); for (;;) JSON.stringify(a)",
    "JSON from a long text": "const s = `[${'1,'.repeat(2e6)}1]`; for (;;) JSON.parse(s)",
    "a function of many parameters": "const names = Array.from({ length: 5e4 }, (_, i) => 'v' + i).join(); for (;;) new Function(names, names)",
    "a function inside one of many variables": "const names = Array.from({ length: 6e4 }, (_, i) => 'v' + i).join(); for (;;) new Function(`var ${names}; return () => [${names}]`)",
    "the sum of many numbers": "const a = new Uint8Array(3e7); for (;;) Math.sumPrecise(a)",
    "many weak maps with one key": "const key = {}; for (;;) { let maps = Array.from({ length: 2e4 }, () => new WeakMap([[key, 1]])).reverse(); maps = 0 }",
    "a conversion of a large collection": "const m = new Set(); for (let i = 0; i < 3e5; i++) m.add('k' + i); for (;;) text(m)",
}  # fmt: skip


@pytest.mark.guarantee("interruption-keeps-output")
@pytest.mark.parametrize("walk", LONG)
def test_a_native_on_a_long_way_is_interrupted_and_the_output_is_kept(walk: str) -> None:
    limits = Limits(output_bytes=1 << 30)
    ran = run(f"text('before');\n{LONG[walk]}", {"t": always(1)}, limits=limits, seconds=SOON)
    assert isinstance(ran.outcome, Interrupted)
    assert ran.messages[0] == {"type": "text", "text": "before"}


def test_ten_thousand_levels_of_json_are_written_and_one_more_is_refused() -> None:
    program = """const nested = (levels) => { let a = []; for (let i = 1; i < levels; i++) a = [a]; return a };
      try { JSON.stringify(nested(10001)) } catch (e) { return [JSON.stringify(nested(10000)).length, e.name] }"""
    assert run(program).value == [20000, "RangeError"]


@pytest.mark.parametrize(
    ("circle", "name"),
    [
        ("const a = []; a[0] = a;", "TypeError"),
        ("const a = { b: { c: [] } }; a.b.c[3] = a;", "TypeError"),
        ("const a = { toJSON: () => [a] };", "RangeError"),  # a new array each time
        ("const s = {}, a = [s, s, [s]];", "no error"),
    ],
)
def test_a_circle_in_json_is_an_error_and_what_is_there_twice_is_not(circle: str, name: str) -> None:
    program = f"{circle} try {{ JSON.stringify(a) }} catch (e) {{ return e.name }} return 'no error'"
    assert run(program).value == name


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize("count", [2, 64, 65, 66, 3000])
def test_any_number_of_marks_on_a_letter_is_put_in_order(
    form: Literal["NFC", "NFD", "NFKC", "NFKD"], count: int
) -> None:
    marks = "\u0315\u0300\u05ae\u0301\u0327\u0345\u1dce"
    text = "a" + "".join(marks[i * i % 7] for i in range(count)) + "z" + marks * (count // 7) + "\u00e9"
    ran = run(f"return (await tools.call('text')).normalize('{form}')", {"text": always(text)})
    assert ran.value == unicodedata.normalize(form, text)


def test_the_keys_of_maps_and_sets_are_found_whatever_they_are() -> None:
    program = """const keys = [0, -0, 1, -1, 2 ** 31, 2 ** 53, 0.1, NaN, Infinity, -Infinity, 1n, 2n ** 64n, "", "a", "0", true, false, null,
        undefined, Symbol.iterator, {}, [], () => 1];
      for (let i = 0; i < 3000; i++) keys.push(i * 7, i / 7, "k" + i, BigInt(i) << 40n, { i });
      const map = new Map(keys.map((key, i) => [key, i])), set = new Set(keys);
      for (const key of keys) if (!map.has(key) || !set.has(key)) return key;
      return [map.get(-0) === map.get(0), map.get(5 / 5 + 0.5 + 0.5) === map.get(2), map.has(3000 * 7), set.size === map.size]"""
    assert run(program).value == [True, True, False, True]


def test_keys_that_share_one_hash_are_all_found_and_no_other() -> None:
    """In the engine's hash a character counts 263 times what the one behind it does."""
    program = """const key = (i) => Array.from({ length: 11 }, (_, bit) => i >> bit & 1 ? "\\u0041\\u0400" : "\\u0042\\u02f9").join("");
      const map = new Map(); for (let i = 0; i < 2000; i++) map.set(key(i), i);
      for (let i = 0; i < 2000; i += 2) map.delete(key(i));
      let found = 0; for (let i = 0; i < 2048; i++) if (map.get(key(i)) === i) found++;
      return [map.size, found, [...map.values()].slice(0, 3), map.has(key(1) + "x")]"""
    assert run(program).value == [1000, 1000, [1, 3, 5], False]


def test_weak_references_to_one_object_end_in_any_order_and_the_others_stay() -> None:
    program = """const key = {}, other = {}, said = [];
      const make = () => Array.from({ length: 3000 }, (_, i) => [new WeakMap([[key, i], [other, -i]]), new WeakSet([key]), new WeakRef(key)]);
      const registry = new FinalizationRegistry((held) => said.push(held));
      let kept = make(), forward = make(), backward = make().reverse();
      for (let i = 0; i < 3000; i++) registry.register(key, i, { i });
      forward = 0; backward = 0;
      kept = kept.filter((_, i) => i % 3 === 0);
      for (const [map] of kept.slice(0, 500)) map.delete(key);
      const right = kept.filter(([map, set, ref], i) => map.has(key) === i >= 500 && map.get(other) <= 0 && set.has(key) && ref.deref() === key);
      let gone = {}; const map = new WeakMap([[gone, 1]]), ref = new WeakRef(gone); registry.register(gone, "gone"); gone = 0;
      await null;
      return [kept.length, right.length, ref.deref() === undefined, [...said]]"""
    assert run(program).value == [1000, 1000, True, ["gone"]]


def test_a_long_text_is_one_key_however_it_was_put_together() -> None:
    program = """let left = "", right = ""; for (let i = 0; i < 3000; i++) { left += "abcdefghij"; right = "abcdefghij" + right; }
      const whole = [left].join(""), wide = left + "\u0100", map = new Map(), set = new Set();
      for (let i = 0; i < 5000; i++) map.set("k" + i, 0);
      map.set(left, 1).set(wide, 2);
      for (const key of [...map.keys(), right, whole, [wide].join("")]) set.add(key);
      return [map.get(left), map.get(right), map.get(whole), map.get([wide].join("")), map.get("\u0100" + whole) ?? null, set.size]"""
    assert run(program).value == [1, 1, 1, 2, None, 5002]


def test_the_search_for_deaf_natives_has_subjects_and_its_programs_run() -> None:
    assert len(subjects()) >= 25
    last = (
        10**6
    )  # behind the last call: the subjects are made, what can be reached is listed, and that is all
    for subject in ("arrayLike", "proxyWithKeys", "bigint"):
        (message,) = run(program(subject), {"start": always(last)}).sent("json")
        assert message["value"][0] > 3000


@pytest.mark.guarantee("interruption-keeps-output")
@pytest.mark.parametrize(
    "said", ["text(String(a))", "json(a)", "tools.call('t', String(a))", "console.log(`${a}`)"]
)
def test_what_was_computed_after_the_interruption_is_not_sent(said: str) -> None:
    """A conversion that was left off in the middle gives a wrong text: nobody may see it."""
    program = f"const a = (1n << 900000n) - 1n; text('before'); {said}"
    ran = run(program, {"t": always(1)}, limits=Limits(output_bytes=1 << 30), seconds=SOON)
    assert isinstance(ran.outcome, Interrupted)
    assert ran.messages == [{"type": "text", "text": "before"}]
