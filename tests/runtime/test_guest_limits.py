"""Limits that no program can catch: heap, output, pending calls; and those of a single value."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json

import pytest
from codemode_runtime.batches import MAX_MESSAGES
from codemode_runtime.shapes import MAX_OUTPUT_ITEMS, Limits, Settlement, Stop
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
    ran = run(f"for (;;) try {{ {flood} }} catch {{}}")
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


@pytest.mark.parametrize(
    "write", ["text('é'.repeat(100))", "json('x'.repeat(198))", "console.log('x'.repeat(200))"]
)
def test_output_over_the_cap_ends_the_guest_and_what_fitted_is_kept(write: str) -> None:
    program = f"try {{ for (;;) {write} }} catch {{ return 'caught' }} finally {{ text('f') }}"
    ran = run(program, limits=Limits(output_bytes=1000))
    assert isinstance(ran.outcome, Stopped)
    assert ran.outcome.reason == Stop.OUTPUT
    assert len(ran.messages) == 5


def test_output_exactly_at_the_cap_is_allowed() -> None:
    assert run("text('x'.repeat(999)); return 1", limits=Limits(output_bytes=1000)).value == 1
    assert (
        run("text('x'.repeat(1000)); return", limits=Limits(output_bytes=1000)).failure["kind"]
        == "value_too_large"
    )
    assert run("text('x'.repeat(1001)); return 1", limits=Limits(output_bytes=1000)).outcome == Stopped(
        b"[]", Stop.OUTPUT
    )


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


def test_a_value_over_the_cap_fails_with_its_size_and_first_bytes() -> None:
    ran = run("text('kept'); return '€'.repeat(2000)", limits=Limits(output_bytes=1000))
    failure = ran.failure
    assert failure["kind"] == "value_too_large"
    assert failure["bytes"] == 6002
    assert failure["head"] == '"' + "€" * 66
    assert ran.texts == ["kept"]


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
