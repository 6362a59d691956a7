"""A program cut at any statement into programs of one session is the whole program: values, output, calls.

Each piece keeps its lines, by empty ones before it, so that positions in errors are the same too.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemode import Completed, Engine, Failed
from tests.harness.engine import echo, fail

pytestmark = pytest.mark.timeout(300)
KEEP = {"enabled": True, "sessionState": "keep"}
KEY = bytes(range(32))
PROLOGUE = "const log = []; let count = 0; var total = 1; const held = new Map(); class Base { #n = 1; get n() { return this.#n } static made = [] } function add(n) { return (count += n) }"
# A program that fails before it was ever idle drops the calls it did not await: whoever makes one is idle then.
# N is a number, I the statement's own: what it declares has that in its name
STATEMENTS = """
const aI = await tools.echo({ value: N }); log.push(aI);
let bI = N; const incI = () => ++bI; log.push(incI(), add(bI));
var total = total * 3 + N; log.push(total, add(0));
function fI(n) { return n + count + (typeof gI === "undefined" ? 0 : 1) } log.push(fI(N));
class CI extends Base { static id = "cI"; who() { return [CI.id, this.n, super.n] } } Base.made.push(CI.name); log.push(new CI().who());
const { x: dI = N, ...restI } = { y: 1, z: [N] }; log.push(dI, restI); held.set("kI", restI);
const [eI, , gI = add(N)] = [N, 1]; log.push(eI + gI);
const selfI = { held }; selfI.me = selfI; held.set(selfI, N); log.push(held.get(selfI.me), selfI.held === held);
const iterI = (function* () { for (;;) yield add(1) })(); log.push(iterI.next().value); held.set("iter", iterI);
log.push(held.has("iter") && held.get("iter").next().value);
const promiseI = tools.echo({ value: "pN" }); held.set("promise", promiseI); await tools.echo({ value: "idle" });
log.push(await held.get("promise"));
const asyncI = async (n) => { const seen = await tools.echo({ value: n }); count += seen; return [seen, count] }; log.push(await asyncI(N));
try { await tools.fail({ message: "mN" }) } catch (e) { log.push([e.name, e.message, e.code]); held.set("error", e) }
text("text N"); json({ n: N, count }); console.warn("warn", total);
for (let i = 0; i < 2; i++) { const inner = i + N; held.set("f" + i, () => inner + i + count) } log.push([...held.keys()].filter((k) => typeof k === "string" && k[0] === "f").map((k) => held.get(k)()));
for (var loopI = 0; loopI < 3; loopI++) total += loopI; log.push(loopI, total);
label: { const only = N; if (only > 4) break label; log.push("low") } log.push(typeof only);
const weakI = new WeakRef(held); log.push(weakI.deref() === held, new WeakSet([held]).has(held));
const tagI = Symbol("s"); Base.prototype["m" + N] = function () { return this.n + N }; log.push(new Base()["m" + N](), typeof tagI);
if (N > 5) { var deepI = N } log.push(deepI === undefined ? "none" : deepI);
switch (N % 2) { case 0: { let s = 1; log.push(s); break } default: log.push("odd") }
log.push(new Error("eN").stack.split("\\n").length, (() => { try { null.x } catch (e) { return e.message } })());
if (N === 9) { text("last words"); throw new RangeError("uncaught N " + count) }
if (N === 8) aI_missing(N);
if (N === 7) { log = 1 }
""".strip().splitlines()


def fill(line: str, number: int) -> str:
    return line.replace("N", str(number))


statements = st.builds(fill, st.sampled_from(STATEMENTS), st.integers(0, 9))
bodies = st.lists(statements, min_size=1, max_size=8)
EPILOGUE = "return { log, count, total, big: 10n, keys: [...held.keys()].length, made: Base.made }"


def cells(body: Sequence[str], cuts: Sequence[bool]) -> tuple[str, list[str]]:
    """The whole, one statement a line, and its pieces, each on the lines it has there."""
    lines = [PROLOGUE, *(line.replace("I", f"_{at}") for at, line in enumerate(body)), EPILOGUE]
    pieces, begun = list[str](), 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or cuts[at % len(cuts)]:
            pieces.append("\n" * begun + "\n".join(lines[begun:at]))
            begun = at
    return "\n".join(lines), pieces


class Seen:
    """Of all programs together: output, ledger, and how the last one ended."""

    def __init__(self) -> None:
        self.output: list[Any] = []
        self.calls: list[Any] = []
        self.end: Any = None

    async def take(self, engine: Engine, program: str, session: str) -> bool:
        """Whether the next one may be run."""
        result = await engine.exec(program, session=session)
        self.output += result.to_dict()["output"]
        self.calls += [(c.tool, c.method, c.status, c.bytes_in, c.bytes_out) for c in result.telemetry.calls]
        match result:
            case Completed():
                self.end = (result.value, [(item.path, item.kind) for item in result.telemetry.lossy])
            case Failed():
                self.end = (result.code, result.error)
            case _:
                self.end = result.status
        return isinstance(result, Completed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return repr(vars(self))


async def compare(engines: Sequence[Engine], body: Sequence[str], cuts: Sequence[bool], at: int) -> None:
    whole, pieces = cells(body, cuts)
    straight, cut = Seen(), Seen()
    await straight.take(engines[0], whole, f"whole {at}")
    for number, piece in enumerate(pieces):
        if not await cut.take(engines[number % len(engines)], piece, f"cut {at}"):
            break
    assert cut == straight


def check(examples: int, store: Path | None, nodes: int) -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            engines = [
                await stack.enter_async_context(
                    Engine(tools=[echo, fail], config=KEEP, store=store, store_key=KEY if store else None)
                )
                for _ in range(nodes)
            ]
            loop, numbers = asyncio.get_running_loop(), iter(range(100_000))

            @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
            @given(bodies, st.lists(st.booleans(), min_size=1, max_size=6))
            def holds(body: list[str], cuts: list[bool]) -> None:
                task = compare(engines, body, cuts, next(numbers))
                asyncio.run_coroutine_threadsafe(task, loop).result(60)

            await asyncio.to_thread(holds)

    asyncio.run(main())


@pytest.mark.guarantee("cells-are-the-whole")
def test_a_program_cut_into_programs_of_one_session_is_the_whole_program() -> None:
    check(60, None, 1)


@pytest.mark.guarantee("cells-are-the-whole")
def test_it_is_so_with_each_piece_on_another_engine_of_one_store(tmp_path: Path) -> None:
    check(12, tmp_path / "runs.sqlite", 2)
