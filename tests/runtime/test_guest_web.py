"""Output, timers and the small standard library of the guest."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import re
from typing import Any

import pytest
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wire import Idle, Threw

from tests.harness.guests import Ran, Watched, echo, new_guest, run

TOOLS = {"echo": echo}


def value_of(program: str, **options: Any) -> Any:
    return run(program, TOOLS, **options).value


def test_text_and_json_append_in_call_order() -> None:
    ran = run(
        'text("a"); json({ b: 1 }); text({ c: [1, undefined] }); text(); json(); text(5n); text(null); return 1'
    )
    assert ran.messages == [
        {"type": "text", "text": "a"},
        {"type": "json", "value": {"b": 1}},
        {"type": "text", "text": '{"c":[1,null]}'},
        {"type": "text", "text": "null"},
        {"type": "json", "value": None},
        {"type": "text", "text": '"5"'},
        {"type": "text", "text": "null"},
    ]


def test_what_console_measures_and_counts_ends_no_program_and_says_nothing() -> None:
    ran = run(
        'console.time("t"); console.timeEnd("t"); console.count(); console.groupEnd(); console.clear();'
        'console.group("g"); console.assert(true, "no"); console.assert(1 === 2, "yes"); console.assert(); return 1'
    )
    assert ran.messages == [
        {"type": "text", "text": "g", "level": "log"},
        {"type": "text", "text": "Assertion failed: yes", "level": "error"},
        {"type": "text", "text": "Assertion failed", "level": "error"},
    ]


def test_text_joins_its_arguments_and_is_still_a_callback_of_for_each() -> None:
    ran = run('text("total:", 3, { a: 1 }); ["x", "y"].forEach(text); text(); return 1')
    assert [message["text"] for message in ran.messages] == ['total: 3 {"a":1}', "x", "y", "null"]


def test_console_joins_its_arguments_and_carries_the_level() -> None:
    ran = run(
        'console.log("a", 1, { b: 2 }, [3]); console.info(); console.warn("w"); console.error(new Error("e"));'
        'console.debug(undefined, "x"); return 1'
    )
    assert ran.messages == [
        {"type": "text", "text": 'a 1 {"b":2} [3]', "level": "log"},
        {"type": "text", "text": "", "level": "info"},
        {"type": "text", "text": "w", "level": "warn"},
        {"type": "text", "text": '{"name":"Error","message":"e"}', "level": "error"},
        {"type": "text", "text": "null x", "level": "debug"},
    ]


def test_timers_fire_by_due_time_with_their_arguments() -> None:
    ran = run(
        """const log = []; setTimeout((...a) => log.push(a), 20, "b", 2); setTimeout(() => log.push("a"), 10);
           setTimeout(() => log.push("now")); await new Promise((r) => setTimeout(r, 30)); return log"""
    )
    assert ran.value == ["now", "a", ["b", 2]]
    assert [m["ms"] for m in ran.sent("timer")] == [20, 10, 0, 30]


@pytest.mark.parametrize(
    ("given", "sent"),
    [("-5", 0), ("NaN", 0), ("'12'", 12), ("1.9", 1), ("Infinity", 2147483647), ("null", 0), ("undefined", 0), ("1e12", 2147483647)],
)  # fmt: skip
def test_delays_are_whole_milliseconds_that_are_not_negative(given: str, sent: int) -> None:
    assert run(f"await new Promise((r) => setTimeout(r, {given}))").sent("timer")[0]["ms"] == sent


def test_a_cleared_timer_never_fires_and_the_host_is_told() -> None:
    ran = run(
        """const log = []; const id = setTimeout(() => log.push("no"), 1); clearTimeout(id); clearTimeout(id);
           clearTimeout(); clearTimeout(999); clearTimeout("x"); await new Promise((r) => setTimeout(r, 9)); return [log, typeof id]"""
    )
    assert ran.value == [[], "number"]
    assert [m["id"] for m in ran.sent("clear")] == [1]


def test_a_timer_settled_after_it_was_cleared_is_passed_over() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start(
            "const id = setTimeout(() => text('no')); await tools.call('x'); clearTimeout(id); await tools.call('y')"
        )
        watched.guest.deliver([Settlement(2)])
        outcome = watched.guest.deliver([Settlement(1)])
    assert isinstance(outcome, Idle)
    assert outcome.messages == b"[]"


def test_the_thousand_and_first_timer_is_a_range_error() -> None:
    program = "for (let i = 0; i < 1000; i++) setTimeout(() => 1); try { setTimeout(() => 1); } catch (e) { return e.name }"
    assert value_of(program) == "RangeError"


def test_cleared_timers_make_room() -> None:
    assert value_of("for (let i = 0; i < 3000; i++) clearTimeout(setTimeout(() => 1)); return 1") == 1


def test_timers_left_over_when_the_program_returns_are_dropped() -> None:
    assert value_of("setTimeout(() => text('never'), 1e6); return 'done'") == "done"


@pytest.mark.parametrize("schedule", ["setTimeout", "queueMicrotask"])
def test_an_exception_in_a_callback_fails_the_run(schedule: str) -> None:
    ran = run(
        f"{schedule}(() => {{ throw new RangeError('here') }}); await new Promise((r) => setTimeout(r, 9)); return 1"
    )
    assert ran.failure["kind"] == "exception"
    assert ran.failure["error"]["name"] == "RangeError"


def test_a_rejection_in_an_async_timer_callback_is_unhandled() -> None:
    ran = run(
        "setTimeout(async () => { throw new Error('late') }); await new Promise((r) => setTimeout(r, 9)); return 1"
    )
    assert ran.failure["kind"] == "unhandled"


def test_yield_control_resolves_to_undefined_and_carries_its_reason() -> None:
    ran = run(
        'const r = await yield_control("need a decision"); await yield_control(); await yield_control({}); return r === undefined'
    )
    assert ran.value is True
    assert [m.get("reason") for m in ran.sent("yield")] == ["need a decision", None, None]


def test_set_timeout_needs_a_function() -> None:
    assert isinstance(run("setTimeout('text(1)', 0)").outcome, Threw)


ENCODINGS = """
new TextEncoder().encode("aé€😀") -> [97,195,169,226,130,172,240,159,152,128]
new TextEncoder().encode("\\ud800x") -> [239,191,189,120]
new TextEncoder().encode() -> []
new TextEncoder().encode(undefined) -> []
new TextEncoder().encode(12) -> [49,50]
new TextEncoder().encoding -> "utf-8"
new TextEncoder().encodeInto("é€", new Uint8Array(4)) -> {"read":1,"written":2}
new TextEncoder().encodeInto("😀", new Uint8Array(8)) -> {"read":2,"written":4}
new TextDecoder().decode(new Uint8Array([0xe2,0x82,0xac])) -> "€"
new TextDecoder().decode(new Uint8Array([0xef,0xbb,0xbf,97])) -> "a"
new TextDecoder("utf-8",{ignoreBOM:true}).decode(new Uint8Array([0xef,0xbb,0xbf,97])).length -> 2
new TextDecoder().decode(new Uint8Array([97,0xff,98])) -> "a\ufffdb"
new TextDecoder().decode(new Uint8Array([0xe2,0x82])) -> "\ufffd"
new TextDecoder().decode(new Uint8Array([0xf0,0x9f,0x41])) -> "\ufffdA"
new TextDecoder().decode(new Uint8Array([0xed,0xa0,0x80])) -> "\ufffd\ufffd\ufffd"
new TextDecoder().decode(new Uint8Array([0xc0,0xaf])) -> "\ufffd\ufffd"
new TextDecoder().decode(new Uint8Array([0xf4,0x90,0x80,0x80])) -> "\ufffd\ufffd\ufffd\ufffd"
new TextDecoder().decode(new Uint8Array([0])) -> "\\u0000"
new TextDecoder().decode() -> ""
new TextDecoder().decode(new ArrayBuffer(2)) -> "\\u0000\\u0000"
new TextDecoder().decode(new DataView(new Uint8Array([97,98,99]).buffer, 1)) -> "bc"
new TextDecoder().decode(new Uint16Array([0x6261])) -> "ab"
new TextDecoder().decode(new Uint8Array([97,98,99]).subarray(1,2)) -> "b"
new TextDecoder("UTF8").encoding -> "utf-8"
new TextDecoder(" Utf-8 ").encoding -> "utf-8"
new TextDecoder("\\t\\n\\f\\r utf8\\n").encoding -> "utf-8"
["unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "X-UNICODE20UTF8"].map((label) => new TextDecoder(label).encoding) -> ["utf-8","utf-8","utf-8","utf-8"]
new TextDecoder("utf-8", null).fatal -> false
new TextDecoder().decode(new SharedArrayBuffer(2)) -> "\\u0000\\u0000"
new TextDecoder().decode(new Uint8Array(new SharedArrayBuffer(2))) -> "\\u0000\\u0000"
(() => { const b = new ArrayBuffer(2); return new TextDecoder().decode(b, { get stream() { b.transfer(); return false } }) })() -> ""
(() => { const v = new Uint8Array(2); return new TextDecoder().decode(v, { get stream() { v.buffer.transfer(); return false } }) })() -> ""
(() => { const v = new DataView(new ArrayBuffer(2)); return new TextDecoder().decode(v, { get stream() { v.buffer.transfer(); return false } }) })() -> ""
(() => { const v = new Uint8Array(2); v.buffer.transfer(); return new TextEncoder().encodeInto("ab", v) })() -> {"read":0,"written":0}
new TextEncoder().encodeInto("ab", new Uint8Array(new SharedArrayBuffer(4))) -> {"read":2,"written":2}
(() => { const v = new Uint8Array(2); v.buffer.transfer(); return crypto.getRandomValues(v) === v })() -> true
(() => { const c = structuredClone(new Uint8Array(new ArrayBuffer(2, { maxByteLength: 8 }))); c.buffer.resize(6); return c.length })() -> 6
(() => { const c = structuredClone(new Uint16Array(new ArrayBuffer(4, { maxByteLength: 8 }), 2)); c.buffer.resize(8); return [c.length, c.byteOffset] })() -> [3,2]
(() => { const c = structuredClone(new Uint8Array(new ArrayBuffer(4, { maxByteLength: 8 }), 0, 4)); c.buffer.resize(8); return c.length })() -> 4
(() => { const c = structuredClone(new DataView(new ArrayBuffer(4, { maxByteLength: 8 }), 1)); c.buffer.resize(8); return c.byteLength })() -> 7
(() => { const c = structuredClone(new DataView(new ArrayBuffer(4, { maxByteLength: 8 }), 1, 2)); c.buffer.resize(8); return c.byteLength })() -> 2
[...new URLSearchParams(Object.assign(new URLSearchParams("a=1"), { [Symbol.iterator]: () => [["b", 2]].values() }))] -> [["b","2"]]
[...new URLSearchParams(Object.setPrototypeOf(new URLSearchParams("a=1"), { c: 3, d: 4 }))] -> []
[...new URLSearchParams(new URLSearchParams("a=1&a=2"))] -> [["a","1"],["a","2"]]
new TextDecoder("utf-8",{fatal:true}).fatal -> true
new TextDecoder().ignoreBOM -> false
Object.prototype.toString.call(new TextDecoder()) -> "[object TextDecoder]"
atob("aGk=") -> "hi"
atob(" aGk ") -> "hi"
btoa("hi") -> "aGk="
btoa("\\u00ff") -> "/w=="
crypto.getRandomValues(new Uint8Array(0)).length -> 0
crypto.getRandomValues(new Uint32Array(4)).length -> 4
typeof performance.now() -> "number"
structuredClone(new Map([[1,{a:new Date(5)}]])).get(1).a.getTime() -> 5
new URL("../c?x=1#h", "https://a.example/b/d").href -> "https://a.example/c?x=1#h"
[...new URLSearchParams("a=1&b=2")] -> [["a","1"],["b","2"]]
"""


@pytest.mark.parametrize("line", ENCODINGS.strip().splitlines())
def test_the_small_standard_library_answers_as_the_web_does(line: str) -> None:
    expression, expected = line.split(" -> ")
    program = f"const v = {expression}; return JSON.stringify(v instanceof Uint8Array ? [...v] : v) === JSON.stringify({expected})"
    assert value_of(program) is True


# a view of "abcd" in a buffer that may have 8 bytes; how many it is given then; what is found through the view
RESIZED = r"""
Uint8Array(b) | 8 | decode(v) -> "abcd\0\0\0\0"
Uint8Array(b) | 2 | decode(v) -> "ab"
Uint8Array(b, 2) | 8 | decode(v) -> "cd\0\0\0\0"
Uint8Array(b, 2) | 2 | decode(v) -> ""
Uint8Array(b, 2) | 1 | decode(v) -> "TypeError"
Uint8Array(b, 1, 2) | 8 | decode(v) -> "bc"
Uint8Array(b, 1, 2) | 3 | decode(v) -> "bc"
Uint8Array(b, 1, 2) | 2 | decode(v) -> "TypeError"
Uint16Array(b) | 7 | decode(v) -> "abcd\0\0"
Uint16Array(b) | 3 | decode(v) -> "ab"
DataView(b, 2) | 8 | decode(v) -> "cd\0\0\0\0"
DataView(b, 2) | 3 | decode(v) -> "c"
DataView(b, 2) | 1 | decode(v) -> ""
DataView(b, 1, 2) | 2 | decode(v) -> ""
Uint8Array(b) | 8 | encodeInto(v) -> 8
Uint8Array(b) | 2 | encodeInto(v) -> 2
Uint8Array(b, 2) | 2 | encodeInto(v) -> 0
Uint8Array(b, 2) | 1 | encodeInto(v) -> "TypeError"
Uint8Array(b, 2) | 1 | crypto.getRandomValues(v) -> "TypeError"
Uint8Array(b, 2) | 2 | crypto.getRandomValues(v).length -> 0
Uint8Array(b) | 8 | structuredClone(v).length -> 8
Uint16Array(b) | 3 | structuredClone(v).length -> 1
DataView(b, 2) | 8 | structuredClone(v).byteLength -> 6
Uint8Array(b) | 8 | v -> "[Uint8Array of 8 bytes]"
Uint16Array(b) | 3 | v -> "[Uint16Array of 2 bytes]"
Uint8Array(b, 1, 2) | 2 | v -> "[Uint8Array of 0 bytes]"
DataView(b, 2) | 8 | v -> "[DataView of 6 bytes]"
DataView(b, 2) | 1 | v -> "[DataView of 0 bytes]"
"""


@pytest.mark.parametrize("line", RESIZED.strip().splitlines())
def test_a_view_of_a_resized_buffer_is_as_long_as_the_buffer_allows_now(line: str) -> None:
    given, expected = line.split(" -> ")
    view, size, expression = given.split(" | ")
    program = f"""const b = new ArrayBuffer(4, {{ maxByteLength: 8 }}), v = new {view};
      const decode = (v) => new TextDecoder().decode(v), encodeInto = (v) => new TextEncoder().encodeInto("123456789", v).written;
      new Uint8Array(b).set([97, 98, 99, 100]); b.resize({size});
      let found; try {{ found = {expression} }} catch (e) {{ found = e.name }}
      return [found, {expected}]"""
    found, wanted = value_of(program)
    assert found == wanted


def test_a_typed_array_that_grew_with_its_buffer_is_filled_with_randomness() -> None:
    program = """const r = new Uint8Array(new ArrayBuffer(0, { maxByteLength: 64 })); r.buffer.resize(64);
      crypto.getRandomValues(r); return r.some((x) => x)"""
    assert value_of(program) is True


def test_a_typed_array_that_shrank_is_not_written_beyond_its_end() -> None:
    program = """const b = new ArrayBuffer(8, { maxByteLength: 64 }), u = new Uint8Array(b); b.resize(2);
      const all = [new TextEncoder().encodeInto("x".repeat(8), u).written]; crypto.getRandomValues(u);
      b.resize(8); return [...all, ...u.subarray(2)]"""
    assert value_of(program) == [2, 0, 0, 0, 0, 0, 0]


FAILURES = """
new TextDecoder("utf-8",{fatal:true}).decode(new Uint8Array([0xff])) -> TypeError
new TextDecoder("utf-8",{fatal:true}).decode(new Uint8Array([0xe2,0x82])) -> TypeError
new TextDecoder("latin1") -> RangeError
new TextDecoder().decode("text") -> TypeError
new TextDecoder().decode({}) -> TypeError
TextDecoder() -> TypeError
TextEncoder.prototype.encode.call({}) -> TypeError
TextDecoder.prototype.decode.call(new TextEncoder()) -> TypeError
new TextEncoder().encodeInto("a", new Uint16Array(1)) -> TypeError
new TextEncoder().encodeInto("a") -> TypeError
atob("*") -> InvalidCharacterError
btoa("€") -> InvalidCharacterError
crypto.getRandomValues(new Float64Array(1)) -> TypeMismatchError
crypto.getRandomValues(new DataView(new ArrayBuffer(4))) -> TypeMismatchError
crypto.getRandomValues(new Float32Array(65537)) -> TypeMismatchError
crypto.getRandomValues(new Uint8Array(new SharedArrayBuffer(4))) -> TypeError
crypto.getRandomValues() -> TypeError
crypto.getRandomValues([]) -> TypeError
crypto.getRandomValues(new Uint8Array(new ArrayBuffer(4).transferToImmutable())) -> TypeError
new TextEncoder().encodeInto("a", new Uint8Array(new ArrayBuffer(4).transferToImmutable())) -> TypeError
crypto.getRandomValues(new Uint8Array(65537)) -> QuotaExceededError
crypto.getRandomValues(new Uint32Array(16385)) -> QuotaExceededError
new TextDecoder("utf-8\\0") -> RangeError
new TextDecoder("\\u00a0utf-8") -> RangeError
new TextDecoder("utf-8", 5) -> TypeError
new TextDecoder("latin1", { get fatal() { throw new EvalError() } }) -> EvalError
new TextDecoder({ toString() { throw new EvalError() } }, { get fatal() { throw new URIError() } }) -> EvalError
new TextDecoder().decode(5, { get stream() { throw new EvalError() } }) -> TypeError
new TextEncoder().encodeInto("a", new Uint8ClampedArray(4)) -> TypeError
structuredClone((() => { const b = new ArrayBuffer(8), v = new Uint8Array(b); b.transfer(); return v })()) -> DataCloneError
structuredClone((() => { const b = new ArrayBuffer(8), v = new DataView(b); b.transfer(); return v })()) -> DataCloneError
structuredClone((() => { const b = new ArrayBuffer(8, { maxByteLength: 8 }), v = new Uint8Array(b, 4); b.resize(2); return v })()) -> DataCloneError
structuredClone((() => { const b = new ArrayBuffer(8, { maxByteLength: 8 }), v = new Uint8Array(b, 1, 2); b.resize(2); return v })()) -> DataCloneError
structuredClone((() => { const b = new ArrayBuffer(8, { maxByteLength: 8 }), v = new DataView(b, 4); b.resize(2); return v })()) -> DataCloneError
new URLSearchParams(Object.assign(new URLSearchParams("a=1"), { [Symbol.iterator]: 5 })) -> TypeError
structuredClone(() => 1) -> DataCloneError
structuredClone(Symbol()) -> DataCloneError
new URL("nope") -> TypeError
queueMicrotask(5) -> TypeError
"""


@pytest.mark.parametrize("line", FAILURES.strip().splitlines())
def test_wrong_arguments_throw_the_error_of_the_web(line: str) -> None:
    expression, expected = line.split(" -> ")
    assert (
        value_of(f"try {{ {expression}; return 'no error'; }} catch (e) {{ return e.name; }}")
        in expected.split()
    )


@pytest.mark.parametrize(
    "made", ["new TextDecoder('utf-8', o)", "new TextDecoder().decode(new Uint8Array(1), o)"]
)
@pytest.mark.parametrize("name", ["fatal", "ignoreBOM", "stream"])
def test_an_option_of_a_decoder_that_cannot_be_read_throws_what_its_getter_threw(
    made: str, name: str
) -> None:
    asked = (name == "stream") == ("decode" in made)
    program = f"""const o = {{ get {name}() {{ throw new Error("boom") }} }};
      try {{ {made}; return "not asked" }} catch (e) {{ return e.message }}"""
    assert value_of(program) == ("boom" if asked else "not asked")


def test_a_streaming_decoder_keeps_its_tail_over_a_suspension() -> None:
    program = """const d = new TextDecoder(); let out = d.decode(new Uint8Array([0xf0, 0x9f]), { stream: true });
      await tools.call("echo"); out += d.decode(new Uint8Array([0x98, 0x80, 0xef]), { stream: true }); await tools.call("echo");
      return out + d.decode()"""
    assert value_of(program, suspend="every_await") == "😀\ufffd"


def test_a_byte_order_mark_split_over_chunks_is_dropped_once() -> None:
    program = """const d = new TextDecoder(); const s = { stream: true };
      return d.decode(new Uint8Array([0xef]), s) + d.decode(new Uint8Array([0xbb, 0xbf, 0xef, 0xbb]), s) + d.decode(new Uint8Array([0xbf, 97]))"""
    assert value_of(program) == "\ufeffa"


def test_random_uuids_are_of_version_four_and_differ() -> None:
    found = value_of("return [crypto.randomUUID(), crypto.randomUUID()]")
    assert found[0] != found[1]
    for uuid in found:
        assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", uuid)


def test_the_clock_of_a_program_never_goes_back_over_suspensions() -> None:
    program = """const seen = [performance.now()];
      for (let i = 0; i < 20; i++) { await tools.call("echo"); seen.push(performance.now()); } return seen"""
    seen = value_of(program, suspend="every_await")
    assert seen == sorted(seen)
    assert seen[0] >= 0


def test_wall_time_is_in_utc() -> None:
    assert value_of("return [new Date(0).getTimezoneOffset(), new Date(2024, 0, 1).toISOString()]") == [
        0, "2024-01-01T00:00:00.000Z",
    ]  # fmt: skip


def test_two_guests_draw_different_random_numbers() -> None:
    assert value_of("return Math.random()") != value_of("return Math.random()")


def restored_twice(program: str) -> list[Ran]:
    with Watched(new_guest()) as watched:
        watched.guest.start(program)
        delta = watched.guest.capture()
    found: list[Ran] = []
    for _ in range(2):
        fresh = new_guest()
        with Watched(fresh):
            fresh.restore(delta, Limits())
            found.append(Ran(fresh.deliver([Settlement(1)]), [], (), 1, len(delta)))
    return found


@pytest.mark.parametrize(
    "draw", ["Math.random()", "crypto.randomUUID()", "crypto.getRandomValues(new Uint32Array(4)).join()"]
)
def test_restoring_one_delta_twice_draws_different_randomness(draw: str) -> None:
    first, second = restored_twice(f"await tools.call('x'); return {draw}")
    assert first.value != second.value
