"""Suspended runs outlive kill -9 of the whole engine: a new one lists them, and goes on by the rules."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.durable_host import Witness
from tests.e2e.hosts import Host

pytestmark = pytest.mark.usefixtures("leaves_nothing")
Launch = Callable[[], Host]


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness")


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    launched: list[Host] = []

    def start() -> Host:
        launched.append(Host(tmp_path / "runs.sqlite", tmp_path / "witness"))
        return launched[-1]

    yield start
    for host in launched:
        host.kill()


def suspended(host: Host, program: str, *names: str) -> str:
    """The run id of a program that is waiting, once these calls of it are running."""
    result = host.ask("exec", program=program)
    assert result["status"] == "waiting", result
    host.ask("held", names=list(names))
    return result["runId"]


def value(result: dict[str, Any]) -> Any:
    assert result["status"] == "completed", result
    return result["value"]


def approval_in(result: dict[str, Any]) -> str:
    (found,) = [call["approval"]["id"] for call in result["pendingToolCalls"] if "approval" in call]
    return found


@pytest.mark.guarantee("runs-survive-the-engine")
def test_a_killed_engine_s_run_is_listed_and_resumed_by_the_next(launch: Launch) -> None:
    first = launch()
    run_id = suspended(
        first, "const kept = [1, new Map([[2, 3]])]; text('a'); await yield_control(); text('b'); return kept"
    )
    first.kill()
    with launch() as second:
        assert second.ask("runs") == [run_id]
        result = second.ask("wait", run_id=run_id)
        assert value(result) == [1, [[2, 3]]]
        assert result["output"] == [{"type": "text", "text": "b"}]
        assert second.ask("runs") == []
        assert second.ask("wait", run_id=run_id) == result


@pytest.mark.guarantee("runs-survive-the-engine")
def test_to_another_session_the_run_does_not_exist_after_a_restart_either(launch: Launch) -> None:
    first = launch()
    run_id = suspended(first, "await yield_control(); return 1")
    first.kill()
    with launch() as second:
        foreign = second.ask("wait", run_id=run_id, session="other")
        unknown = second.ask("wait", run_id="run_unknown", session="other")
        assert foreign == unknown
        assert value(second.ask("wait", run_id=run_id)) == 1


@pytest.mark.guarantee("in-flight-calls-are-interrupted")
def test_a_call_that_was_in_flight_is_an_interrupted_error_that_the_program_can_catch(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    program = """
    const held = tools.hold({ name: "a" });
    await yield_control();
    try { return await held } catch (e) { return [e.name, e.code, await tools.note({ name: "after" })] }
    """
    run_id = suspended(first, program, "a")
    first.kill()
    with launch() as second:
        result = second.ask("wait", run_id=run_id)
        assert value(result) == ["InterruptedError", "interrupted", "after"]
        assert [(c["name"], c["status"]) for c in result["telemetry"]["calls"]] == [
            ("hold", "error"),
            ("note", "ok"),
        ]
    assert [line["what"] for line in witness.lines()] == ["hold", "note"]


def test_an_interrupted_call_that_nobody_catches_fails_the_run(launch: Launch) -> None:
    first = launch()
    run_id = suspended(
        first, "const p = tools.hold({ name: 'a' }); await yield_control(); return await p", "a"
    )
    first.kill()
    with launch() as second:
        result = second.ask("wait", run_id=run_id)
        assert (result["code"], result["phase"]) == ("nested_tool_failed", "bridge")


@pytest.mark.guarantee("idempotent-calls-run-again")
def test_an_idempotent_call_runs_again_with_the_same_key_and_the_same_arguments(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    run_id = suspended(
        first, "const p = tools.hold_again({ name: 'a' }); await yield_control(); return await p", "a"
    )
    first.kill()
    with launch() as second:
        waiting = second.order("wait", run_id=run_id)
        second.ask("held", names=["a"])
        second.ask("answer", name="a", value="second time")
        assert value(second.take(waiting)) == "second time"
    lines = witness.lines()
    assert [(line["what"], line["name"]) for line in lines] == [("hold_again", "a")] * 2
    assert {line["key"] for line in lines} == {f"{run_id}:1"}


def test_calls_that_settled_before_the_kill_are_delivered_from_the_store_in_their_order(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    program = """
    const order = [];
    const seen = (name) => (value) => order.push([name, value]);
    const calls = ["a", "b", "c", "d"].map((name) =>
      tools.hold({ name }).then(seen(name), (e) => seen(name)(e.code)));
    await yield_control();
    await Promise.all(calls);
    return order;
    """
    run_id = suspended(first, program, "a", "b", "c", "d")
    for number, name in enumerate(("c", "a", "d"), start=1):
        first.ask("answer", name=name, value=f"{name}!")
        first.ask("kept", results=number)
    first.kill()
    with launch() as second:
        assert value(second.ask("wait", run_id=run_id)) == [
            ["c", "c!"],
            ["a", "a!"],
            ["d", "d!"],
            ["b", "interrupted"],
        ]
    assert len(witness.lines()) == 4


def test_timers_go_on_over_a_restart(launch: Launch) -> None:
    first = launch()
    program = """
    const rung = [];
    const timers = [300, 1].map((ms) => new Promise((r) => setTimeout(() => r(rung.push(ms)), ms)));
    await yield_control();
    await Promise.all(timers);
    return rung;
    """
    run_id = suspended(first, program)
    first.kill()
    with launch() as second:
        assert value(second.ask("wait", run_id=run_id)) == [1, 300]


@pytest.mark.guarantee("approvals-survive-the-engine")
@pytest.mark.parametrize("is_asked_first", [True, False], ids=["after a wait", "before any wait"])
def test_an_approval_that_was_asked_for_is_asked_for_still_under_the_same_id(
    launch: Launch, witness: Witness, is_asked_first: bool
) -> None:
    first = launch()
    result = first.ask("exec", program="const p = tools.pay({ amount: 5 }); text('a'); return await p")
    assert result["reason"] == "approval"
    run_id, approval = result["runId"], approval_in(result)
    first.kill()
    with launch() as second:
        early = second.order("wait", run_id=run_id) if is_asked_first else None
        second.ask("runs")
        assert not second.ask("approve", run_id=run_id, approval="apr_other")
        assert second.ask("approve", run_id=run_id, approval=approval)
        waiting = second.order("wait", run_id=run_id) if early is None else early
        second.ask("held", names=["pay 5"])
        second.ask("answer", name="pay 5", value="paid")
        assert value(second.take(waiting)) == "paid"
    assert [line["what"] for line in witness.lines()] == ["pay"]


def test_a_denial_before_the_kill_is_not_asked_for_again(launch: Launch, witness: Witness) -> None:
    first = launch()
    program = "const p = tools.pay({ amount: 5 }).catch((e) => e.code); tools.hold({ name: 'a' }).catch(() => {}); await yield_control(); return await p"
    result = first.ask("exec", program=program)
    assert first.ask("deny", run_id=result["runId"], approval=approval_in(result))
    first.kill()
    with launch() as second:
        assert value(second.ask("wait", run_id=result["runId"])) == "denied"
    assert [line["what"] for line in witness.lines()] == ["hold"]


@pytest.mark.guarantee("nothing-runs-twice")
def test_an_approved_call_that_was_running_at_the_kill_does_not_run_twice(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    result = first.ask("exec", program="return await tools.pay({ amount: 5 }).catch((e) => e.code)")
    assert first.ask("approve", run_id=result["runId"], approval=approval_in(result))
    first.ask("held", names=["pay 5"])
    first.kill()
    with launch() as second:
        assert value(second.ask("wait", run_id=result["runId"])) == "interrupted"
    assert [line["what"] for line in witness.lines()] == ["pay"]


@pytest.mark.guarantee("nothing-runs-twice")
def test_a_run_that_was_being_resumed_at_the_kill_is_gone_and_says_so(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    run_id = suspended(first, "await yield_control(); await tools.hold({ name: 'a' }); return 1")
    first.order("wait", run_id=run_id)
    first.ask("held", names=["a"])
    first.kill()
    with launch() as second:
        assert second.ask("runs") == []
        assert second.ask("wait", run_id=run_id)["code"] == "aborted"
        assert second.ask("wait", run_id=run_id, session="other")["code"] == "invalid_input"
    assert [line["what"] for line in witness.lines()] == ["hold"]


@pytest.mark.guarantee("nothing-runs-twice")
def test_an_engine_that_was_open_all_along_learns_that_a_run_s_engine_died_in_a_leg(launch: Launch) -> None:
    first, second = launch(), launch()
    with second:
        run_id = suspended(first, "await yield_control(); await tools.hold({ name: 'a' }); return 1")
        first.order("wait", run_id=run_id)
        first.ask("held", names=["a"])
        first.kill()
        assert second.ask("wait", run_id=run_id)["code"] == "aborted"
        second.ask("expire")
        assert second.ask("wait", run_id=run_id)["code"] == "aborted"


def test_a_run_goes_on_over_several_restarts(launch: Launch, witness: Witness) -> None:
    program = "const seen = []; for (const name of ['a', 'b', 'c']) { seen.push(await tools.note({ name })); await yield_control() } return seen"
    host = launch()
    run_id = suspended(host, program)
    for _ in range(2):
        host.kill()
        host = launch()
        assert host.ask("wait", run_id=run_id)["status"] == "waiting"
    host.kill()
    with launch() as last:
        result = last.ask("wait", run_id=run_id)
        assert value(result) == ["a", "b", "c"]
        assert [call["status"] for call in result["telemetry"]["calls"]] == ["ok"] * 3
        assert result["telemetry"]["counts"] == {"exec": 1, "call": 3, "wait": 3}
    assert [line["name"] for line in witness.lines()] == ["a", "b", "c"]


def test_an_engine_that_is_closed_well_leaves_its_suspended_runs_to_the_next(
    launch: Launch, witness: Witness
) -> None:
    with launch() as first:
        run_id = suspended(
            first,
            "const p = tools.hold({ name: 'a' }).catch((e) => e.code); await yield_control(); return await p",
            "a",
        )
    with launch() as second:
        assert second.ask("runs") == [run_id]
        assert value(second.ask("wait", run_id=run_id)) == "interrupted"
    assert len(witness.lines()) == 1


@pytest.mark.guarantee("any-engine-goes-on")
def test_a_run_goes_on_at_another_engine_while_the_first_one_lives_and_runs_its_call(launch: Launch) -> None:
    with launch() as first, launch() as second:
        run_id = suspended(
            first, "const p = tools.hold({ name: 'a' }); await yield_control(); return await p", "a"
        )
        assert second.ask("runs") == [run_id]
        waiting = second.order("wait", run_id=run_id)
        first.ask("answer", name="a", value="mine")
        assert value(second.take(waiting)) == "mine"
        assert value(first.ask("wait", run_id=run_id)) == "mine"  # the kept result


@pytest.mark.guarantee("any-engine-goes-on")
def test_calls_of_several_engines_that_live_or_died_come_together_in_one_run(
    launch: Launch, witness: Witness
) -> None:
    first = launch()
    program = """
    const settled = tools.hold({ name: "a" });
    const held = tools.hold({ name: "b" }).catch((e) => e.code);
    const paid = tools.pay({ amount: 5 });
    await yield_control();
    return await Promise.all([settled, held, paid]);
    """
    result = first.ask("exec", program=program)
    run_id, approval = result["runId"], approval_in(result)
    first.ask("held", names=["a", "b"])
    first.ask("answer", name="a", value="a!")
    first.ask("kept", results=1)
    first.kill()
    with launch() as second, launch() as third:
        assert not second.ask("approve", run_id=run_id, approval="apr_other")
        assert second.ask("approve", run_id=run_id, approval=approval)
        assert not third.ask("approve", run_id=run_id, approval=approval)
        second.ask("held", names=["pay 5"])
        waiting = third.order("wait", run_id=run_id)
        second.ask("answer", name="pay 5", value="paid")
        result = third.take(waiting)
        while result["status"] == "waiting":
            result = third.ask("wait", run_id=run_id)
        assert value(result) == ["a!", "interrupted", "paid"]
    assert sorted(line["what"] for line in witness.lines()) == ["hold", "hold", "pay"]


@pytest.mark.guarantee("one-engine-resumes-a-run")
def test_of_two_engines_that_race_for_a_run_exactly_one_resumes_it(launch: Launch, witness: Witness) -> None:
    first = launch()
    program = "await yield_control(); return await tools.note({ name: 'once' })"
    runs = [suspended(first, program) for _ in range(12)]
    first.kill()
    with launch() as second, launch() as third:
        for run_id in runs:
            orders = [(host, host.order("wait", run_id=run_id)) for host in (second, third)]
            results = [host.take(number) for host, number in orders]
            # the other one is busy, or comes late enough for the kept result
            assert "completed" in [result["status"] for result in results]
            assert {result.get("code", "invalid_input") for result in results} == {"invalid_input"}
    keys = [line["key"] for line in witness.lines()]
    assert len(keys) == len(set(keys)) == len(runs)
