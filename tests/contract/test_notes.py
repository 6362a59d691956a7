"""Notes: what a model could not know otherwise, in these words and within these bounds."""

from __future__ import annotations

import pytest
from msgspec import Raw

from codemode.contract.clipping import json_bytes, listed
from codemode.contract.envelope import to_envelope
from codemode.contract.notes import with_notes
from codemode.contract.results import Completed, Waiting, decode_result, failed
from codemode.contract.telemetry import CallMethod, CallRecord, CallStatus, LossyValue, Telemetry
from tests.harness.engine import engine, failure_of, value_of, waiting

CAP = 65_536


def calls(*made: tuple[str, CallStatus], method: CallMethod = "call") -> Telemetry:
    numbered = enumerate(made)
    records = [CallRecord(str(n), "", name, method, status, 1.0, 2, 3) for n, (name, status) in numbered]
    return Telemetry(calls=tuple(records))


def test_a_failed_run_notes_which_calls_it_had_made_by_name_with_counts_and_status() -> None:
    made = calls(("pay", "ok"), ("mail", "ok"), ("fetch", "error"), ("mail", "ok"))
    noted = with_notes(failed("timeout", "too slow", (), made), CAP)
    assert noted.notes == ("Already done: pay ×1 ok, mail ×2 ok, fetch ×1 error.",)
    assert noted.to_dict()["notes"] == list(noted.notes)
    assert decode_result(noted.to_json()) == noted


def test_one_name_with_two_ends_is_told_with_both() -> None:
    made = calls(("pay", "ok"), ("pay", "denied"), ("pay", "aborted"))
    assert with_notes(failed("aborted", "", (), made), CAP).notes == (
        "Already done: pay ×1 ok, pay ×1 denied, pay ×1 aborted.",
    )


def test_looking_for_tools_is_nothing_that_was_done() -> None:
    made = calls(("cats", "ok"), method="search")
    assert with_notes(failed("timeout", "", (), made), CAP).notes == ()


def test_completed_and_waiting_runs_do_not_repeat_what_they_did() -> None:
    made = calls(("pay", "ok"))
    assert with_notes(Completed(Raw(b"1"), (), made), CAP).notes == ()
    assert with_notes(Waiting("r", "yield", (), (), made), CAP).notes == ()


def test_hints_and_lossy_conversions_are_notes() -> None:
    lossy = (LossyValue("$.a", "bigint"), LossyValue("$.b[0]", "map"))
    telemetry = Telemetry(calls=(), hints=("Put `await` there.",), lossy=lossy)
    assert with_notes(Completed(Raw(b"1"), (), telemetry), CAP).notes == (
        "Put `await` there.",
        "JSON cannot hold these as they were: $.a (bigint), $.b[0] (map).",
    )


def test_a_note_names_as_many_as_fit_and_counts_the_others() -> None:
    forty: list[tuple[str, CallStatus]] = [(f"a_tool_with_a_long_name_{n}", "ok") for n in range(40)]
    made = calls(*forty)
    (note,) = with_notes(failed("timeout", "", (), made), CAP).notes
    assert note == (
        "Already done: a_tool_with_a_long_name_0 ×1 ok, a_tool_with_a_long_name_1 ×1 ok, "
        "a_tool_with_a_long_name_2 ×1 ok, a_tool_with_a_long_name_3 ×1 ok, a_tool_with_a_long_name_4 ×1 ok "
        "and 35 more."
    )
    assert json_bytes(note) <= 200


def test_names_and_paths_that_are_long_or_hostile_keep_a_note_in_its_bounds() -> None:
    lossy = tuple(LossyValue(f'$["{chr(0) * 500}"]', "map") for _ in range(3))
    made = calls(("\x00" * 900, "ok"), ("é" * 900, "ok"))
    noted = with_notes(failed("timeout", "", (), Telemetry(calls=made.calls, lossy=lossy)), CAP)
    assert [json_bytes(note) <= 200 for note in noted.notes] == [True, True]


def test_a_list_that_fits_ends_with_a_full_stop() -> None:
    assert listed("Seen: ", ["a", "b"], 200) == "Seen: a, b."
    assert listed("Seen: ", ["a", "b" * 100, "c"], 40) == "Seen: a and 2 more."


def test_a_result_without_notes_is_as_it_was() -> None:
    result = Completed(Raw(b"1"), (), Telemetry(calls=()))
    assert with_notes(result, CAP) is result
    assert "notes" not in result.to_dict()


def test_the_envelope_has_the_notes_beside_the_telemetry() -> None:
    noted = with_notes(failed("timeout", "too slow", (), calls(("pay", "ok"))), CAP)
    made = to_envelope(noted)
    assert made["meta"]["notes"] == ["Already done: pay ×1 ok."]
    assert (made["data"], made["meta"]["output"]) == (None, [])


@pytest.mark.guarantee("failed-runs-tell-what-they-did")
async def test_an_engine_notes_what_a_failed_program_had_done_also_after_a_suspension() -> None:
    async with engine() as made:
        code = "await tools.echo({}); await yield_control(); await tools.fail({}).catch(() => 1); throw 1"
        result = waiting(await made.exec(code))
        assert result.notes == ()
        failure = failure_of(await made.wait(result.run_id), "guest_error")
    assert failure.notes == ("Already done: echo ×1 ok, fail ×1 error.",)


async def test_an_engine_notes_what_an_aborted_run_had_done() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await tools.echo({}); await yield_control()"))
        assert await made.abort(result.run_id)
        failure = failure_of(await made.wait(result.run_id), "aborted")
    assert failure.notes == ("Already done: echo ×1 ok.",)


async def test_an_engine_notes_a_promise_that_was_returned_unawaited() -> None:
    async with engine() as made:
        result = await made.exec("return { a: tools.echo({}) }")
    assert value_of(result) == {"a": "[Promise, not awaited]"}
    assert result.notes == (
        "The value has a promise that was not awaited ($.a): put `await` before the call.",
        "Not awaited, and made all the same: echo ×1 ok.",
    )


async def test_a_call_that_was_not_awaited_is_noted_with_how_it_ended() -> None:
    async with engine() as made:
        quiet = await made.exec("tools.echo({ value: 1 }); tools.echo({ value: 2 }); return 1")
        caught = await made.exec("tools.fail().catch(() => 0); return 2")
        awaited = await made.exec("await tools.echo({ value: 1 }); return 3")

    assert (value_of(quiet), quiet.notes) == (1, ("Not awaited, and made all the same: echo ×2 ok.",))
    assert (value_of(caught), caught.notes) == (2, ("Not awaited, and made all the same: fail ×1 error.",))
    assert (value_of(awaited), awaited.notes) == (3, ())


async def test_after_one_rejection_the_notes_say_which_calls_were_made() -> None:
    async with engine() as made:
        result = await made.exec("await Promise.all([tools.echo({ value: 1 }), tools.fail()])")

    assert result.notes == ("Already done: echo ×1 ok, fail ×1 error.",)


def test_what_is_pending_is_not_called_done() -> None:
    calls = (
        CallRecord("1", "openclaw:core:echo", "echo", "call", "ok", 1.0, 2, 2),
        CallRecord("2", "openclaw:core:pay", "pay", "call", "pending", 1.0, 2, 0),
    )
    noted = with_notes(failed("snapshot_expired", "gone", telemetry=Telemetry(calls=calls)), 65_536)

    assert noted.notes == ("Already done: echo ×1 ok.", "Not finished: pay ×1.")
