"""Interruption: whatever a program computes, and whatever it does with exceptions, it stops, its output readable."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json
import threading

import pytest
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wire import Done, Idle, Interrupted

from tests.harness.guests import Watched, always, new_guest, run

SOON = 0.15

LOOPS = [
    "for (;;);",
    "while (true) {}",
    "do {} while (1)",
    "for (let i = 0; ; i++) Math.sqrt(i)",
    "for (;;) { try { for (;;); } catch {} }",
    "for (;;) { try { for (;;); } finally { continue } }",
    "try { for (;;); } catch { for (;;); } finally { for (;;); }",
    "const f = () => { try { f() } catch { f() } finally { f() } }; f()",
    "const spin = async () => { for (;;) await null }; await spin()",
    "const spin = () => queueMicrotask(spin); spin(); await new Promise(() => 1)",
    "const spin = () => Promise.resolve().then(spin, spin); spin(); await new Promise(() => 1)",
    "await { then(done) { done(this) } }",
    "for await (const x of (async function* () { for (;;) yield 1 })());",
    "for (const x of (function* () { for (;;) yield 1 })());",
    "/(a*)*b/.test('a'.repeat(30))",
    "/((a+)+)+$/.test('a'.repeat(40) + 'b')",
    "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))",
    "'a'.repeat(35).replace(/(a|aa)+$/g, (m) => m + 'b').match(/(x+x+)+y/) ?? /(x+x+)+y/.test('x'.repeat(40))",
    "[3, 2, 1].sort(() => { for (;;); })",
    "({ get x() { for (;;); } }).x",
    "new Proxy({}, { get() { for (;;); } }).x",
    "`${{ toString() { for (;;); } }}`",
    "JSON.stringify({ toJSON() { for (;;); } })",
    "JSON.parse('[1]', () => { for (;;); })",
    "return { toJSON() { for (;;); } }",
    "return { get a() { for (;;); } }",
    "return new Proxy({}, { ownKeys() { for (;;); } })",
    "return { toJSON() { try { for (;;); } catch { for (;;); } } }",
    "text({ toJSON() { for (;;); } })",
    "console.log({ get a() { for (;;); } })",
    "await tools.call('t', { get a() { for (;;); } })",
    "new Map([[1, 2]]).forEach((v, k, m) => { for (let i = 0; ; i++) { m.delete(i); m.set(i + 1, 1); } })",
    "setTimeout(() => { for (;;); }); await new Promise(() => 1)",
    "eval('for (;;);')",
    "new Function('for (;;);')()",
    "class A { static { for (;;); } }",
    "let s = ''; for (;;) s = (s + 'x').slice(-10)",
    "for (;;) structuredClone({ a: [1] })",
    "for (;;) new URL('http://h/')",
    "for (;;) { try { throw new Error('x') } catch {} }",
    "for (;;) { try { null.x } catch {} }",
    "label: for (;;) { for (;;) continue label }",
    "await new Promise(() => { for (;;); })",
    "Array.from({ length: 1e9, get 5() { for (;;); } })",
    "const o = {}; o[Symbol.iterator] = function* () { for (;;) yield 1 }; const [a, b] = o; for (const x of o);",
]


@pytest.mark.guarantee("interruption-keeps-output")
@pytest.mark.parametrize("loop", LOOPS)
def test_a_program_that_computes_is_interrupted_and_its_output_is_kept(loop: str) -> None:
    ran = run(f"text('before'); json([1]);\n{loop}", {"t": always(1)}, seconds=SOON)
    assert isinstance(ran.outcome, Interrupted)
    assert ran.messages[:2] == [{"type": "text", "text": "before"}, {"type": "json", "value": [1]}]


def test_a_program_that_swallows_the_interruption_gets_nothing_out_any_more() -> None:
    program = """text("before");
      try { for (;;); } catch { text("caught"); } finally { text("finally"); }
      await tools.call("t"); return "survived" """
    ran = run(program, seconds=SOON)
    assert isinstance(ran.outcome, Interrupted)
    assert ran.texts == ["before"]


def test_a_promise_that_catches_the_interruption_does_not_go_on() -> None:
    ran = run(
        "(async () => { for (;;); })().catch(() => text('caught')).finally(() => text('f')); return 1",
        seconds=SOON,
    )
    assert isinstance(ran.outcome, Interrupted)
    assert ran.texts == []


def test_an_interruption_before_the_start_does_not_linger_in_another_guest() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.interrupt()
        assert isinstance(watched.guest.start("for (;;);"), Interrupted)
    assert run("return 1").value == 1


def test_an_idle_guest_that_was_interrupted_stops_when_it_is_entered() -> None:
    with Watched(new_guest()) as watched:
        assert isinstance(watched.guest.start("await tools.call('t'); text('on'); return 1"), Idle)
        watched.guest.interrupt()
        assert watched.guest.deliver([Settlement(1)]) == Interrupted(b"[]")


def test_a_delta_taken_before_an_interruption_goes_on_elsewhere() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start("await tools.call('t'); return 'on'")
        delta = watched.guest.capture()
        watched.guest.interrupt()
        assert isinstance(watched.guest.deliver([Settlement(1)]), Interrupted)
    with Watched(new_guest()) as watched:
        watched.guest.restore(delta, Limits())
        assert isinstance(watched.guest.deliver([Settlement(1)]), Done)


def test_messages_can_be_read_by_another_thread_while_the_guest_computes() -> None:
    seen: list[bytes] = []
    with Watched(new_guest()) as watched:
        guest = watched.guest

        def read_then_interrupt() -> None:
            while b"second" not in (found := guest.read_messages()):
                pass
            seen.append(found)
            guest.interrupt()

        reader = threading.Thread(target=read_then_interrupt)
        reader.start()
        outcome = guest.start("text('first'); text('second'); for (;;);")
        reader.join()
    assert isinstance(outcome, Interrupted)
    assert json.loads(seen[0]) == [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]
