"""Limits that no program can catch: heap, output, pending calls; and those of a single value."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json
import re

import msgspec
import pytest
from codemode_runtime.batches import MAX_MESSAGES
from codemode_runtime.shapes import MAX_OUTLINE, MAX_OUTPUT_ITEMS, Limits, Settlement, Stop
from codemode_runtime.wire import Done, Idle, Stopped, Threw

from tests.harness.guests import Watched, always, echo, new_guest, run

HEAP_BOMBS = [
    "const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)",
    "const a = []; for (;;) a.push(new Array(1e5).fill(a))",
    "const a = []; for (;;) a.push(new Uint8Array(1e6))",
    "const a = []; for (let i = 0; ; i++) a.push({ i })",
    "const o = {}; for (let i = 0; ; i++) o['k' + i] = i",
    "const m = new Map(); for (let i = 0; ; i++) m.set(i, i)",
    "const s = new Set(); for (let i = 0; ; i++) s.add('s' + i)",
    "let p = Promise.resolve(); for (;;) p = p.then(() => 1)",
    "for (;;) queueMicrotask(() => 1)",
    "const tick = () => { queueMicrotask(tick); queueMicrotask(tick); }; tick(); await new Promise(() => 1)",
    "let f = () => 1; for (;;) f = f.bind(null, 1)",
    "const a = []; for (;;) a.push(async () => { await new Promise(() => 1) }), a.at(-1)()",
    "const a = []; for (;;) a.push((function* () { yield 1 })().next())",
    "const a = []; for (let i = 0; ; i++) a.push(Symbol('s' + i), BigInt(i) ** 99n)",
    "const a = []; for (let i = 0; ; i++) a.push(new RegExp('a'.repeat(50) + i))",
    "const a = []; for (let i = 0; ; i++) a.push(eval('(function () { return ' + i + ' })'))",
    "let s = 'x'; for (;;) s = `${s}${s}abc`",
    "return 'x'.repeat(5e8)",
    "return 'x'.padEnd(1e9)",
    "return new Array(1e9).fill(0)",
    "return Array.from({ length: 1e9 })",
    "return new ArrayBuffer(2e8)",
    "return new SharedArrayBuffer(1e9)",
    "const b = new ArrayBuffer(8, { maxByteLength: 2e9 }); b.resize(1e9)",
    "return [...'x'.repeat(3e7)].length",
    "return 'x'.repeat(3e7).split('').length",
    "return 'ab'.repeat(2e7).replace(/a/g, '$&$&$&$&$&$&$&$&').length",
    "return new Array(1e7).join('xxxxxxxxxxxxxxxx').length",
    "return JSON.stringify(new Array(3e7).fill(1)).length",
    "return structuredClone(new Array(1e7).fill(1)).length",
    "text('x'.repeat(1e8))",
    "await tools.call('t', 'y'.repeat(3e7))",
    "Symbol.for('x'.repeat(1e8))",
    "return /(?:a|b)*c/.test('a'.repeat(1e7))",
    "throw new Error('x'.repeat(1e8))",
]
GUARDS = [
    "BOMB",
    "try { BOMB } catch { return 'caught' } finally { text('finally') }",
    "return await (async () => { BOMB })().catch(() => 'caught').finally(() => text('finally'))",
]


@pytest.mark.guarantee("heap-limit-is-hard")
@pytest.mark.parametrize("bomb", HEAP_BOMBS)
def test_going_over_the_heap_ends_the_guest_and_cannot_be_caught(bomb: str) -> None:
    limits = Limits(memory_bytes=16 << 20, message_bytes=256 << 20)
    for guard in GUARDS:
        ran = run("text('before');\n" + guard.replace("BOMB", bomb), limits=limits)
        assert isinstance(ran.outcome, Stopped)
        assert ran.outcome.reason == Stop.MEMORY
        assert ran.messages[0] == {"type": "text", "text": "before"}
        assert "finally" not in [message.get("text") for message in ran.messages]


@pytest.mark.parametrize(
    ("flood", "reason"),
    [
        ("clearTimeout(setTimeout(() => 1))", Stop.MESSAGES),
        ("text('')", Stop.OUTPUT),
        ("json(1)", Stop.OUTPUT),
        ("console.log()", Stop.OUTPUT),
    ],
)
def test_more_messages_than_may_cross_end_the_guest_and_cannot_be_caught(flood: str, reason: Stop) -> None:
    ran = run(f"for (;;) try {{ {flood} }} catch {{}}", limits=Limits(output_bytes=1 << 20))
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == reason
    assert len(ran.messages) == MAX_MESSAGES == MAX_OUTPUT_ITEMS


def test_a_heap_that_was_freed_can_be_used_again() -> None:
    program = "let n = 0; for (let i = 0; i < 40; i++) { let s = 'x'.repeat(4e6) + i; n += s.length; s = null; } return n"
    assert run(program, limits=Limits(memory_bytes=12 << 20)).value == 160_000_070


def test_a_larger_limit_allows_more() -> None:
    program = "const a = []; for (let i = 0; i < 30; i++) a.push(new Uint8Array(1 << 20)); return a.length"
    assert run(program, limits=Limits(memory_bytes=64 << 20)).value == 30
    assert run(program, limits=Limits(memory_bytes=16 << 20)).outcome == Stopped(b"[]", Stop.MEMORY)


def test_strings_and_numbers_too_large_for_the_engine_are_errors_of_the_program() -> None:
    program = """const names = []; for (const f of [() => 'x'.repeat(2 ** 30), () => (1n << 2000000n) ** 99n, () => new Array(-1),
        () => new ArrayBuffer(1e15), () => Math.max(...new Array(1e5)), () => [].concat(...new Array(1e5).fill([1]))])
      { try { f(); names.push("none"); } catch (e) { names.push(e.name); } } return names"""
    assert run(program).value == ["RangeError"] * 6


# each has 200 bytes as JSON
@pytest.mark.parametrize(
    "write",
    [
        "text('é'.repeat(87) + '!')",
        "json('x'.repeat(174))",
        "text('\\n'.repeat(87) + '!')",
        "console.log('x'.repeat(161))",
    ],
)
def test_output_over_the_cap_ends_the_guest_and_what_fitted_is_kept(write: str) -> None:
    program = f"try {{ for (;;) {write} }} catch {{ return 'caught' }} finally {{ text('f') }}"
    ran = run(program, limits=Limits(output_bytes=1000))
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == Stop.OUTPUT
    assert len(ran.messages) == 5
    assert len(ran.outcome.messages) == 5 * 200 + len("[,,,,]")


@pytest.mark.guarantee("output-cap-holds")
@pytest.mark.parametrize("write", ["text('')", "console.log()", "json(1)"])
def test_what_counts_of_output_is_the_json_of_its_items(write: str) -> None:
    ran = run(f"for (let i = 0; i < 50_000; i++) {write}", limits=Limits())
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == Stop.OUTPUT
    item = msgspec.json.encode(ran.messages[0])
    assert len(ran.messages) == Limits().output_bytes // len(item)


def test_output_exactly_at_the_cap_is_allowed() -> None:
    cap, frame = Limits(output_bytes=1000), len('{"type":"text","text":""}')
    assert run(f"text('x'.repeat({999 - frame})); return 1", limits=cap).value == 1
    full = f"text('x'.repeat({1000 - frame})); return"
    assert run(full, limits=cap).failure["kind"] == "value_too_large"
    assert [message["text"] for message in run(full, limits=cap).messages] == ["x" * (1000 - frame)]


LONG_ITEMS = {
    "text": "text('a'.repeat(300_000) + 'z'.repeat(300_000))",
    "console": "console.warn('a'.repeat(300_000), 'z'.repeat(300_000))",
    "json": "json({ a: 'a'.repeat(300_000), z: 'z'.repeat(300_000) })",
    "text of a value": "text(['a'.repeat(300_000), 'z'.repeat(300_000)])",
    "what grows as JSON": "text('\\n'.repeat(20_000) + '\\u0001'.repeat(20_000))",
    "what is wide": "text('é'.repeat(30_000) + '😀'.repeat(30_000))",
}


@pytest.mark.guarantee("one-long-item-is-clipped")
@pytest.mark.parametrize("write", LONG_ITEMS)
def test_an_over_long_item_is_clipped_in_the_middle_and_the_program_goes_on(write: str) -> None:
    ran = run(f"{LONG_ITEMS[write]}; text('after'); return 1", limits=Limits())
    long, after = ran.messages
    assert ran.value == 1
    assert after["text"] == "after"
    assert long["type"] == "text"
    start, told, end = long["text"].split(" … ")
    left_out, whole = re.fullmatch(r"(\d+) of (\d+) bytes left out", told).groups()  # pyright: ignore[reportOptionalMemberAccess]
    assert int(whole) == long["clipped"] == int(left_out) + len((start + end).encode())
    assert len(msgspec.json.encode(long)) <= Limits().output_bytes // 2
    assert len(msgspec.json.encode(long)) > Limits().output_bytes // 2 - 200


def test_what_is_left_of_a_clipped_item_is_its_beginning_and_its_end() -> None:
    ran = run("text('abc' + 'é'.repeat(40_000) + 'xyz'); return 1", limits=Limits(output_bytes=1024))
    text = ran.messages[0]["text"]
    start, told, end = text.split(" … ")
    assert (start, end) == ("abc" + "é" * (len(start) - 3), "é" * (len(end) - 3) + "xyz")
    assert told == f"{80_006 - len((start + end).encode())} of 80006 bytes left out"


def test_each_long_item_takes_half_of_what_is_left_until_that_is_too_little() -> None:
    ran = run("for (;;) text('x'.repeat(1e5))", limits=Limits(output_bytes=4096))
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == Stop.OUTPUT
    sizes = [len(msgspec.json.encode(message)) for message in ran.messages]
    left = 4096
    for size in sizes:
        assert left // 2 - 200 < size <= left // 2
        left -= size
    assert left // 2 < 256


def test_the_output_cap_counts_one_leg() -> None:
    bounds = Limits(output_bytes=1000)
    with Watched(new_guest(bounds)) as watched:
        watched.guest.start("text('x'.repeat(900)); await tools.call('t'); text('y'.repeat(900)); return 1")
        delta = watched.guest.capture()
        assert watched.guest.deliver([Settlement(1)]) == Stopped(b"[]", Stop.OUTPUT)
    with Watched(new_guest(bounds)) as watched:
        watched.guest.restore(delta, bounds)
        outcome = watched.guest.deliver([Settlement(1)])
    assert isinstance(outcome, Done)


OUTLINES = {
    "return '€'.repeat(2000)": (6002, '"' + "€" * 19 + '…" (6002 bytes)'),
    "return Array.from({ length: 500 }, (_, i) => ({ id: i, tags: ['a'] }))": (
        11891,
        'array of 500 [{"id": 0, "tags": array of 1 ["a"]}, {"id": 1, "tags": array of 1 ["a"]}, '
        '{"id": 2, "tags": array of 1 ["a"]}, …]',
    ),
    "return { items: new Array(900).fill(7), total: 900, next: null }": (
        1835,
        'object of 3 keys {"items": array of 900 [7, 7, 7, …], "total": 900, "next": null}',
    ),
    "return new Map(new Array(300).fill(0).map((_, i) => [i, { a: 1n }]))": (
        4691,
        'array of 300 [array of 2 [0, {"a": "1"}], array of 2 [1, {"a": "1"}], array of 2 [2, {"a": "1"}], …]',
    ),
}


@pytest.mark.parametrize("program", OUTLINES)
def test_a_value_over_the_cap_fails_with_its_size_and_an_outline(program: str) -> None:
    ran = run(f"text('kept'); {program}", limits=Limits(output_bytes=1000))
    failure = ran.failure
    assert failure["kind"] == "value_too_large"
    assert (failure["bytes"], failure["outline"]) == OUTLINES[program]
    assert ran.texts == ["kept"]


WIDE = """const wide = (levels) => levels ? Object.fromEntries(Array.from({ length: 50 }, (_, i) =>
    ['\\u00e9\\n'.repeat(40) + i, wide(levels - 1)])) : '😀'.repeat(100); return wide(2)"""


@pytest.mark.parametrize(
    "program", [WIDE, "return new Array(300).fill(new Array(300).fill('\\u0001'.repeat(300)))"]
)
def test_an_outline_has_at_most_two_kilobytes(program: str) -> None:
    outline = run(program, limits=Limits(output_bytes=1000)).failure["outline"]
    assert 300 < len(outline.encode()) <= MAX_OUTLINE
    assert outline.count("{") - outline.count("}") == 0


def test_no_code_of_the_program_runs_for_an_outline() -> None:
    program = """let seen = 0; const a = { get x() { seen += 1; text(String(seen)); return 'x'.repeat(2000) } };
      return [a, { toJSON() { text('asked'); return 'y'.repeat(2000) } }]"""
    assert run(program, limits=Limits(output_bytes=1000)).texts == ["1", "asked"]


@pytest.mark.guarantee("batch-is-refused-whole")
@pytest.mark.parametrize(
    "batch",
    ["await Promise.all(Array.from({ length: 5 }, () => tools.call('t')))", "for (;;) tools.call('t').catch(() => 1)",
     "try { for (;;) tools.describe('t') } catch {} finally { tools.search('q') }"],
)  # fmt: skip
def test_a_batch_over_the_call_cap_ends_the_guest(batch: str) -> None:
    ran = run(f"text('before'); {batch}", limits=Limits(pending_calls=4))
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == Stop.CALLS


def test_the_call_cap_counts_calls_in_flight_and_not_calls_made() -> None:
    program = "for (let i = 0; i < 50; i++) await Promise.all([1, 2, 3, 4].map((n) => tools.call('t', n))); return 'done'"
    assert run(program, {"t": echo}, limits=Limits(pending_calls=4)).value == "done"


def test_calls_in_flight_from_an_earlier_batch_count() -> None:
    with Watched(new_guest(Limits(pending_calls=3))) as watched:
        first = watched.guest.start(
            "tools.call('a'); tools.call('b'); await tools.call('c'); tools.call('d'); await tools.call('e')"
        )
        assert isinstance(first, Idle)
        assert first.pending_calls == 3
        outcome = watched.guest.deliver([Settlement(3)])
    assert isinstance(outcome, Stopped)
    assert outcome.reason == Stop.CALLS


def test_arguments_over_the_message_limit_reject_that_call_only() -> None:
    program = "const e = await tools.call('t', 'x'.repeat(5000)).catch((e) => e); return [e.name, await tools.call('t', 'y')]"
    ran = run(program, {"t": echo}, limits=Limits(message_bytes=1000))
    assert ran.value == ["RangeError", "y"]
    assert len(ran.sent("call")) == 1


def test_a_result_larger_than_the_heap_ends_the_guest() -> None:
    ran = run(
        "return (await tools.call('t')).length",
        {"t": always("x" * (40 << 20))},
        limits=Limits(memory_bytes=16 << 20),
    )
    assert ran.outcome == Stopped(b"[]", Stop.MEMORY)


def test_a_result_nested_too_deeply_to_parse_rejects_its_call() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start("return await tools.call('t').catch((e) => e.name)")
        outcome = watched.guest.deliver([Settlement(1, b"[" * 300_000 + b"]" * 300_000)])
    assert isinstance(outcome, Done)
    assert json.loads(outcome.result)["value"] == "RangeError"


def test_a_result_that_is_no_json_rejects_its_call() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start("return await tools.call('t').catch((e) => e.name)")
        outcome = watched.guest.deliver([Settlement(1, b"{nope")])
    assert isinstance(outcome, Done)
    assert json.loads(outcome.result)["value"] == "SyntaxError"


def test_restoring_over_the_memory_limit_is_refused() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start(
            "const s = new Uint8Array(30 << 20).fill(7); await tools.call('t'); return s.length"
        )
        delta = watched.guest.capture()
    small = Limits(memory_bytes=1 << 20)
    with Watched(new_guest(small)) as watched, pytest.raises(MemoryError):
        watched.guest.restore(delta, small)


def test_an_unknown_settlement_is_passed_over() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start("return await tools.call('t')")
        assert isinstance(watched.guest.deliver([Settlement(99), Settlement(0), Settlement(2**32 - 1)]), Idle)
        outcome = watched.guest.deliver([Settlement(1, b"5"), Settlement(1, b"6")])
    assert isinstance(outcome, Done | Threw)
    assert json.loads(outcome.result if isinstance(outcome, Done) else b"{}")["value"] == 5
