"""A program run straight through, and suspended at its awaits: through the public API both are the same."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode import Completed, Engine, Failed, Waiting
from codemode.contract.results import CodeModeResult
from tests.harness.engine import echo, fail

pytestmark = pytest.mark.timeout(300)
EXAMPLES = 60
# N is a number; YIELD is a suspension in one of the two runs and nothing in the other.
# A program that fails before it was ever idle drops the calls it did not await, and a suspension is idle: so
# whoever makes such a call awaits another one before anything can fail.
STATEMENTS = """
log.push(await tools.echo({ value: N }));
text("text N"); json({ n: N, list: [N, "é"] }); console.warn("warn", N);
log.push(await Promise.all([N, 2].map(async (value) => { YIELD; return tools.echo({ value }) })));
try { YIELD; await tools.fail({ message: "mN" }) } catch (e) { log.push([e.name, e.message, e.code, e.data]); YIELD }
for (let i = 0; i < 1 + (N % 3); i++) { state.count += i; YIELD; log.push(state.count) }
state.map.set("kN", { at: new Date(N) }); YIELD; log.push([...state.map.keys()], state.map.get("kN").at.getTime());
log.push(await (async () => { try { return await tools.echo({ value: "t" }) } finally { YIELD; log.push("finally N") } })());
const held = tools.echo({ value: N }); YIELD; log.push(await held, await held);
for await (const x of (async function* () { yield N; YIELD; yield await tools.echo({ value: "g" }) })()) log.push(x);
const [first] = await tools.search("echo", { limit: 1 }); YIELD; log.push(first.id);
log.push((await tools.describe("echo")).name); YIELD;
state.text += "x".repeat(N * 200); YIELD; log.push(state.text.length);
class P { #n = N; async get() { YIELD; return this.#n } } log.push(await new P().get());
await new Promise((done) => setTimeout(done, N % 3)); YIELD; log.push("slept N");
void tools.echo({ value: "not awaited N" }); YIELD; await tools.echo({ value: "idle N" });
if (N === 9) { text("last words"); throw new RangeError("uncaught N") }
if (N === 8) { await tools.call("nope", { value: N }) }
""".strip().splitlines()

PROLOGUE = "const log = []; const state = { count: 0, map: new Map(), text: '' };\n"
EPILOGUE = "\nreturn { log, count: state.count, big: 10n, size: state.text.length };"


def fill(line: str, number: int) -> str:
    return "{ " + line.replace("N", str(number)) + " }"


def join(statements: list[tuple[str, str]]) -> str:
    return PROLOGUE + "\n".join(f"{statement} {end}" for statement, end in statements) + EPILOGUE


statements = st.builds(fill, st.sampled_from(STATEMENTS), st.integers(0, 9))
programs = st.lists(st.tuples(statements, st.sampled_from(["YIELD;", ""])), min_size=1, max_size=8).map(join)


class Seen:
    """Of all legs of a run: its outputs one after the other, the last ledger, the last word."""

    def __init__(self) -> None:
        self.output: list[Any] = []
        self.legs = 0

    def take(self, result: CodeModeResult) -> None:
        self.legs += 1
        self.output += result.to_dict()["output"]

    def outcome(self, result: CodeModeResult) -> dict[str, Any]:
        calls = [
            (c.tool, c.name, c.method, c.status, c.bytes_in, c.bytes_out) for c in result.telemetry.calls
        ]
        match result:
            case Completed():
                last: Any = (result.value, [(item.path, item.kind) for item in result.telemetry.lossy])
            case Failed():
                last = (result.code, result.phase, result.error.split("\n")[0])
            case Waiting():
                raise AssertionError("not the end")
        return {"last": last, "output": self.output, "calls": calls}


async def executed(engine: Engine, program: str, wrapped: str) -> tuple[dict[str, Any], int]:
    seen = Seen()
    result = await engine.exec(program.replace("YIELD", wrapped))
    seen.take(result)
    while isinstance(result, Waiting):
        result = await engine.wait(result.run_id)
        seen.take(result)
    return seen.outcome(result), seen.legs


def compare(engine: Engine, in_loop: Callable[[Coroutine[Any, Any, Any]], Any], program: str) -> int:
    """In how many legs the suspended one ran."""
    # both texts are equally long, so that positions in error texts agree
    straight, legs = in_loop(executed(engine, program, "await null           "))
    assert legs == 1
    frozen, legs = in_loop(executed(engine, program, "await yield_control()"))
    assert frozen == straight
    return legs


@pytest.mark.guarantee("suspension-changes-nothing")
@pytest.mark.parametrize("legs", [1, 1000], ids=["single-use", "reused"])
@pytest.mark.usefixtures("leaves_nothing")
def test_suspending_a_program_at_any_of_its_awaits_changes_nothing_that_can_be_seen(legs: int) -> None:
    with asyncio.Runner() as runner:
        engine = Engine(
            [echo, fail],
            {
                "enabled": True,
                "maxOutputBytes": 1 << 20,
                "maxPendingToolCalls": 128,
                "learnResultShapes": False,
            },
            settings={"warmWorkers": 2, "workerReuse": legs},
        )
        runner.run(engine.start())
        try:

            @settings(max_examples=EXAMPLES, database=None)
            @given(programs)
            def holds(program: str) -> None:
                compare(engine, runner.run, program)

            holds()
            for line in STATEMENTS:
                program = join([(fill(line, 4), "YIELD;")])
                assert compare(engine, runner.run, program) > 1
        finally:
            runner.run(engine.close())
