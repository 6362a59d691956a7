"""Deep recursion of every shape is an error the program can catch, never a trap or a dead process.

The shapes run in one subprocess, so that a crash is seen and named: `python -m tests.runtime.test_guest_stack`.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json
from functools import cache
from typing import Any

import pytest
from codemode_runtime.guest import GuestOutcome
from codemode_runtime.wire import Done, Interrupted, Stopped, Threw

from tests.harness.guests import always, run
from tests.harness.processes import python

RECURSION = [
    "const f = () => 1 + f(); f()",
    "const f = async () => { await f() }; await f()",
    "class A { constructor() { new A() } } new A()",
    "class A { x = new A() } new A()",
    "const o = { get x() { return o.x } }; o.x",
    "const o = { set x(v) { o.x = v } }; o.x = 1",
    "const o = { toString() { return '' + o } }; '' + o",
    "const o = { valueOf() { return +o } }; +o",
    "const o = { [Symbol.toPrimitive]() { return `${o}` } }; `${o}`",
    "function* g() { yield* g() } g().next()",
    "async function* g() { yield* g() } for await (const x of g());",
    "const p = new Proxy({}, { get(t, k, r) { return r[k] } }); p.x",
    "const p = new Proxy({}, { has(t, k) { return k in p } }); 'x' in p",
    "const p = new Proxy(function () {}, { apply() { return p() } }); p()",
    "const p = new Proxy(class {}, { construct() { return new p() } }); new p()",
    "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x",
    "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x = 1",
    "let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); Object.keys(p)",
    "let p = () => 1; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p()",
    "let it = [1].values(); for (let i = 0; i < 6e4; i++) it = it.take(5); [...it]",
    "let it = [1].values(); for (let i = 0; i < 6e4; i++) it = it.drop(0); it.toArray()",
    "let it = [1].values(); for (let i = 0; i < 6e4; i++) it = it.map((x) => x); Array.from(it)",
    "let it = [1].values(); for (let i = 0; i < 6e4; i++) it = it.filter(() => true); for (const x of it);",
    "let it = [1].values(); for (let i = 0; i < 6e4; i++) { const inner = it; it = [1].values().flatMap(() => inner) } for (const x of it);",
    "let it = [1].values(); for (let i = 0; i < 1e5; i++) it = it.take(5); it.next()",
    "let it = [1].values(); for (let i = 0; i < 1e5; i++) it = Iterator.concat(it); it.next()",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a.flat(Infinity)",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)",
    "JSON.parse('['.repeat(1e6))",
    "JSON.parse('{\"a\":'.repeat(1e6))",
    "JSON.stringify({ toJSON() { return JSON.stringify(this) } })",
    "JSON.parse('[1]', function f() { return JSON.parse('[1]', f) })",
    "[3, 2].sort(function c() { return [2, 1].sort(c)[0] })",
    "[1].map(function f() { return [1].map(f) })",
    "[1, 2].reduce(function f() { return [1, 2].reduce(f) })",
    "new Map([[1, 2]]).forEach(function f(v, k, m) { m.forEach(f) })",
    "'a'.replace(/a/, function f() { return 'a'.replace(/a/, f) })",
    "Reflect.apply(function f() { return Reflect.apply(f, null, []) }, null, [])",
    "(function f() { return f.call() })()",
    "(function f() { return f.bind()() })()",
    "(function f() { return eval('f()') })()",
    "(function f() { try { f() } finally { f.n = 1 } })()",
    "Object.defineProperty(Array, Symbol.species, { get() { return [1].map((x) => x) } }); [1].map((x) => x)",
    "const e = { get message() { return e.message } }; e.message",
    "Math.max(...new Array(1e6).fill(1))",
    "Math.max.apply(null, new Array(1e6).fill(1))",
    "String.fromCharCode(...new Array(1e6).fill(65))",
    "eval('('.repeat(1e5))",
    "eval('['.repeat(1e5))",
    "eval('{'.repeat(1e5))",
    "eval('!'.repeat(1e6) + '1')",
    "eval('a=>'.repeat(1e5) + '1')",
    "eval('`${'.repeat(1e5))",
    "eval('if(1)'.repeat(1e5) + ';')",
    "eval('1?'.repeat(1e5) + '1' + ':1'.repeat(1e5))",
    "eval('f('.repeat(1e5))",
    "eval('new '.repeat(1e5) + 'x')",
    "eval('try{'.repeat(1e5))",
    "eval('for(;;)'.repeat(1e5) + ';')",
    "eval('typeof '.repeat(1e6) + '1')",
]  # fmt: skip

# refused, or done without recursion: either is fine, a dead guest is not
ANY_ERROR = [
    "const f = (...a) => f(...a, 1); f()",
    "(function f() { return new Function('f', 'return f()')(f) })()",
    "eval('({a:'.repeat(1e5))",
    "eval('async()=>{'.repeat(1e4))",
    "eval('function f(){'.repeat(1e4) + '}'.repeat(1e4))",
    "eval('class A extends '.repeat(1e4) + 'B{}')",
    "eval('1**'.repeat(1e5) + '1')",
    "eval('1+'.repeat(1e6) + '1')",
    "eval('x.'.repeat(1e5) + 'x')",
    "eval('switch(1){case 1:'.repeat(1e4))",
    "eval('let ' + '['.repeat(1e5))",
    "eval('`'.repeat(1e5))",
    "eval('(a='.repeat(1e4))",
    "eval('[a=['.repeat(1e4))",
    "new RegExp('('.repeat(1e5))",
    "new RegExp('(?:'.repeat(1e6) + ')'.repeat(1e6))",
    "new RegExp('(?='.repeat(1e5) + ')'.repeat(1e5))",
    "new RegExp('['.repeat(1e5), 'v')",
    "new RegExp('(?:a|'.repeat(1e5) + ')'.repeat(1e5))",
    "new RegExp('a{1000}'.repeat(100))",
    "let f = () => 1; for (let i = 0; i < 5000; i++) f = f.bind(null); f()",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; structuredClone(a)",
    "let a = []; for (let i = 0; i < 1e4; i++) a = [a]; JSON.stringify(a)",
    "let p = {}; for (let i = 0; i < 1e5; i++) p = Object.create(p); p.x",
    "let a = {}; for (let i = 0; i < 2e5; i++) a = { a }; a = null",
    "let e = new Error('a'); for (let i = 0; i < 1e5; i++) e = new Error('x', { cause: e }); throw e",
    "let g = (function* () { yield 1 })(); for (let i = 0; i < 1e4; i++) g = g.map((x) => x); [...g]",
    "let r = Promise.resolve(1); for (let i = 0; i < 1e4; i++) { const q = r; r = new Promise((s) => s(q)) } await r",
    "/(?:a|b)*c/.test('a'.repeat(1e4))",
    "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; text(a); json(a); await tools.call('t', a)",
    "JSON.parse('['.repeat(5e4) + ']'.repeat(5e4))",
]  # fmt: skip

TEXTS = [
    "(",
    "[",
    "{",
    "!",
    "`${",
    "a=>",
    "f(",
    "if(1)",
    "new ",
    "/*",
    "'",
    "async()=>{",
    "({a:",
    "- -",
    "(function(){",
]


def outcome_of(program: str) -> str:
    return describe(run(program, {"t": always(1)}, seconds=10).outcome)


def describe(outcome: GuestOutcome) -> str:
    match outcome:
        case Done(_, result):
            return f"value {json.loads(result)['value']}"
        case Threw(_, failure):
            found: dict[str, Any] = json.loads(failure)
            return f"failed {found['error']['name']}"
        case Stopped(_, reason):
            return f"stopped {reason.name}"
        case Interrupted():
            return "interrupted"
        case _:
            return "idle"


def guarded(shape: str) -> str:
    return f"try {{ {shape}; return 'finished' }} catch (e) {{ return e.name }}"


def programs() -> dict[str, str]:
    shapes = {shape: guarded(shape) for shape in [*RECURSION, *ANY_ERROR]}
    return shapes | {f"text {opening}": opening * 100_000 for opening in TEXTS}


@cache
def outcomes() -> dict[str, str]:
    """What each program came to, from a subprocess; the one it died in has no outcome."""
    ran = python("-m", "tests.runtime.test_guest_stack")
    return dict(json.loads(line) for line in ran.stdout.splitlines())


@pytest.mark.guarantee("recursion-is-catchable")
@pytest.mark.parametrize("shape", RECURSION)
def test_deep_recursion_is_a_range_error_the_program_can_catch(shape: str) -> None:
    assert outcomes().get(shape) == "value RangeError"


@pytest.mark.parametrize("shape", ANY_ERROR)
def test_deep_nesting_is_done_or_refused_by_an_error_the_program_can_catch(shape: str) -> None:
    assert outcomes().get(shape) in {
        "value finished", "value RangeError", "value SyntaxError", "value InternalError", "value ReferenceError",
        "value TypeError", "value Error", "stopped MEMORY",
    }  # fmt: skip


@pytest.mark.parametrize("opening", TEXTS)
def test_a_program_nested_too_deeply_to_parse_fails_before_it_runs(opening: str) -> None:
    assert outcomes().get(f"text {opening}") in {"failed RangeError", "failed SyntaxError"}


def test_a_guest_that_overflowed_goes_on_and_can_be_suspended() -> None:
    program = """let caught = 0; const f = () => 1 + f();
      for (let i = 0; i < 20; i++) { try { f(); } catch { caught++; } await tools.call("t"); } return caught"""
    assert run(program, {"t": always(1)}, "every_await").value == 20


if __name__ == "__main__":
    for name, program in programs().items():
        print(json.dumps([name, outcome_of(program)]), flush=True)
