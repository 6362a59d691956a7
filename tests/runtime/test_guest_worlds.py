"""Worlds in the guest: what a program leaves to the next one, and what it cannot do to it."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import json
from typing import Any

import pytest
from codemode_runtime.guest import Guest, GuestOutcome
from codemode_runtime.shapes import Limits, Lookup, Settlement
from codemode_runtime.wire import Done, Idle, Threw

from tests.harness.guests import Offer, new_guest

TOOLS = Offer(
    {(Lookup.TOOL, "echo"): "openclaw:core:echo", (Lookup.TOOL_NAMES, ""): {"echo": "openclaw:core:echo"}}
)


class Session:
    """Runs programs one after the other, each in a fresh guest with the world that the one before has left."""

    def __init__(self) -> None:
        self.delta = b""
        self.names: dict[str, str] = {}
        self.sent: list[dict[str, Any]] = []

    def run(self, program: str, offer: Offer = TOOLS, answer: Any = None) -> Any:
        """The value, or the error's name and message; every call is answered with `answer`."""
        limits = Limits(output_bytes=1 << 20)
        guest = new_guest(limits, offer)
        try:
            if self.delta:
                guest.restore(self.delta, limits)
            return self._finish(guest, guest.start(program, keeps=True), answer)
        finally:
            guest.close()

    def _finish(self, guest: Guest, outcome: GuestOutcome, answer: Any) -> Any:
        self.sent = []
        while isinstance(outcome, Idle):
            messages = json.loads(outcome.messages)
            self.sent += messages
            calls = [one["id"] for one in messages if one["type"] in ("call", "timer", "yield")]
            outcome = guest.deliver([Settlement(one, json.dumps(answer).encode()) for one in calls])
        if isinstance(outcome, Threw):
            error = json.loads(outcome.failure)["error"]
            return error["name"], error["message"]
        assert isinstance(outcome, Done), outcome
        self.sent += json.loads(outcome.messages)
        value = json.loads(outcome.result)["value"]
        self.names = dict(json.loads(guest.rest()))
        self.delta = guest.capture()
        return value


@pytest.fixture
def session() -> Session:
    return Session()


def test_every_kind_of_declaration_is_there_by_name_in_the_next_program(session: Session) -> None:
    session.run(
        "const a = 1; let b = 2; var c = 3; function f() { return a + b + c } async function g() { return f() }"
        " function* h() { yield a } class K { #p = 4; get() { return this.#p } }"
        " const { d, e: [i = 5, ...j], ...k } = { d: 6, e: [undefined, 7], l: 8 };"
        " for (var n = 0; n < 2; n++) { var deep = n }"
    )
    value = session.run("return [a, b, c, f(), await g(), [...h()], new K().get(), d, i, j, k, n, deep]")
    assert value == [1, 2, 3, 6, 6, [1], 4, 6, 5, [7], {"l": 8}, 2, 1]
    assert session.names["K"] == "function"
    assert session.names["k"] == "Object"
    assert session.names["j"] == "Array"
    assert "e" not in session.names


def test_what_stands_in_a_block_a_function_or_a_loop_stays_there(session: Session) -> None:
    session.run(
        "{ let inner = 1; const other = 2; function local() {} } (() => { var hidden = 1 })(); for (const each of [1]) {}"
    )
    assert (
        session.run("return [typeof inner, typeof other, typeof local, typeof hidden, typeof each]")
        == ["undefined"] * 5
    )
    assert session.names == {}


def test_a_name_may_be_declared_anew_in_any_way(session: Session) -> None:
    ways = [
        "const x = N",
        "let x = N",
        "var x = N",
        "class x { static n = N }",
        "function x() { return N }",
        "const { x } = { x: N }",
    ]
    for at, way in enumerate([*ways, *reversed(ways), *ways]):
        assert session.run(way.replace("N", str(at))) is None
        assert session.run("return typeof x === 'function' ? (x.n ?? x()) : x") == at


def test_a_const_stays_one_and_what_is_not_declared_is_an_error(session: Session) -> None:
    session.run("const x = 1")
    assert session.run("x = 2") == ("TypeError", "'x' is read-only")
    assert session.run("y = 2") == ("ReferenceError", "y is not defined")
    assert session.run("return x") == 1


def test_within_a_program_a_name_cannot_be_used_before_its_declaration(session: Session) -> None:
    session.run("const x = 1; const get = () => x")
    assert session.run("const x = x + 1") == ("ReferenceError", "x is not initialized")
    assert session.run("typeof x; let x") == ("ReferenceError", "x is not initialized")
    assert session.run("const seen = get(); const x = 2") == ("ReferenceError", "x is not initialized")
    assert session.run("return x") == 1


def test_a_declaration_that_is_never_reached_leaves_what_was_there(session: Session) -> None:
    session.run("const x = 1; let y = 2")
    assert session.run("return x0; const x0 = 1") == ("ReferenceError", "x0 is not initialized")
    assert session.run("if (true) return 5; const x = 9; let z = 1") == 5
    assert session.run("return [x, typeof z]") == [1, "undefined"]


def test_var_without_a_value_keeps_the_one_there_is_and_let_does_not(session: Session) -> None:
    session.run("var x = 1; let y = 2")
    assert session.run("var x; let y; return [x, y]") == [1, None]


def test_a_redeclared_name_is_new_for_earlier_closures_too(session: Session) -> None:
    session.run(
        "const rate = 2; function price(n) { return n * rate } function total(n) { return price(n) + 1 }"
    )
    assert session.run("const rate = 3; return total(10)") == 31
    assert session.run("function price(n) { return n } return total(10)") == 11


def test_early_errors_are_those_of_one_program(session: Session) -> None:
    assert session.run("let a; let a") == ("SyntaxError", "invalid redefinition of lexical identifier")
    assert session.run("let b; var b")[0] == "SyntaxError"
    assert session.run("let c; function c() {}")[0] == "SyntaxError"
    assert session.run("{ var d } let d")[0] == "SyntaxError"
    assert session.run("const e") == ("SyntaxError", "missing initializer for variable")
    assert session.run("return 1") == 1
    assert session.names == {}


def test_everything_reachable_keeps_its_identity(session: Session) -> None:
    session.run(
        "const map = new Map(); const me = { map }; me.me = me; map.set(me, Symbol.for('s'));"
        " const it = (function* () { yield 1; yield 2 })(); it.next(); const weak = new WeakMap([[me, 'w']]);"
        " class A { static all = new Set(); constructor() { A.all.add(this) } } const a = new A()"
    )
    value = session.run(
        "return [me.me === me, map.get(me) === Symbol.for('s'), it.next().value, weak.get(me), A.all.has(a), a instanceof A]"
    )
    assert value == [True, True, 2, "w", True, True]


def test_a_stack_tells_functions_of_earlier_programs_apart(session: Session) -> None:
    session.run("\n\nfunction thrower() { throw new Error('x') }")
    stack = session.run("try { thrower() } catch (e) { return e.stack }")
    assert stack == "    at thrower (earlier:3:32)\n    at program (program:1:7)\n"


def test_call_ids_and_the_clock_begin_anew_and_timers_end_with_their_program(session: Session) -> None:
    session.run("await tools.echo(1); let late = 0; setTimeout(() => { late = 1 }, 1); void yield_control()")
    assert session.run("await tools.echo(2); return [late, performance.now() < 60000]", answer=2) == [0, True]
    assert [one["id"] for one in session.sent] == [1]


def test_memory_that_a_program_dropped_does_not_stay(session: Session) -> None:
    session.run("let x = 1")
    small = len(session.delta)
    session.run(
        "let big = []; for (let i = 0; i < 20000; i++) big.push({ i, me: big }); x = big.length; big = null"
    )
    session.run("const ring = {}; ring.ring = ring; let other = { ring }")
    session.run("let other = 0")
    assert session.run("return x") == 20000
    assert len(session.delta) < small + 2_000


def test_a_hundred_programs_leave_what_they_hold_and_nothing_of_each_program(session: Session) -> None:
    session.run("const list = []; function push(n) { list.push(n) }")
    after_ten = 0
    for at in range(100):
        session.run(f"const last = {at}; let text = 'x'; push({at}); (function local() {{ return {at} }})()")
        if at == 9:
            after_ten = len(session.delta)
    assert session.run("return [list.length, last]") == [100, 99]
    assert len(session.delta) < after_ten + 1_000  # a hundred small numbers


# ---- what one program cannot do to the next ----------------------------------------------------------------

API = [
    "tools",
    "ALL_TOOLS",
    "MCP",
    "API",
    "namespaces",
    "text",
    "json",
    "image",
    "file",
    "yield_control",
    "console",
    "setTimeout",
    "clearTimeout",
]


@pytest.mark.guarantee("worlds-have-their-own-api")
@pytest.mark.parametrize("name", API)
def test_a_declaration_with_the_name_of_the_api_is_its_programs_own(session: Session, name: str) -> None:
    assert session.run(f"const {name} = 'mine'; const see = () => {name}; return see()") == "mine"
    assert session.run(f"return [typeof {name} !== 'string', see()]") == [True, "mine"]
    assert session.run(f"var {name} = 1; function f() {{ return {name} }} return f()") == 1
    assert session.run(f"return {name} === 1") is False


@pytest.mark.guarantee("worlds-have-their-own-api")
def test_no_leftover_forges_a_call_or_its_result(session: Session) -> None:
    """Everything that a program can replace, replaced by one that calls something else or answers itself."""
    session.run(
        """
        const evil = () => { throw new Error("evil") };
        for (const proto of [Object.prototype, Array.prototype, Function.prototype, String.prototype]) {
          for (const name of ["toJSON", "then", "get", "set", "value", "resolve", "id", "target", "method", "call", "apply"]) {
            if (Object.hasOwn(proto, name)) continue;
            Object.defineProperty(proto, name, { get: evil, set: evil, configurable: true });
          }
        }
        JSON.stringify = JSON.parse = Promise.resolve = Promise.prototype.then = Promise.all = evil;
        Object.defineProperty = Object.freeze = Object.keys = Reflect.apply = evil;
        globalThis.Promise = globalThis.JSON = globalThis.Error = evil;
        Array.prototype[Symbol.iterator] = evil;
        """
    )
    assert session.run("return await tools.echo({ a: [1] })", answer=41) == 41
    assert session.sent == [
        {"type": "call", "id": 1, "method": "call", "target": "openclaw:core:echo", "args": [{"a": [1]}]}
    ]


@pytest.mark.guarantee("worlds-have-their-own-api")
@pytest.mark.parametrize(
    "left",
    [
        "Object.prototype.then = function (done) { done('forged') }",
        "Array.prototype.then = function (done) { done('forged') }",
        "Object.defineProperty(Object.prototype, 'then', { get: () => (done) => done('forged') })",
        "Promise.prototype.then = (done) => done('forged'); Promise.prototype.constructor = Object",
        "Object.defineProperty(Promise.prototype, 'constructor', { get: () => Object }); Object.freeze(Promise.prototype)",
        "class Mine extends Promise {} Object.defineProperty(Promise, Symbol.species, { get: () => Mine }); Mine.prototype.then = (done) => done('forged')",
        "Promise.all = Promise.resolve = Promise.race = () => ({ then: (done) => done('forged') }); Object.freeze(Promise)",
        "Object.setPrototypeOf(Array.prototype, { then: (done) => done('forged') })",
        "delete Promise.prototype.then; delete Promise.prototype.constructor; delete Promise.prototype.catch",
    ],
)
def test_nothing_left_behind_stands_between_a_call_and_its_result(session: Session, left: str) -> None:
    session.run(left)
    program = (
        "const a = await tools.echo(1); const b = await tools.echo(2).then((x) => x).catch(() => 0).finally(() => {});"
        " const [c] = await Promise.all([tools.echo(3)]); return [a, b, c]"
    )
    for answer in ({"real": [1]}, [{"real": 1}]):
        assert session.run(program, answer=answer) == [answer, answer, answer]


@pytest.mark.guarantee("worlds-have-their-own-api")
def test_tools_are_those_of_the_new_run(session: Session) -> None:
    session.run("const kept = tools.echo; const all = Object.keys(tools)")
    other = Offer(
        {
            (Lookup.TOOL, "read"): "openclaw:core:read",
            (Lookup.TOOL_NAMES, ""): {"read": "openclaw:core:read"},
            (Lookup.ALL_TOOLS, ""): [{"id": "openclaw:core:read"}],
        }
    )
    value = session.run(
        "await kept(1).catch(() => {}); return [typeof tools.echo, typeof tools.read, Object.keys(tools), ALL_TOOLS[0].id]",
        other,
    )
    assert value == ["undefined", "function", ["search", "describe", "call", "read"], "openclaw:core:read"]
    assert session.sent[0]["target"] == "openclaw:core:echo"  # the host has no such tool in this run


NAMESPACE = Offer(
    {(Lookup.NAMESPACES, ""): {"fleet": {"o": {"find": {"c": "fleet.find", "m": "namespace"}}}}},
    has_namespaces=True,
)


@pytest.mark.guarantee("worlds-have-their-own-api")
@pytest.mark.parametrize(
    "left",
    [
        "const fleet = { find: () => 'forged' }",
        "globalThis.fleet = { find: () => 'forged' }",
        "Object.defineProperty(globalThis, 'fleet', { value: { find: () => 'forged' } })",
        "Object.defineProperty(globalThis, 'fleet', { get: () => ({ find: () => 'forged' }) })",
        "Object.freeze(globalThis)",
        "Object.setPrototypeOf(globalThis, new Proxy({}, { get: () => 'forged', has: () => true }))",
    ],
)
def test_a_namespace_of_the_new_run_is_its_own_whatever_was_left(session: Session, left: str) -> None:
    session.run(left)
    assert session.run("return await fleet.find(1)", NAMESPACE, answer="real") == "real"
    assert session.sent[0]["target"] == "fleet.find"
    assert session.run("return [Object.hasOwn(globalThis, 'fleet'), Object.keys(namespaces)]") == [False, []]


@pytest.mark.guarantee("worlds-have-their-own-api")
def test_finalizers_jobs_and_rejections_of_an_earlier_program_do_not_run(session: Session) -> None:
    session.run(
        """
        const registry = new FinalizationRegistry((what) => tools.call("evil", what));
        let target = {}; registry.register(target, "gone", target); registry.register({}, "at once");
        const hidden = new FinalizationRegistry(() => tools.call("evil")); let ring = { hidden }; ring.ring = ring; hidden.register(ring, 1);
        """
    )
    session.run(
        "target = null; ring = null; const more = []; for (let i = 0; i < 5000; i++) more.push({ i, more })"
    )
    assert session.sent == []
    assert (
        session.run(
            "registry.register({}, 'new'); registry.unregister({}); await tools.echo(1); return 'fine'"
        )
        == "fine"
    )
    assert [one["target"] for one in session.sent if one["target"] == "evil"] == [
        "evil"
    ]  # this program's own


def test_deep_and_wide_leftovers_are_dropped_in_one_go(session: Session) -> None:
    session.run("let chain = null; for (let i = 0; i < 100000; i++) chain = { chain }")
    session.run("chain = null; const many = {}; for (let i = 0; i < 20000; i++) many['k' + i] = i")
    assert session.run("return Object.keys(many).length") == 20000


def test_many_declarations_are_compiled_and_told_within_bounds(session: Session) -> None:
    session.run(";".join(f"let v{at} = {at}" for at in range(5_000)))
    assert session.run("return v0 + v4999") == 4999
    assert len(session.names) <= 1_000
