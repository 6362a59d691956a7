"""Replays: runs of all kinds give the same again, and a program that was changed is told where."""

from __future__ import annotations

import asyncio
import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from codemode import (
    Bundle,
    BundleRefused,
    CallContext,
    Completed,
    Engine,
    ExportError,
    Failed,
    Scope,
    Waiting,
    read_bundle,
    replay_bundle,
    tool,
)
from codemode.contract.results import CodeModeResult
from tests.harness.engine import Desk

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = bytes(range(32))
CLOCKS = (
    "{ const at = [Date.now(), new Date().toISOString(), performance.now()];"
    " const dice = [Math.random(), crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(9))];"
    " text(JSON.stringify([at, dice])); }"
)


async def to_end(engine: Engine, result: CodeModeResult, session: str = "s") -> CodeModeResult:
    while isinstance(result, Waiting):
        for call in result.pending_tool_calls:
            if call.approval is not None:
                assert await engine.approve(result.run_id, call.approval.id, session=session)
        result = await engine.wait(result.run_id, session=session)
    return result


async def exported(engine: Engine, session: str = "s") -> Bundle:
    """Of the session's latest run, as a file would have it."""
    page = await engine.list_runs(limit=1)
    return read_bundle((await engine.export(page.runs[0].run_id, session=session)).to_json().encode())


async def replayed(bundle: Bundle, program: str | None = None) -> str:
    return str(await replay_bundle(bundle, program=program))


# ---- the same again ----------------------------------------------------------------------------------------


@pytest.mark.guarantee("replays-are-the-same")
@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_time_and_randomness_are_those_of_the_recorded_run_to_the_byte(language: str) -> None:
    program = f"{CLOCKS} await yield_control(); {CLOCKS} await new Promise((r) => setTimeout(r, 2)); {CLOCKS}"
    async with Engine([], redact=False) as engine:
        assert isinstance(await to_end(engine, await engine.exec(program, language, session="s")), Completed)
        bundle = await exported(engine)
    assert await replayed(bundle) == (
        "no difference: 0 calls, 3 items of output and the outcome are the same"
    )


@pytest.mark.parametrize("checkpoints", ["suspensions", "awaits"])
async def test_generated_suspended_runs_replay_with_no_difference(checkpoints: str) -> None:
    desk = Desk()
    config = {"enabled": True, "timeoutMs": 10_000, "checkpoints": checkpoints}
    async with Engine(desk.tools, config, redact=False) as engine:
        for seed in range(25):
            dice = random.Random(f"{checkpoints} {seed}")
            program, rounds = generated(dice, f"{checkpoints[0]}{seed}")
            result = await engine.exec(program, session="s")
            assert isinstance(result, Waiting), result
            run_id = result.run_id
            for names in rounds:
                await desk.asked(*names)
                for name in dice.sample(names, len(names)):
                    if dice.random() < 0.3:
                        desk.fail(name, f"no {name}")
                    else:
                        desk.answer(name, {"of": name, "cents": dice.randrange(1000)})
                half = read_bundle((await engine.export(run_id, session="s")).to_json().encode())
                assert (await replay_bundle(half)).is_same
                result = await engine.wait(run_id, session="s")
            assert isinstance(result, Completed), (program, result)
            bundle = read_bundle((await engine.export(run_id, session="s")).to_json().encode())
            found = await replay_bundle(bundle)
            assert found.is_same, (program, str(found))
            assert found.calls == sum(map(len, rounds))


def generated(dice: random.Random, run: str) -> tuple[str, list[list[str]]]:
    """A program that yields once in each round, with calls in flight; and the names of those calls."""
    lines, rounds = ["const seen = [];"], list[list[str]]()
    for number in range(dice.randint(1, 3)):
        names = [f"{run}-{number}-{at}" for at in range(dice.randint(1, 3))]
        rounds.append(names)
        calls = ", ".join(f"tools.hold({{ name: '{name}' }})" for name in names)
        how = dice.choice(["allSettled", "race", "each"])
        lines.append(f"const c{number} = [{calls}].map((c, i) => c.then((v) => (seen.push([i, v]), v)));")
        lines.append(f"c{number}.forEach((c) => c.catch(() => {{}})); await yield_control('{number}');")
        if dice.random() < 0.5:
            lines.append(f"await new Promise((r) => setTimeout(r, {dice.randrange(3)}));")
        if how == "race":
            lines.append(f"text(await Promise.race(c{number}).then(JSON.stringify, (e) => e.message));")
        elif how == "each":
            lines.append(f"for (const c of c{number}) text(await c.then(JSON.stringify, (e) => e.message));")
        lines.append(f"await Promise.allSettled(c{number});")
        if dice.random() < 0.7:
            lines.append("text(`${Date.now()} ${Math.random()} ${performance.now()}`);")
    return "\n".join([*lines, "return { seen, dice: Math.random() };"]), rounds


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(name).stem, EXAMPLES / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def test_the_demo_with_its_mcp_server_replays_with_no_difference() -> None:
    demo = example("demo.py")
    tools = [demo.list_orders, demo.check_stock, demo.book_courier]
    async with Engine(tools, mcp=demo.SERVERS, redact=False) as engine:
        result = await to_end(engine, await engine.exec(demo.PROGRAM, "typescript", session="s"))
        assert isinstance(result, Completed), result
        bundle = await exported(engine)
    assert bundle.to_dict()["expected"] == {
        "status": "completed",
        "value": {"total": 2940, "shipped": {"courier": "bike", "parcels": 2}},
    }
    assert await replayed(bundle) == "no difference: 5 calls, 1 item of output and the outcome are the same"
    assert bundle.recorded is not None
    known = {one.id: one.schema for one in bundle.recorded.tools}
    assert {"openclaw:core:list_orders", "mcp:courier:quote_price"} <= known.keys()
    assert all(len(schema) == 16 for schema in known.values())


async def test_the_demos_of_the_workspace_and_of_nodes_replay_with_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = example("workspace_demo.py")
    (tmp_path / "repository").mkdir()
    for name, content in shown.FILES.items():
        (tmp_path / "repository" / name).write_text(content)
    async with shown.toolbox(tmp_path) as box, Engine(box.tools, redact=False) as engine:
        assert isinstance(await to_end(engine, await engine.exec(shown.PROGRAM, session="s")), Completed)
        assert (await replay_bundle(await exported(engine))).is_same
    monkeypatch.setenv("NODE", "one")
    nodes = example("gallery/three_nodes.py")
    config = {"enabled": True, "timeoutMs": 100}
    async with Engine([nodes.part, nodes.where], config, redact=False) as engine:
        assert isinstance(await to_end(engine, await engine.exec(nodes.PROGRAM, session="s")), Completed)
        bundle = await exported(engine)
    assert bundle.recorded is not None
    assert "resume" in [turn.order for turn in bundle.recorded.turns]
    assert (await replay_bundle(bundle)).is_same


@pytest.mark.parametrize(
    "program",
    [
        "throw new TypeError('no ' + await tools.echo({ value: 1 }))",
        "return await tools.fail({ message: 'broken' })",
        "return [await tools.search('echo'), await tools.describe('echo'), ALL_TOOLS.length]",
        "const left = tools.echo({ value: 'never awaited' }); return 1",
        "return await tools.pay({ cents: 5 })",
        "const x = ;",
        "return await tools.nosuch({})",
        "for (let i = 0; i < 300; i++) text('x'.repeat(1000)); return 'much'",
    ],
)
async def test_failures_look_ups_approvals_and_limits_replay_with_no_difference(program: str) -> None:
    async with Engine(Desk().tools, redact=False) as engine:
        result = await to_end(engine, await engine.exec(program, session="s"))
        assert isinstance(result, Completed | Failed)
        assert (await replay_bundle(await exported(engine))).is_same


async def test_a_run_that_another_engine_went_on_with_replays_as_one(tmp_path: Path) -> None:
    desk = Desk()
    stored: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY, "redact": False}
    async with Engine(desk.tools, **stored) as first:
        result = await first.exec(f"{CLOCKS} await yield_control(); {CLOCKS} return 1", session="s")
        assert isinstance(result, Waiting)
    async with Engine(desk.tools, **stored) as second:
        assert isinstance(await to_end(second, result), Completed)
    async with Engine([], False, **stored) as third:  # which runs nothing
        bundle = await third.export(result.run_id, session="s")
    assert (await replay_bundle(bundle)).is_same
    assert bundle.expected.status == "completed"


async def test_a_fork_has_the_past_of_its_run_and_its_own_answers() -> None:
    desk = Desk()
    async with Engine(desk.tools, redact=False) as engine:
        program = f"{CLOCKS} const a = tools.hold({{ name: 'a' }}); await yield_control(); return await a"
        run = await engine.exec(program, session="s")
        assert isinstance(run, Waiting)
        (call,) = (one.id for one in run.pending_tool_calls if one.method == "call")
        fork = await engine.fork(run.run_id, settle={call: 17}, session="s")
        assert (await engine.wait(fork, session="s")).unwrap() == 17
        bundle = await engine.export(fork, session="s")
    assert (await replay_bundle(bundle)).is_same
    assert bundle.to_dict()["expected"]["value"] == 17


# ---- a changed program -------------------------------------------------------------------------------------

ORDER = """\
const all = [];
for (const city of ["Oslo", "Bergen", "Tromsø"]) all.push(await tools.echo({ value: city }));
text(all.join());
return all.length;
"""


async def order() -> Bundle:
    async with Engine(Desk().tools, redact=False) as engine:
        assert (await engine.exec(ORDER, session="s")).unwrap() == 3
        return await exported(engine)


@pytest.mark.guarantee("replays-tell-the-first-difference")
@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "Bergen",
            "Bergem",
            "call 2 differs\n"
            '  recorded: tools openclaw:core:echo [{"value":"Bergen"}]\n'
            '  now:      tools openclaw:core:echo [{"value":"Bergem"}]',
        ),
        (
            'n", "Tromsø"]',
            'n"]',
            "call 3 differs\n"
            '  recorded: tools openclaw:core:echo [{"value":"Tromsø"}]\n'
            "  now:      'Oslo,Bergen'",
        ),
        (
            "join()",
            "join(';')",
            "output 1 differs\n  recorded: 'Oslo,Bergen,Tromsø'\n  now:      'Oslo;Bergen;Tromsø'",
        ),
        (
            "all.length;",
            "-all.length;",
            "the outcome differs\n  recorded: returned 3\n  now:      returned -3",
        ),
    ],
)
async def test_one_changed_character_is_told_at_its_call(old: str, new: str, told: str) -> None:
    assert await replayed(await order(), ORDER.replace(old, new)) == told


async def test_a_text_that_does_the_same_in_other_words_has_no_difference() -> None:
    bundle = await order()
    changed = ORDER.replace("const city of", "let city of").replace("all", "found")
    assert (await replay_bundle(bundle, program=changed)).is_same
    assert await replayed(bundle, f"setTimeout(() => {{}}, 1);\n{ORDER}") == (
        'call 1 differs\n  recorded: tools openclaw:core:echo [{"value":"Oslo"}]\n  now:      a timer of 1 ms'
    )


# ---- what there is no bundle of ----------------------------------------------------------------------------


async def test_a_bundle_without_values_says_so_and_is_not_replayed() -> None:
    async with Engine(Desk().tools) as engine:
        assert (await engine.exec("return await tools.echo({ value: 'secret' })", session="s")).unwrap()
        bundle = await exported(engine)
    assert "secret" not in bundle.to_json()
    assert [(call.tool, call.status) for call in bundle.calls] == [("openclaw:core:echo", "ok")]
    with pytest.raises(BundleRefused, match="no values, so its program cannot be run again: the engine rec"):
        await replay_bundle(bundle)


async def test_a_redactor_keeps_values_out_of_bundles() -> None:
    async with Engine(Desk().tools, redact=lambda part: "-") as engine:
        assert (await engine.exec("return await tools.echo({ value: 'secret' })", session="s")).unwrap()
        bundle = await exported(engine)
    assert not bundle.can_replay
    assert "secret" not in bundle.to_json()


async def test_a_run_that_went_on_where_values_are_not_recorded_has_none(tmp_path: Path) -> None:
    stored: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": KEY}
    async with Engine(Desk().tools, **stored, redact=False) as first:
        result = await first.exec("await yield_control(); await yield_control(); return 1", session="s")
        assert isinstance(result, Waiting)
    async with Engine(Desk().tools, **stored) as second:
        assert isinstance(await second.wait(result.run_id, session="s"), Waiting)
        bundle = await second.export(result.run_id, session="s")
    assert (bundle.can_replay, bundle.without) == (False, "it went on in an engine that records no values")


async def test_what_is_too_much_to_write_down_is_told() -> None:
    async with Engine(Desk().tools, redact=False) as engine:
        await engine.exec("let n = 0; for (let i = 0; i < 2000; i++) n += Date.now(); return 1", session="s")
        bundle = await exported(engine)
    assert (bundle.can_replay, bundle.without[:21]) == (False, "it read the clock, or")


async def test_runs_of_others_are_not_exported() -> None:
    async with Engine(Desk().tools, redact=False) as engine:
        result = await engine.exec("await yield_control()", session="s")
        assert isinstance(result, Waiting)
        for who in (Scope(session="other"), Scope("other", "s")):
            with pytest.raises(ExportError, match="There is no such run in this scope"):
                await engine.export(result.run_id, scope=who)


async def test_a_replay_calls_nothing() -> None:
    called = list[int]()

    @tool
    async def count(context: CallContext) -> int:
        """Counts."""
        called.append(1)
        await asyncio.sleep(0)
        return len(called)

    async with Engine([count], redact=False) as engine:
        assert (await engine.exec("return await tools.count({})", session="s")).unwrap() == 1
        bundle = await exported(engine)
        assert (await replay_bundle(bundle)).is_same
    assert called == [1]
