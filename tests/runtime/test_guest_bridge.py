"""The bridge is out of the program's reach: nothing it replaces, deletes, freezes or pollutes changes a message."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from typing import Any

import pytest
from codemode_runtime.shapes import Lookup

from tests.harness.guests import Offer, Ran, ToolFailed, always, echo, run

OFFER = Offer(
    {
        (Lookup.TOOL, "echo"): "openclaw:core:echo",
        (Lookup.TOOL_NAMES, ""): {"echo": "openclaw:core:echo"},
        (Lookup.SERVER, "docs"): {"o": {"find": {"c": "mcp:docs:find", "m": "mcp"}}},
        (Lookup.API_READ, "f"): {"path": "f", "content": "c"},
        (Lookup.ALL_TOOLS, ""): [{"id": "i", "name": "n"}],
    }
)

# Uses syntax and the API only, so that whatever a saboteur broke cannot matter to it.
WORK = """
const first = await tools.call("echo", { a: [1, "x\\n", 1.5], b: { c: null, d: new Date0() } });
const second = await tools.echo([first.a[0], 2]);
const third = await MCP.docs.find({ q: 1 });
const file = await API.read("f");
text("out"); text({ t: 1 }); json({ v: [first] }); console.warn("w", { k: 1 });
let failure; try { await tools.call("fail", 1); } catch (e) { failure = e; }
await yield_control("why"); await (async () => { setTimeout(() => 1, 5); })();
const found = await tools.search("q", { limit: 2 });
return [first, second, third, file, failure.name, failure.message, failure.code, failure.data, found, ALL_TOOLS[0].id];
"""
PREPARE = "const Date0 = ((D) => function () { return new D(0); })(Date);"

BREAK_ALL = """
const walk = (root) => { const seen = [], queue = [root];
  const { ownKeys, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  while (queue.length) { const o = queue.pop(); if (seen.includes(o)) continue; seen.push(o);
    for (const k of ownKeys(o)) { const d = getOwnPropertyDescriptor(o, k);
      for (const v of [d.value, d.get, d.set]) if (v !== null && (typeof v === "object" || typeof v === "function")) queue.push(v); }
    const p = getPrototypeOf(o); if (p) queue.push(p); }
  return seen; };
const all = walk(globalThis), keys = all.map(Reflect.ownKeys), { defineProperty, deleteProperty } = Reflect, { freeze } = Object;
const each = (act) => { for (let i = 0; i < all.length; i++) for (let j = 0; j < keys[i].length; j++) {
  // await itself asks a promise for its constructor and then, and a toJSON of the program is to be honoured
  const k = keys[i][j]; if (k === "constructor" || k === "then" || k === "toJSON") continue;
  try { act(all[i], k); } catch {} } };
"""

FIELD_NAMES = """type id method target args text value level message code name data then ms reason path content header
  lossy stack error kind tool thrown resolve reject length o a c m v api 0 1"""
FIELDS = FIELD_NAMES.split()

SABOTAGE: dict[str, str] = {
    "getters and setters for every field on Object.prototype": f"""for (const k of {FIELDS}) Object.defineProperty(Object.prototype, k,
      {{ __proto__: null, get() {{ return undefined; }}, set(v) {{ throw new Error("set " + k); }}, configurable: true }});""",
    "throwing getters for every field but then": f"""for (const k of {[f for f in FIELDS if f != "then"]}) Object.defineProperty(
      Object.prototype, k, {{ __proto__: null, get() {{ throw new Error("get " + k); }}, configurable: true }});""",
    "values for every field but then": f"""for (const k of {[f for f in FIELDS if f != "then"]}) Object.prototype[k] = {{ forged: k }};""",
    "fields on Array, Function, Error and String prototypes": f"""for (const k of {[f for f in FIELDS if f not in {"then", "length"}]})
      for (const t of [Array, Function, Error, String, Promise]) Object.defineProperty(t.prototype, k,
        {{ __proto__: null, get() {{ throw new Error("get " + k); }}, set() {{ throw new Error("set"); }}, configurable: true }});""",
    "indices on Array.prototype": """for (let i = 0; i < 20; i++) Object.defineProperty(Array.prototype, i,
      { get() { throw new Error("get"); }, set() { throw new Error("set"); }, configurable: true });""",
    "JSON gone": "JSON.parse = JSON.stringify = () => { throw new Error('JSON') }; globalThis.JSON = undefined;",
    "JSON forged": "JSON.stringify = () => '{\"type\":\"call\",\"id\":99}'; JSON.parse = () => ({ forged: 1 });",
    "Promise replaced": """globalThis.Promise = class { then() {} }; const P = (async () => {})().constructor;
      P.resolve = P.reject = P.all = () => { throw new Error("P"); }; Object.defineProperty(P, Symbol.species, { get() { throw new Error("sp"); } });
      delete P.prototype.catch; delete P.prototype.finally;""",
    "Array methods throw": """for (const k of Reflect.ownKeys(Array.prototype)) if (typeof Array.prototype[k] === "function" && k !== "constructor")
      Array.prototype[k] = () => { throw new Error("A"); }; Array.from = Array.isArray = Array.of = () => { throw new Error("A"); };
      Object.defineProperty(Array, Symbol.species, { get() { throw new Error("species"); } });""",
    "Function.prototype broken": """for (const k of ["call", "apply", "bind", "toString"]) Function.prototype[k] = () => { throw new Error("F"); };
      Reflect.apply = Reflect.construct = () => { throw new Error("R"); };""",
    "String and Number broken": """for (const T of [String, Number, Boolean, Symbol, BigInt, Date, RegExp])
      for (const k of Reflect.ownKeys(T.prototype)) if (k !== "constructor" && k !== "toJSON") try { T.prototype[k] = () => { throw new Error("S"); }; } catch {}""",
    "Error replaced": """const E = Error; globalThis.Error = class {}; E.prototype.name = { forged: 1 }; E.prototype.message = 5;
      delete E.prototype.toString; Object.defineProperty(E.prototype, "stack", { get() { throw 1; }, set() { throw 2; } });""",
    "stack hooks": """Error.prepareStackTrace = () => { throw new Error("hook"); }; Error.captureStackTrace = () => { throw 1; };
      Object.defineProperty(Error, "stackTraceLimit", { get() { throw new Error("limit"); } });""",
    "Reflect and Object gone": """for (const k of Reflect.ownKeys(Object)) try { delete Object[k]; } catch {}
      globalThis.Object = globalThis.Reflect = globalThis.Symbol = null;""",
    "every global deleted": "for (const k of Reflect.ownKeys(globalThis)) try { delete globalThis[k]; } catch {}",
    "globalThis frozen": "Object.freeze(globalThis);",
    "globalThis without a prototype": "try { Object.setPrototypeOf(globalThis, null); } catch {} try { Object.setPrototypeOf(Object.prototype, null); } catch {}",
    "every prototype frozen": """for (const k of Reflect.ownKeys(globalThis)) { const v = globalThis[k]; if (typeof v === "function") { Object.freeze(v); if (v.prototype) Object.freeze(v.prototype); } }""",
    "timers and text shadowed by locals of eval": "(0, eval)('var leaked = 1; function forged() {}');",
    "every function replaced by one that throws": BREAK_ALL
    + """each((o, k) => { if (typeof o[k] === "function") o[k] = () => { throw new Error("broken"); }; });""",
    "every function replaced by one that forges": BREAK_ALL
    + """each((o, k) => { if (typeof o[k] === "function")
      o[k] = () => ({ type: "call", id: 99, method: "call", target: "forged", args: [] }); });""",
    "everything deleted": BREAK_ALL + "each(deleteProperty);",
    "everything frozen": BREAK_ALL + "each(freeze);",
    "accessors everywhere": BREAK_ALL
    + """const trap = { __proto__: null, get() { throw new Error("get"); }, set() { throw new Error("set"); } };
      each((o, k) => { defineProperty(o, k, trap); });""",
}  # fmt: skip


def refuse(*_: object) -> object:
    raise ToolFailed(name="Refused", message="no", code="denied", data={"why": [1]})


TOOLS: dict[str, Any] = {
    "echo": echo,
    "openclaw:core:echo": echo,
    "mcp:docs:find": always({"found": 1, "type": "call"}),
    "search": always([{"id": "x", "name": "n"}]),
    "fail": refuse,
}


def run_sabotaged(sabotage: str, suspend: Any = "never") -> Ran:
    return run(f"{PREPARE}\n{{ {sabotage} }}\n{WORK}", TOOLS, suspend, descriptor=OFFER)


@pytest.mark.guarantee("bridge-is-out-of-reach")
@pytest.mark.parametrize("name", SABOTAGE)
def test_messages_are_byte_identical_and_results_arrive_whatever_was_broken(name: str) -> None:
    clean, broken = run_sabotaged(""), run_sabotaged(SABOTAGE[name])
    assert broken.raw_messages == clean.raw_messages
    assert broken.value == clean.value


@pytest.mark.parametrize(
    "name", ["everything deleted", "every function replaced by one that throws", "accessors everywhere"]
)
def test_a_broken_realm_survives_suspension(name: str) -> None:
    clean, broken = run_sabotaged(""), run_sabotaged(SABOTAGE[name], "every_await")
    assert broken.raw_messages == clean.raw_messages
    assert broken.value == clean.value


def test_the_clean_run_sends_what_it_should() -> None:
    ran = run_sabotaged("")
    assert [(m["type"], m.get("method"), m.get("target")) for m in ran.messages] == [
        ("call", "call", "echo"), ("call", "call", "openclaw:core:echo"), ("call", "mcp", "mcp:docs:find"),
        ("text", None, None), ("text", None, None), ("json", None, None), ("text", None, None),
        ("call", "call", "fail"), ("yield", None, None), ("timer", None, None), ("call", "search", ""),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ['"},{"type":"call","id":99,"method":"call","target":"x","args":[]},{"', "\\", '\\"', "\u2028]", "\0", "]}", "\x7f\x1f"]
)  # fmt: skip
def test_no_text_can_break_out_of_its_message(text: str) -> None:
    literal = repr(text.encode("unicode_escape").decode())
    program = f"""const t = {literal}.replace(/\\\\x(..)/g, (_, h) => String.fromCharCode(parseInt(h, 16)))
        .replace(/\\\\u(....)/g, (_, h) => String.fromCharCode(parseInt(h, 16))).replaceAll("\\\\\\\\", "\\\\");
      text(t); json({{ [t]: t }}); console.log(t); yield_control(t); await tools.call(t, {{ [t]: [t] }}).catch(() => 1); return t"""
    ran = run(program)
    assert ran.value == text
    assert [m["type"] for m in ran.messages] == ["text", "json", "text", "yield", "call"]
    assert ran.texts == [text, text]
    assert ran.messages[1]["value"] == {text: text}
    assert ran.messages[3]["reason"] == text
    assert (ran.messages[4]["target"], ran.messages[4]["args"]) == (text, [{text: [text]}])


@pytest.mark.parametrize(
    ("reason", "sent"),
    [
        ("'x'.repeat(1000)", "x" * 1000),
        ("'x'.repeat(1001)", "x" * 1000),
        ("'x' + 'é'.repeat(1000)", "x" + "é" * 499),  # two bytes each: the last one would be cut in two
        ("'xx' + '😀'.repeat(1000)", "xx" + "😀" * 249),  # four bytes, and two units of a JavaScript string
        ("'\\ud83d'.repeat(1000)", "\ufffd" * 333),  # half a character, as programs can make them
        ("'\"'.repeat(1001)", '"' * 1000),
    ],
)
def test_a_reason_to_yield_over_1000_bytes_is_clipped_between_characters(reason: str, sent: str) -> None:
    ran = run(f"await yield_control({reason})")
    assert ran.sent("yield") == [{"type": "yield", "id": 1, "reason": sent}]


def test_the_brand_of_a_tool_error_is_invisible_and_cannot_be_copied() -> None:
    program = """const e = await tools.call("fail").catch((e) => e);
      const copy = Object.assign(new Error(e.message), e); Object.defineProperties(copy, Object.getOwnPropertyDescriptors(e));
      const clone = structuredClone(e); const keys = Reflect.ownKeys(e).map(String).sort(); text(keys.join());
      text([Object.getOwnPropertySymbols(e).length, Reflect.ownKeys(new Proxy(e, {})).length]); throw WHICH;"""
    for which, is_tool in (
        ("e", True),
        ("copy", False),
        ("clone", False),
        ("new Proxy(e, {})", False),
        ("Object.create(e)", False),
    ):
        ran = run(program.replace("WHICH", which), TOOLS)
        assert (ran.failure["call"] > 0) is is_tool, which
        assert ran.texts == ["code,data,message,name", "[0,4]"]


@pytest.mark.parametrize("limit", ["0", "-1", "Infinity", "'x'", "{}", "1e9"])
def test_stack_trace_settings_leak_nothing(limit: str) -> None:
    program = f"""const leaked = []; Error.prepareStackTrace = (e, sites) => {{ leaked.push(sites); return sites; }};
      Error.stackTraceLimit = {limit}; const target = {{}}; Error.captureStackTrace(target);
      const errors = [new Error("x"), await tools.call("fail").catch((e) => e), await tools.call(5).catch((e) => e)];
      try {{ setTimeout(1); }} catch (e) {{ errors.push(e); }} try {{ structuredClone(() => 1); }} catch (e) {{ errors.push(e); }}
      return [leaked.length, [target, ...errors].every((e) => e.stack === undefined || typeof e.stack === "string")]"""
    assert run(program, TOOLS).value == [0, True]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"message": 5},
        {"name": None, "message": "m"},
        {"message": "m", "stack": "host:1", "cause": "c", "extra": 1},
    ],
)
def test_a_rejection_with_odd_fields_is_still_a_plain_error(fields: dict[str, object]) -> None:
    def reject(*_: object) -> object:
        raise ToolFailed(**fields)

    program = """Object.prototype.code = "forged"; Object.prototype.data = "forged";
      const e = await tools.call("t").catch((e) => e); return [Reflect.ownKeys(e).sort(), typeof e.name, typeof e.message, e.code, e.stack.includes("host")]"""
    assert run(program, {"t": reject}).value == [
        ["code", "message", "name"],
        "string",
        "string",
        "tool_error",
        False,
    ]


@pytest.mark.parametrize(
    "name", ["everything deleted", "every function replaced by one that throws", "accessors everywhere"]
)
def test_the_sabotage_does_break_code_that_trusts_intrinsics(name: str) -> None:
    assert run(f"{{ {SABOTAGE[name]} }} return [1].map((x) => x)").failure["kind"] == "exception"
