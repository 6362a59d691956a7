"""A program that is frozen at every await, each time going on in a fresh VM, cannot tell.

Programs are generated: a body of statements that await, hold every kind of state across the await and log what
they find, nested in control structures. The straight run is the oracle.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

import re

import pytest
from codemode_runtime.shapes import Limits, Lookup
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.guests import Offer, Ran, Suspend, ToolFailed, echo, run

LIMITS = Limits(output_bytes=4 << 20, pending_calls=128)
OFFER = Offer(
    {(Lookup.TOOL, "echo"): "openclaw:core:echo", (Lookup.TOOL_NAMES, ""): {"echo": "openclaw:core:echo"}}
)

PROLOGUE = """
const log = [];
const state = { map: new Map(), set: new Set(), weak: new WeakMap(), big: 1n, text: "", list: [], ticks: 0 };
const echo = (value) => tools.call("echo", value);
class Counter {
  #n = 0; static made = 0; label = "c" + ++Counter.made;
  async add(k) { this.#n += await echo(k); return this.#n; }
  get n() { return this.#n; }
  static #secret = Symbol("secret"); static is(o) { return #n in o && typeof Counter.#secret; }
}
const counter = new Counter();
async function* numbers(n) {
  try { for (let i = 0; i < n; i++) yield await echo(i); } finally { log.push("closed", await echo(n)); }
}
function* running(x) { for (;;) x += yield x; }
const factorial = async (n) => (n < 2 ? 1 : n * (await echo(n - 1).then(factorial)));
class Custom extends Error { constructor(n) { super("custom " + n); this.n = n; } get name() { return "Custom"; } }
"""

EPILOGUE = """
return { log, ticks: state.ticks, map: state.map, set: state.set, big: state.big, n: counter.n,
         made: Counter.made, text: state.text.length, list: state.list.length };
"""

# "N" stands for a number from 0 to 9; each line is a statement of its own block.
LEAVES = """
log.push(await echo({ n: N }));
log.push(await tools.echo([N, "é😀"]));
try { await tools.call("fail", N); } catch (e) { log.push([e.name, e.message, e.code, e.data, e instanceof Error]); }
log.push(await Promise.race([echo(N), echo("late")]));
log.push(await Promise.all([echo(1), N, echo(2), Promise.resolve(3)]));
log.push(await Promise.allSettled([echo(1), tools.call("fail", N), N]));
log.push(await Promise.any([tools.call("fail", 1), echo(N)]));
log.push(await Promise.any([tools.call("fail", N)]).catch((e) => [e.name, e.errors.map((x) => x.message)]));
log.push(await new Promise((done) => setTimeout(done, N, "t" + N)));
setTimeout((by) => { state.ticks += by; }, N, N); log.push(await new Promise((done) => setTimeout(done, 5, "five")));
const id = setTimeout(() => log.push("never"), N); await echo(0); clearTimeout(id); await echo(1);
await yield_control("N"); log.push("resumed");
state.map.set("k" + N, await echo(N)); state.map.delete("k3"); log.push([...state.map.keys()]);
state.set.add(await echo(N)); log.push(state.set.has(N), state.set.size);
const key = {}; state.weak.set(key, N); await echo(0); log.push(state.weak.get(key), state.weak.has({}));
const target = { n: N }; const ref = new WeakRef(target); await echo(0); log.push(ref.deref() === target && target.n);
const s = Symbol("s"); const o = { [s]: N, [Symbol.for("shared")]: 1 }; await echo(0); log.push(o[s], o[Symbol.for("shared")]);
state.big = state.big * 1000000007n + BigInt(N); await echo(0); log.push(state.big, BigInt.asUintN(64, state.big));
const re = /\\d/g; re.exec("a1b2c3"); await echo(0); log.push(re.lastIndex, re.exec("a1b2c3")[0]);
const day = new Date(N * 86400000); await echo(0); day.setUTCDate(day.getUTCDate() + 1); log.push(day, day.getTime());
const a = new Uint16Array([N, 2, 3]); const v = new DataView(a.buffer); await echo(0); v.setUint8(0, 7); log.push([...a]);
const b = new ArrayBuffer(8, { maxByteLength: 64 }); await echo(0); b.resize(16 + N); log.push(b.byteLength);
log.push(await counter.add(N), Counter.is(counter), new Counter().label);
const add = ((x) => async (y) => x + (await echo(y)))(N); log.push(await add(1), await add(2));
for await (const x of numbers(N % 4)) log.push(x);
for await (const x of numbers(4)) { log.push(x); if (x === N % 3) break; }
for await (const x of [echo(1), N, Promise.resolve(2)]) log.push(x);
const it = running(N); it.next(); await echo(0); log.push(it.next(2).value, it.return(5), it.next());
log.push(await factorial(1 + (N % 5)));
outer: for (let i = 0; i < 3; i++) for (let j = 0; j < 3; j++) { if (j === N % 3) continue outer; log.push(await echo(i * 10 + j)); }
const { x = await echo(N), ...rest } = { y: 1, z: 2 }; log.push(x, rest);
log.push(`a${await echo(N)}b${await echo("c")}`, [...(await echo([1, 2])), N], (await echo(null))?.x ?? "none");
const p = new Proxy({}, { get: (t, k) => "p" + String(k) }); await echo(0); log.push(p.a, Reflect.get(p, N));
const e = new Custom(N); await echo(0); log.push([e.name, e.message, e.n, e.stack.includes("program")]);
text("text N"); json({ n: N, set: state.set }); console.warn("warn", N, { a: [1] }); await echo(0); text("after");
void echo(N); log.push("not awaited");
const d = new TextDecoder(); let out = d.decode(new Uint8Array([0xe2, 0x82]), { stream: true }); await echo(0); log.push(out + d.decode(new Uint8Array([0xac])));
state.text += "x".repeat(N * 300); await echo(0); state.text += "é"; log.push(state.text.length);
state.list = Array.from({ length: N * 100 }, (_, i) => ({ i, s: "v" + i })); await echo(0); log.push(state.list.at(-1)?.s);
let junk = []; for (let i = 0; i < 300; i++) junk.push({ i, s: "x".repeat(99) }); junk = junk.length; await echo(junk); log.push(junk);
const first = {}, second = { first }; first.second = second; await echo(0); log.push(first.second.first === first);
const clone = structuredClone({ m: new Map([[N, new Date(N)]]) }); await echo(0); log.push(clone);
const u = new URL("http://h/p?a=N"); await echo(0); u.searchParams.append("b", await echo("é")); log.push(u.href);
const table = [N, 3, 1, 2].map((n) => ({ n })); await echo(0); log.push(table.sort((l, r) => l.n - r.n || 1).map((t) => t.n));
const held = echo(N); await echo("between"); log.push(await held, await held);
const box = { get live() { return state.ticks++; }, set live(v) { log.push(v); } }; await echo(0); box.live = box.live;
queueMicrotask(() => log.push("micro N")); log.push("before"); await null; await echo(0);
const lazy = Iterator.from([1, 2, 3, N]).map((n) => n * 2).filter((n) => n > 2); await echo(0); log.push([...lazy]);
const bound = Array.prototype.concat.bind([N], 2); await echo(0); log.push(bound(3), new Function("a", "return a * 2")(N));
const frozen = Object.freeze({ n: N }); await echo(0); try { frozen.n = 1; } catch (e) { log.push([e.name, Object.isFrozen(frozen)]); }
if (N === 7) { log.push(await tools.call("fail", "uncaught")); }
""".strip().splitlines()

# "{}" stands for a body
WRAPPERS = """
try { {} } finally { log.push("finally", await echo(N)); }
try { {} throw new Custom(N); } catch (e) { log.push(e.message, await echo("caught")); {} } finally { await echo(1); }
for (let i = 0; i < 2; i++) { await echo(i); {} }
log.push(await (async () => { {} return N; })());
await Promise.all([1, 2].map(async (i) => { await echo(i); {} }));
switch (await echo(N % 2)) { case 0: { {} break; } default: { log.push("default"); {} } }
if ((await echo(N)) > 4) { {} } else { log.push("else"); }
async function* inner() { {} yield N; {} } for await (const y of inner()) log.push(y);
await new Promise((done) => setTimeout(async () => { {} done(); }, N));
do { {} } while ((await echo(state.ticks++)) < 1);
""".strip().splitlines()


def fill(template: str, number: int) -> str:
    return re.sub(r"\bN\b", str(number), template)


def fill_body(wrapper: str, number: int, body: str) -> str:
    return fill(wrapper, number).replace("{}", body)


leaves = st.builds(fill, st.sampled_from(LEAVES), st.integers(0, 9)).map(lambda line: "{ " + line + " }")


def wrapped(bodies: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(bodies, min_size=1, max_size=2).map(" ".join)
    return st.builds(
        fill_body,
        st.sampled_from(WRAPPERS),
        st.integers(0, 9),
        body,
    ).map(lambda text: "{ " + text + " }")


programs = st.lists(st.recursive(leaves, wrapped, max_leaves=5), min_size=2, max_size=9).map(
    lambda statements: PROLOGUE + "\n".join(statements) + EPILOGUE
)


def fail(value: object) -> object:
    raise ToolFailed(name="ToolError", message=f"refused {value}", code="denied", data={"value": value})


TOOLS = {"echo": echo, "openclaw:core:echo": echo, "fail": fail}


def run_as(program: str, suspend: Suspend) -> Ran:
    return run(program, TOOLS, suspend, limits=LIMITS, descriptor=OFFER)


def same_but_messages(ran: Ran) -> object:
    return type(ran.outcome), getattr(ran.outcome, "result", None), getattr(ran.outcome, "failure", None)


@pytest.mark.guarantee("suspension-is-invisible")
@settings(max_examples=250, database=None)
@given(programs)
def test_suspending_at_every_await_gives_the_straight_run_s_value_output_and_calls(program: str) -> None:
    straight = run_as(program, "never")
    frozen = run_as(program, "every_await")
    assert same_but_messages(frozen) == same_but_messages(straight)
    assert frozen.messages == straight.messages
    assert frozen.suspensions == len(straight.raw_messages) - 1  # between its legs: none where none awaits


@settings(max_examples=60, database=None)
@given(programs)
def test_capturing_at_every_await_and_going_on_in_the_same_guest_changes_nothing(program: str) -> None:
    straight = run_as(program, "never")
    captured = run_as(program, "capture_only")
    assert same_but_messages(captured) == same_but_messages(straight)
    assert captured.messages == straight.messages


def test_every_statement_of_the_generator_runs_to_its_end_when_frozen() -> None:
    for template in [*LEAVES, *(w.replace("{}", "log.push(await echo(1));") for w in WRAPPERS)]:
        program = PROLOGUE + "{ " + fill(template, 4) + " }" + EPILOGUE
        straight, frozen = run_as(program, "never"), run_as(program, "every_await")
        assert frozen.value == straight.value
        assert frozen.messages == straight.messages
        assert frozen.lossy == straight.lossy
