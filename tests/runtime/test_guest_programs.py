"""A program is the body of a strict async function: its value, its positions, and the wrapper that is none."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from typing import Any

import pytest
from codemode_runtime.wire import Threw

from tests.harness.guests import ToolFailed, echo, run


def refuse(*_: object) -> object:
    raise ToolFailed(message="refused", code="denied")


TOOLS: dict[str, Any] = {"ok": echo, "fail": refuse}


@pytest.mark.parametrize(
    ("program", "value"),
    [("return 5", 5), ("5", None), ("", None), ("   \n\t", None), ("// only a comment", None), ("return", None),
     ("return // done", None), ("if (true) return", None), ("return\n5", None), ("return;", None), ("await 5", None),
     ("return await 5", 5), ("return Promise.resolve(5)", 5), ("const f = () => 1; f", None), ("({ a: 1 })", None),
     ("for (const x of [1, 2]) { if (x === 2) return x }", 2), ("#!/usr/bin/env node\nreturn 1", 1), ("return 1//", 1),
     ("return 1 /* c */", 1), ("var x = 1; { let x = 2 } return x", 1), ("return ((a, b) => a + b)(1, 2)\n\n", 3),
     ("\ufeffreturn 7", 7)],
)  # fmt: skip
def test_only_return_makes_a_value(program: str, value: object) -> None:
    assert run(program).value == value


# text that tries to end the function it is in, or to begin something outside it
CLOSERS = [
    "}", "})", "});", "} return 1; {", "}); globalThis.x = 1; (async function(){", "}}", "*/", "/*", "`", "${", "return `${", "'", '"',
    "})()", "]", ")", "} catch {", "} finally {", "}, 1);(", "\\u007d", "};", "}\n//", "//\n}", "//\r}", "//\u2028}", "//\u2029}",
    "<!--\n}", "-->\n}", "#!x\n}", "/*\n*/}", "}//", "return 1}\n/*", "async () => {", "(", "[", "{", "class A {", "function f() {",
    "if (1) {", "case 1:", "else {}", "/(/", "/[/", "\\", "\0}", "@", "#x", "..", "=>", "%", "yield 1", "import x from 'y'",
    "export default 1", "import.meta", "new.target", "super()", "with ({}) {}", "let let = 1", "let await = 1", "0777", "delete x",
    "arguments = 1", "eval = 1", "function f(a, a) {}", "'\\07'", "return 1 2", "let a; let a;", "break", "continue",
]  # fmt: skip


@pytest.mark.guarantee("wrapper-cannot-be-closed")
@pytest.mark.parametrize("program", CLOSERS)
def test_text_that_is_no_function_body_is_a_syntax_error_and_nothing_runs(program: str) -> None:
    for text in (program, "text('ran');\n" + program, program + "\ntext('ran')"):
        if text.startswith("#!"):
            continue
        ran = run(text)
        assert isinstance(ran.outcome, Threw), text
        assert ran.failure["kind"] == "syntax"
        assert ran.failure["error"]["name"] == "SyntaxError"
        assert ran.messages == []


def test_a_program_cannot_see_or_change_the_function_it_is_in() -> None:
    program = """const seen = []; for (const read of [() => arguments.callee, () => program, () => (function f() { return f.caller; })()])
      { try { seen.push(typeof read()); } catch (e) { seen.push(e.name); } } return [seen, arguments.length, this === undefined]"""
    assert run(program).value == [["TypeError", "ReferenceError", "TypeError"], 0, True]


STRICT = {
    "undeclared = 1": "ReferenceError",
    "Object.freeze({ a: 1 }).a = 2": "TypeError",
    "delete Object.prototype": "TypeError",
    "(function () { return this })().x": "TypeError",
    "NaN = 1": "TypeError",
    "undefined = 1": "TypeError",
    "'abc'.length = 1": "TypeError",
    "(5).x = 1": "TypeError",
}


@pytest.mark.parametrize("program", STRICT)
def test_programs_are_strict(program: str) -> None:
    assert run(program).failure["error"]["name"] == STRICT[program]


def test_class_fields_have_define_semantics() -> None:
    program = """const log = []; class A { set f(v) { log.push("setter"); } constructor() { log.push(Object.keys(this).join()); } }
      class B extends A { f = 9; g; ["h" + 1] = this.f; } const b = new B(); return [b.f, "g" in b, b.h1, log]"""
    assert run(program).value == [9, True, 9, [""]]


# a program, and where its error is: line and column from 1:1; columns count UTF-8 bytes, as in compile.positions
POSITIONS = {
    "let x = ;": (1, 9),
    "\nlet x = ;": (2, 9),
    "\r\nlet x = ;": (2, 9),
    "\rlet x = ;": (2, 9),
    "\u2028let x = ;": (2, 9),
    "/*\n\n*/ let x = ;": (3, 12),
    "`\n\n`; let x = ;": (3, 12),
    "#!node\nlet x = ;": (2, 9),
    "'é'; let x = ;": (1, 15),
    "'😀'; let x = ;": (1, 17),
    "foo bar": (1, 5),
    "throw new Error('x')": (1, 11),
    "\n  throw new Error('x')": (2, 13),
    "\r\n\r\n  throw new Error('x')": (3, 13),
    "undefinedName": (1, 1),
    "const a = 1;\nconst o = {};\n   o.f.g": (3, 4),
    "'😀😀'; undefinedName": (1, 13),
    "await null;\n\n  undefinedName": (3, 3),
    "async function f() {\n  await null;\n    undefinedName\n}\nawait f()": (3, 5),
    "const f = () => {\n  undefinedName\n}\nf()": (2, 3),
    "setTimeout(() => {\n  undefinedName\n});\nawait new Promise(() => 1)": (2, 3),
    "queueMicrotask(() =>\n undefinedName);\nawait null; await null": (2, 2),
    "class A {\n  x = undefinedName\n}\nnew A()": (2, 7),
    "[3, 1].sort(() => {\n  undefinedName\n})": (2, 3),
    "await tools.call('ok');\n undefinedName": (2, 2),
    "\n await tools.call('fail')": (2, 14),
    "const p = tools.call('fail');\nawait null;\nawait p": (1, 17),
    "JSON.parse('{')": (1, 6),
    "  JSON.parse('{')": (1, 8),
    "\n  JSON.parse('{')": (2, 8),
    "  null.x": (1, 3),
    "eval('x y')": (1, 1),
}


@pytest.mark.guarantee("positions-are-exact")
@pytest.mark.parametrize("suspend", ["never", "every_await"])
@pytest.mark.parametrize("program", POSITIONS)
def test_positions_are_those_of_the_program_s_own_text(program: str, suspend: Any) -> None:
    line, column = POSITIONS[program]
    stack: str = run(program, TOOLS, suspend).failure["error"]["stack"]
    frame = next(found for found in stack.splitlines() if "program:" in found)
    assert frame.removesuffix(")").split("program:")[1] == f"{line}:{column}"


def test_a_program_with_nothing_to_wait_for_is_a_deadlock_at_once() -> None:
    for program in ("await new Promise(() => 1)", "await tools.call('ok'); await new Promise(() => 1)",
                    "let go; const p = new Promise((r) => { go = r }); p.then(go); await p"):  # fmt: skip
        assert run(program, TOOLS).failure == {"kind": "deadlock", "call": 0}


def test_a_promise_that_a_timer_settles_is_no_deadlock() -> None:
    assert run("return await new Promise((r) => setTimeout(r, 1e6, 'late'))").value == "late"


@pytest.mark.guarantee("no-silent-failure")
@pytest.mark.parametrize(
    ("program", "kind", "tool"),
    [
        ("throw new Error('x')", "exception", False),
        ("await tools.call('fail')", "exception", True),
        ("return tools.call('fail')", "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw e }", "exception", True),
        ("try { await tools.call('fail') } finally { text('f') }", "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw new Error('w', { cause: e }) }", "exception", True),
        ("try { await tools.call('fail') } catch (e) { let w = e; for (let i = 0; i < 50; i++) w = new Error('w', { cause: w }); throw w }",
         "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw new AggregateError([1, new Error('i', { cause: e })]) }", "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw new Error(e.message) }", "exception", False),
        ("try { await tools.call('fail') } catch (e) { throw { cause: e } }", "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw { get cause() { return e } } }", "exception", False),
        ("await Promise.all([tools.call('ok'), tools.call('fail')])", "exception", True),
        ("await Promise.any([tools.call('fail')])", "exception", True),
        ("try { await tools.call('fail') } catch (e) { let w = e; for (let i = 0; i < 2e4; i++) w = new Error('w', { cause: w }); throw w }",
         "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw new AggregateError([...Array.from({ length: 2e4 }, () => new Error('o')), e]) }",
         "exception", True),
        ("try { await tools.call('fail') } catch (e) { let w = e; for (let i = 0; i < 400; i++) w = new AggregateError([1, w]); throw w }",
         "exception", True),
        ("await using a = { async [Symbol.asyncDispose]() { throw new Error('d') } }; await tools.call('fail')", "exception", True),
        ("await using a = { async [Symbol.asyncDispose]() { await tools.call('fail') } }; throw new Error('b')", "exception", True),
        ("try { await tools.call('fail') } catch (e) { let w = e; for (let i = 0; i < 2e4; i++) w = new SuppressedError(1, w); throw w }",
         "exception", True),
        ("try { await tools.call('fail') } catch (e) { const l = new Error('l'); l.cause = l; throw new AggregateError([l, l, e]) }",
         "exception", True),
        ("try { await tools.call('fail') } catch (e) { const a = new Error('a'), b = new Error('b', { cause: a });"
         " a.cause = b; throw new AggregateError([a, b, e]) }", "exception", True),
        ("try { await tools.call('fail') } catch (e) { throw Object.assign(new Error('w'), { error: e }) }", "exception", False),
        ("const e = new SuppressedError(1, 2); e.error = e.suppressed = e.cause = e; throw e", "exception", False),
        ("const e = new Error('loop'); e.cause = e; throw e", "exception", False),
        ("const e = new AggregateError([]); e.errors.push(e, e, e, e, e, e, e, e, e, e, e); throw e", "exception", False),
        ("tools.call('fail'); return 1", "unhandled", True),
        ("tools.call('fail').then(() => 1); return 1", "unhandled", True),
        ("(async () => { await tools.call('ok'); throw new Error('bg') })(); return 1", "unhandled", False),
        ("(async () => { await tools.call('fail') })(); return 1", "unhandled", True),
        ("Promise.reject(1); return 1", "unhandled", False),
        ("Promise.reject(new Error('a')); await new Promise(() => 1)", "unhandled", False),
        ("setTimeout(() => { throw new Error('t') }); await new Promise(() => 1)", "exception", False),
        ("setTimeout(async () => { await tools.call('fail') }); await new Promise((r) => setTimeout(r, 99)); return 1", "unhandled", True),
        ("tools.call(5); return 1", "unhandled", False),
        ("return { get a() { Promise.reject(new Error('lost')); return 1 } }", "unhandled", False),
        ("return { get a() { (async () => { await null; throw new Error('late') })(); return 1 } }", "unhandled", False),
        ("return { get a() { queueMicrotask(() => { throw new Error('job') }); return 1 } }", "exception", False),
        ("try { await tools.call('fail') } catch (e) { return { toJSON() { Promise.reject(e); return 1 } } }", "unhandled", True),
        ("await tools.nope()", "exception", False),
    ],
)  # fmt: skip
def test_a_failure_nobody_handled_fails_the_run_and_says_whose_it_is(
    program: str, kind: str, tool: bool
) -> None:
    failure = run(program, TOOLS).failure
    assert (failure["kind"], failure["call"] > 0) == (kind, tool)


@pytest.mark.parametrize(
    "program",
    ["const p = tools.call('fail'); await tools.call('ok'); await p.catch(() => 1); return 1",
     "const p = Promise.reject(1); await null; await null; p.catch(() => 1); return 1",
     "await Promise.allSettled([tools.call('fail')]); return 1",
     "return { toJSON() { const p = Promise.reject(1); queueMicrotask(() => p.catch(() => 1)); return 1 } }",
     "tools.call('fail').catch(() => 1); return 1",
     "await Promise.race([tools.call('ok'), tools.call('fail').catch(() => 1)]); return 1",
     "const p = tools.call('fail'); setTimeout(() => p.catch(() => 1), 5); await new Promise((r) => setTimeout(r, 9)); return 1"],
)  # fmt: skip
def test_a_failure_that_is_handled_in_the_end_fails_nothing(program: str) -> None:
    assert run(program, TOOLS).value == 1


@pytest.mark.parametrize(
    ("thrown", "shown"),
    [("5", 5), ("'s'", "s"), ("null", None), ("{ a: [1n] }", {"a": ["1"]}), ("Symbol('q')", "[Symbol q]"),
     ("() => 1", "[Function]"), ("{ get a() { throw 1 } }", {"a": "[Threw]"}), ("'x'.repeat(20000)", "[a value too large to show]")],
)  # fmt: skip
def test_a_thrown_value_that_is_no_error_is_shown_as_json(thrown: str, shown: object) -> None:
    assert run(f"throw ({thrown})").failure == {"kind": "exception", "call": 0, "thrown": shown}


def test_a_thrown_undefined_is_not_taken_for_null() -> None:
    assert run("throw undefined").failure == {"kind": "exception", "call": 0}


@pytest.mark.parametrize(
    ("program", "causes"),
    [
        ("throw new Error('a')", []),
        ("throw new Error('a', { cause: new TypeError('b', { cause: new Error('c') }) })", ["TypeError b", "Error c"]),
        ("throw new AggregateError([new Error('a'), 1, new Error('b')])", ["Error a", "Error b"]),
        ("const e = new Error('a'); e.cause = e; throw e", ["Error a"] * 5),
        ("throw new AggregateError(Array.from({ length: 99 }, (_, i) => new Error(`${i}`)))", [f"Error {i}" for i in range(5)]),
        ("throw Object.defineProperty(new Error('a'), 'cause', { get() { for (;;); } })", []),
        ("throw new Error('a', { cause: new Proxy(new Error('b'), {}) })", []),
        ("try { await tools.call('fail') } catch (cause) { throw new Error('a', { cause }) }", ["ToolError refused"]),
    ],
)  # fmt: skip
def test_the_errors_behind_a_thrown_one_are_told_up_to_five_without_running_code(
    program: str, causes: list[str]
) -> None:
    told = run(program, TOOLS).failure["causes"]
    assert [f"{cause['name']} {cause['message']}" for cause in told] == causes


def test_an_error_s_own_code_is_reported_and_its_getters_are_not_run() -> None:
    program = "throw Object.defineProperty(Object.assign(new Error('m'), { code: 'E1' }), 'message', { get() { text('ran') } })"
    ran = run(program)
    assert ran.failure["error"] == {"name": "Error", "code": "E1", "stack": "    at program (program:1:47)\n"}
    assert ran.messages == []


@pytest.mark.parametrize(
    "call", ["structuredClone(() => 1)", "atob('*')", "throw new DOMException('m', 'DataCloneError')"]
)
def test_an_uncaught_dom_exception_keeps_its_name_and_position(call: str) -> None:
    error = run(call).failure["error"]
    assert error["name"] in {"DataCloneError", "InvalidCharacterError"}
    assert error["message"]
    assert "program:1:" in error["stack"]


def test_calls_that_were_never_awaited_are_drained_before_the_end() -> None:
    ran = run("tools.call('ok', 1).then((v) => text('drained ' + v)); return 'value'", TOOLS)
    assert ran.value == "value"
    assert ran.texts == ["drained 1"]


def test_import_has_no_loader_to_ask() -> None:
    assert run("return await import('fs').catch((e) => e.name)").value == "ReferenceError"
    assert run("return await eval('import(\"fs\")').catch((e) => e.name)").value == "ReferenceError"
