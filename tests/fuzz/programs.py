"""Programs from a grammar: statements that await, call tools, sleep, yield, throw and misbehave. Pure, seeded.

Half of them are well-formed by construction; the others are changes of those, or of the hostile corpus.
"""

# ruff: noqa: E501 - lines of programs are data and read best unwrapped

from __future__ import annotations

import re
from functools import cache
from random import Random

from tests.fuzz.mutation import change_text
from tests.hostile.corpus import load_all

# In all tables E is an expression, S a statement, N a number, V a variable; E0 is an expression without await.
_EXPRESSIONS = """
N
"tN"
V
[E, E]
{ a: E, bN: E }
(await tools.echo({ value: E }))
(await tools.echo({ value: E }).catch((e) => e.code))
(await Promise.all([tools.echo({ value: E }), E]))
(await Promise.allSettled([tools.fail({}), tools.echo({ value: E })])).length
(await Promise.race([tools.slow({ ms: N }), tools.echo({ value: E })]))
(await tools.slow({ ms: N }))
(await tools.search("echo"))
(await tools.describe("echo")).name
(await tools.nasty({ kind: "text" }))
(await tools.call("nope", E).catch(String))
(await new Promise((done) => setTimeout(done, N, E0)))
(await (async () => { S return E; })())
(await (async (v) => E)(E))
(await [...Array(N % 20).keys()].reduce(async (sum, n) => (await sum) + (await tools.echo({ value: n })), 0))
(typeof E)
(E) + (E)
(E ?? E)
(V?.a ?? N)
`a${E}b`
new Map([[E, E]])
new Set([E, N])
BigInt(N) ** 3n
new Date(N)
structuredClone([E])
JSON.stringify(E)
Symbol("sN").toString()
new Uint8Array(N)
(function* () { yield E0; })().next().value
ALL_TOOLS.length
/N+/.exec("N")
new Proxy({}, { get: () => E0 })
Object.freeze({ a: E })
""".strip().splitlines()

_STATEMENTS = """
let own = E; V = own;
V = E;
text(E);
json(E);
console.log(E, E);
yield_control();
await yield_control("rN");
await null;
void tools.echo({ value: E });
const held = tools.slow({ ms: N }); S await held;
setTimeout(() => { text(E0); }, N);
clearTimeout(setTimeout(() => { throw new Error("never"); }, N));
if (E) { S } else { S }
for (let i = 0; i < N % 7; i++) { S }
for (const each of [E, E]) { S }
for await (const each of [E, tools.echo({ value: N })]) { S }
try { S } catch (e) { text(String(e)); S } finally { S }
try { throw new RangeError("rN"); } catch { S }
await Promise.all([1, 2].map(async (n) => { S }));
queueMicrotask(() => { text("mN"); });
for (;;) { S break; }
switch (E) { case N: S break; default: S }
{ class Own { #p = N; async get() { S return this.#p; } } text(await new Own().get()); }
{ async function* own() { S yield E; S } for await (const each of own()) json(each); }
await new Promise((done) => setTimeout(async () => { S done(); }, N));
Object.prototype.pN = E;
Promise.prototype.then = null;
delete globalThis.Map;
""".strip().splitlines()

# What a run does not survive, or only its end; one of them at most, so that what comes before is seen.
_ENDS = """
return E;
return E;
return E;
return E;
return E;
return E;
return E;
return E;
return E;
return E;
return { V, e: E };
throw new Error("eN");
throw E;
for (;;);
for (;;) await null;
await tools.never({});
await new Promise(() => {});
const grow = []; for (;;) grow.push("x".repeat(1e5) + grow.length);
const grow = []; for (;;) grow.push({ grow, a: [1] });
(function f() { f(); f(); })();
for (;;) text("flood".repeat(100));
for (let i = 0; i < 200; i++) void tools.echo({ value: i });
await tools.fail({ message: "uncaught" });
Promise.reject(E); await tools.slow({ ms: 1 });
"x".replace(/(?:a*)*b/, E); return "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac".match(/(a*)*b/);
import("x"); return E;
require("fs");
""".strip().splitlines()


_PLACE = re.compile(r"(?<![\w$.])(?:E0|[ESV])(?![\w$])|(?<![A-Z])N(?![A-Za-z])")


class _Writer:
    """`_room` counts down with each part, so that every program ends."""

    def __init__(self, dice: Random, room: int) -> None:
        self._dice = dice
        self._room = room

    def fill(self, template: str) -> str:
        """Each placeholder is a letter that stands alone."""
        return _PLACE.sub(lambda found: self._place(found[0]), template)

    def _place(self, placeholder: str) -> str:
        match placeholder:
            case "E0":
                return self._dice.choice(("1", "a", "[b]"))
            case "E":
                return self.expression()
            case "S":
                return self.statement()
            case "V":
                return self._dice.choice("abcdxy")
            case _:
                return str(self._dice.choice((0, 1, 2, 3, 5, 20, 100)))

    def expression(self) -> str:
        self._room -= 1
        if self._room <= 0:
            return self._dice.choice(("1", '"s"', "null", "undefined", "[]"))
        return self.fill(self._dice.choice(_EXPRESSIONS))

    def statement(self) -> str:
        self._room -= 1
        return ";" if self._room <= 0 else "{ " + self.fill(self._dice.choice(_STATEMENTS)) + " }"


def grow_program(dice: Random) -> str:
    """A well-formed one."""
    writer = _Writer(dice, dice.choice((5, 10, 20, 40)))
    head = "".join(f"let {name} = {dice.randrange(9)};" for name in "abcdxy")
    body = "\n".join(writer.statement() for _ in range(dice.randrange(1, 6)))
    return f"{head}\n{body}\n{writer.fill(dice.choice(_ENDS))}"


def as_typescript(dice: Random, program: str) -> str:
    """Types where a grammar allows them anyway."""
    kind = dice.choice(("number", "any", "Array<{ a?: string }>", "unknown", "typeof a", "`t${string}`"))
    told = (
        f"interface I {{ a: {kind} }} type T<X> = X extends I ? X : never; enum Color {{ Red, Green = 4 }}\n"
    )
    return told + program.replace("let a =", f"let a: {kind} | any =", 1).replace(
        "return ", "return <any>", 1
    )


@cache
def corpus() -> tuple[str, ...]:
    """The hostile programs, but for those whose point is their size."""
    return tuple(program.text for program in load_all() if len(program.text) < 4000)


def make_program(dice: Random) -> tuple[str, str]:
    """Language and text."""
    match dice.randrange(6):
        case 0 | 1:
            return "javascript", grow_program(dice)
        case 2:
            return "typescript", as_typescript(dice, grow_program(dice))
        case 3:
            return "javascript", change_text(dice, grow_program(dice), corpus())
        case 4:
            return "typescript", change_text(dice, as_typescript(dice, grow_program(dice)), corpus())
        case _:
            return "javascript", change_text(dice, dice.choice(corpus()), corpus())
