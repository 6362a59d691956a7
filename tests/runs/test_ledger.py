"""The ledger of a run has a bound, and what it leaves out is counted."""

from __future__ import annotations

import asyncio

import pytest

from codemode.contract.telemetry import CallEnd
from codemode.runs.ledger import FIRST_CALLS, LAST_CALLS
from codemode.runs.meter import RunMeter, Tally
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting

MOST = FIRST_CALLS + LAST_CALLS


def _made(count: int) -> RunMeter:
    meter = RunMeter(Tally())
    for at in range(1, count + 1):
        meter.start_call(str(at), tool="t:echo", name="echo", method="call", bytes_in=1)
        meter.finish_call(CallEnd(str(at), "error" if at % 10 == 0 else "ok", 1.0, 2))
    return meter


def test_what_a_run_freezes_and_thaws_of_its_ledger_does_not_grow_with_its_calls() -> None:
    """Half a millisecond each way for the largest: that is why it is written whole."""
    few, many = (len(_made(count).encode()) for count in (MOST, 20 * MOST))
    assert few <= 120 * MOST
    assert many - few <= 3 * MOST  # ids have more digits, and the calls in between are counted


def test_a_ledger_of_few_calls_is_whole() -> None:
    found = _made(MOST).telemetry()
    assert [call.id for call in found.calls] == [str(at) for at in range(1, MOST + 1)]
    assert found.more_calls == {}


def test_of_more_calls_the_first_and_the_last_are_listed_and_the_others_counted() -> None:
    found = _made(MOST + 100).telemetry()
    ids = [*range(1, FIRST_CALLS + 1), *range(FIRST_CALLS + 101, MOST + 101)]
    assert [call.id for call in found.calls] == [str(at) for at in ids]
    assert found.more_calls == {"echo": {"ok": 90, "error": 10}}
    assert found.counts == {"call": MOST + 100}
    assert found.bytes == {"callsIn": MOST + 100, "callsOut": 2 * (MOST + 100)}


def test_a_call_under_way_is_never_left_out() -> None:
    meter = RunMeter(Tally())
    for at in range(1, 2 * MOST + 1):
        meter.start_call(str(at), tool="t:echo", name="echo", method="call", bytes_in=1)
        if at not in (1200, 1300):
            meter.finish_call(CallEnd(str(at), "ok", 1.0, 2))
    pending = [call.id for call in meter.calls if call.status == "pending"]
    assert (pending, len(meter.calls)) == (["1200", "1300"], MOST)
    meter.finish_call(CallEnd("1200", "error", 5.0, 1))
    meter.finish_call(CallEnd("1200", "error", 5.0, 1))  # told twice, it counts once
    assert meter.telemetry().bytes["callsOut"] == 2 * (2 * MOST - 2) + 1


def test_a_stored_ledger_goes_on_as_it_was() -> None:
    meter = _made(MOST + 100)
    stored = meter.encode()
    again = RunMeter.resume(Tally(), stored)
    assert again.telemetry() == meter.telemetry()
    assert len(stored) < 300_000
    assert again.is_new(1)
    assert not again.is_new(1)


@pytest.mark.guarantee("ledger-is-bounded")
async def test_names_that_a_program_chose_do_not_fill_its_result() -> None:
    program = """for (let at = 0; at < 3000; at++)
        await tools.call(String(at).padEnd(200, 'я')).catch(() => 1);
    await tools.fail()"""
    async with engine() as made:
        found = failure_of(await made.exec(program), "nested_tool_failed")
    assert len(found.telemetry.calls) == MOST
    assert found.telemetry.more_calls == {"(others)": {"error": 1501}}
    assert found.telemetry.counts["call"] == 3001
    assert max(len(call.name) for call in found.telemetry.calls) == 80
    assert len(found.to_json().encode()) < 800_000
    assert any("(others) ×1501 error" in note for note in found.notes)


@pytest.mark.guarantee("ledger-is-bounded")
async def test_a_run_of_many_calls_is_suspended_and_goes_on_with_its_counts() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = """for (let at = 0; at < 2000; at++) await tools.echo({ value: at });
        await yield_control('enough'); await tools.hold({ name: 'a' }); return 'done'"""
        first = waiting(await made.exec(program), "yield")
        assert len(first.telemetry.calls) == MOST
        going = asyncio.create_task(made.wait(first.run_id))
        await desk.asked("a")
        desk.answer("a")
        last = await going
    assert value_of(last) == "done"
    assert last.telemetry.counts["call"] == 2001
    assert last.telemetry.more_calls == {"echo": {"ok": 501}}
    assert last.telemetry.called_tools == ("openclaw:core:echo", "openclaw:core:hold")
