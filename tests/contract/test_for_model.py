"""What a model is shown of a result: these keys and no others, and never more than the cap and 8 KiB."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from codemode.config import CodeModeConfig
from codemode.contract.clipping import clip_end, clip_middle, json_bytes
from codemode.contract.error_codes import ERROR_CODES
from codemode.contract.for_model import ROOM_BYTES
from codemode.contract.results import (
    CodeModeResult,
    Completed,
    JsonOutput,
    Output,
    PendingApproval,
    PendingCall,
    TextOutput,
    Waiting,
    failed,
)
from codemode.contract.telemetry import DEFAULT_MAX_OUTPUT_BYTES, CallRecord, Telemetry
from tests.harness.engine import engine, waiting

NOTHING = Telemetry(calls=())
SMALL = Telemetry(calls=(), max_output_bytes=1024)
CALL = CallRecord("1", "openclaw:core:pay", "pay", "call", "ok", 1.0, 2, 3)
BUSY = Telemetry(calls=(CALL,) * 5_000)


def size_of(result: CodeModeResult) -> int:
    return len(msgspec.json.encode(result.for_model()))


def test_a_completed_result_shows_its_value_output_and_notes() -> None:
    output = (TextOutput("hi"), JsonOutput(Raw(b"[1]")))
    assert Completed(Raw(b'{"n":1}'), output, BUSY).for_model() == {
        "status": "completed",
        "value": {"n": 1},
        "output": [{"type": "text", "text": "hi"}, {"type": "json", "value": [1]}],
    }
    assert Completed(Raw(b"1"), (), NOTHING, ("Odd.",)).for_model()["notes"] == ["Odd."]


def test_a_waiting_result_shows_what_it_waits_for() -> None:
    pending = (PendingCall("2", "timer", 3), PendingCall("1", "call", 12, "openclaw:core:pay"))
    assert Waiting("run-1", "pending_tools", pending, (), BUSY).for_model() == {
        "status": "waiting",
        "runId": "run-1",
        "reason": "pending_tools",
        "pendingToolCalls": [
            {"id": "2", "method": "timer", "elapsedMs": 3},
            {"id": "1", "method": "call", "elapsedMs": 12, "tool": "openclaw:core:pay"},
        ],
        "output": [],
    }


def test_a_failed_result_shows_error_and_code() -> None:
    assert failed("timeout", "too slow", (TextOutput("hi", "warn"),), BUSY).for_model() == {
        "status": "failed",
        "error": "too slow",
        "code": "timeout",
        "output": [{"type": "text", "text": "hi", "level": "warn"}],
    }


def test_five_thousand_calls_cost_a_model_no_more_than_none() -> None:
    assert Completed(Raw(b"1"), (), BUSY).for_model() == Completed(Raw(b"1"), (), NOTHING).for_model()


def test_calls_that_wait_for_an_approval_come_first_and_others_beyond_the_room_are_counted() -> None:
    calls = [PendingCall(str(n), "call", 1, f"openclaw:core:tool_{n:03}") for n in range(127)]
    asking = PendingCall("127", "call", 1, "t" * 500, PendingApproval("apr_1", "s" * 900))
    shown = Waiting("run-1", "approval", (*calls, asking), (), NOTHING).for_model()
    first, second, *_ = shown["pendingToolCalls"]
    assert first["id"] == "127"
    assert first["tool"] == "t" * 117 + "…"
    assert first["approval"]["summary"] == f"{'s' * 126} … 648 bytes left out … {'s' * 126}"
    assert second == {"id": "0", "method": "call", "elapsedMs": 1, "tool": "openclaw:core:tool_000"}
    assert len(shown["pendingToolCalls"]) + shown["morePendingToolCalls"] == 128
    assert 2_500 < len(msgspec.json.encode(shown["pendingToolCalls"])) <= 3_000


def test_a_long_error_keeps_its_beginning_and_its_end() -> None:
    error = failed("guest_error", "a" * 3_000 + "b" * 3_000).for_model()["error"]
    assert error == f"{'a' * 1976} … 2,048 bytes left out … {'b' * 1976}"


def test_more_output_than_fits_keeps_the_first_and_the_last_items_and_says_so() -> None:
    output = tuple(TextOutput(f"line {n:04}") for n in range(1_000))
    shown = Completed(Raw(b"1"), output, SMALL).for_model()
    kept = [item["text"] for item in shown["output"]]
    mark = next(at for at, text in enumerate(kept) if text.startswith("…"))
    assert kept[:mark] == [f"line {n:04}" for n in range(mark)]
    assert kept[mark + 1 :] == [f"line {n:04}" for n in range(1_000 - (len(kept) - mark - 1), 1_000)]
    assert kept[mark] == f"… {1_000 - len(kept) + 1} items of output left out …"
    assert shown["notes"] == ["The output was clipped: it had 1,000 items and 35,001 bytes."]
    assert 1024 + ROOM_BYTES - 200 < len(msgspec.json.encode(shown)) <= 1024 + ROOM_BYTES


def test_a_long_item_is_cut_in_its_middle_and_cut_json_is_shown_as_text() -> None:
    output = (TextOutput("x" * 20_000), JsonOutput(Raw(b'["' + b"y" * 20_000 + b'"]')), TextOutput("z"))
    long, cut, short = Completed(Raw(b"1"), output, SMALL).for_model()["output"]
    assert " bytes left out … xx" in long["text"]
    assert cut["type"] == "text"
    assert cut["text"].startswith('["yyy')
    assert cut["text"].endswith('yyy"]')
    assert short == {"type": "text", "text": "z"}


def test_a_value_over_the_cap_is_shown_as_the_beginning_and_the_end_of_its_json() -> None:
    shown = Completed(Raw(b"[" + b"1," * 2_000 + b"2]"), (), SMALL).for_model()
    assert shown["value"].startswith("[1,1,1")
    assert shown["value"].endswith("1,1,2]")
    assert shown["notes"] == ["The value was clipped: its JSON has 4,003 bytes."]


@pytest.mark.guarantee("model-form-is-bounded")
async def test_the_bound_follows_the_configured_cap() -> None:
    program = "for (let n = 0; n < 1000; n += 1) text(''); return 'v'.repeat(SIZE)"
    sizes: list[int] = []
    for cap in (1024, 1 << 20):
        async with engine((), {"maxOutputBytes": cap}) as made:
            result = await made.exec(program.replace("SIZE", str(cap - 2)))
            assert result.telemetry.max_output_bytes == cap
            sizes.append(size_of(result) - cap)
    assert [size <= ROOM_BYTES for size in sizes] == [True, True]


async def test_a_suspended_program_shows_no_more_than_that_it_waits() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control('for a moment')"))
    assert list(result.for_model()) == ["status", "runId", "reason", "pendingToolCalls", "output"]


def test_the_cap_that_nobody_sets_is_that_of_the_configuration() -> None:
    assert CodeModeConfig().max_output_bytes == DEFAULT_MAX_OUTPUT_BYTES


@pytest.mark.parametrize("sign", ["a", '"', "\n", "\x00", "é", "…", "🜁"])
def test_a_clipped_text_takes_no_more_than_it_may(sign: str) -> None:
    for limit in (60, 61, 62, 63, 64, 65, 200):
        for text in (sign * 100, sign * 5_000):
            for clipped in (clip_end(text, limit), clip_middle(text, limit)):
                assert json_bytes(clipped) <= limit
                assert clipped == text or "…" in clipped


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=3_000)
long_texts = st.tuples(texts, st.sampled_from([1, 1, 30, 400])).map(lambda part: part[0] * part[1])
values: st.SearchStrategy[object] = st.one_of(long_texts, st.lists(texts, max_size=20), st.none())
raws = values.map(lambda value: Raw(msgspec.json.encode(value)))
items: st.SearchStrategy[Output] = st.one_of(
    st.builds(TextOutput, long_texts, st.sampled_from([None, "warn"])), st.builds(JsonOutput, raws)
)
output_lists: st.SearchStrategy[tuple[Output, ...]] = st.one_of(
    st.lists(items, max_size=8).map(tuple),
    st.text("a\n", max_size=20).map(lambda text: (TextOutput(text),) * 5_000),
)
caps = st.sampled_from([1024, 5_000, 65_536])
telemetries = caps.map(lambda cap: Telemetry(calls=(), max_output_bytes=cap))
noted = st.lists(texts, max_size=30).map(tuple)
approvals = st.one_of(st.none(), st.builds(PendingApproval, st.text("apr_01", max_size=40), texts))
pending = st.lists(
    st.builds(
        PendingCall,
        st.text("0123456789", max_size=9),
        st.sampled_from(["call", "yield"]),
        st.integers(0, 10**9),
        st.one_of(st.none(), texts),
        approvals,
    ),
    max_size=20,
).map(lambda calls: tuple(calls) * 7)
results = st.one_of(
    st.builds(Completed, raws, output_lists, telemetries, noted),
    st.builds(
        Waiting,
        st.text("run_abc", max_size=40),
        st.sampled_from(["yield", "approval", "pending_tools"]),
        pending,
        output_lists,
        telemetries,
        noted,
    ),
    st.builds(failed, st.sampled_from(ERROR_CODES), long_texts, output_lists, telemetries),
)


@pytest.mark.guarantee("model-form-is-bounded")
@settings(max_examples=60, deadline=None)
@given(results)
def test_no_result_shows_a_model_more_than_its_cap_and_eight_kib(result: CodeModeResult) -> None:
    shown = result.for_model()
    assert len(msgspec.json.encode(shown)) <= result.telemetry.max_output_bytes + ROOM_BYTES
    assert "telemetry" not in shown
    assert len(shown.get("notes", ())) <= 10
    assert all(json_bytes(note) <= 200 for note in shown.get("notes", ()))
    outputs: tuple[Output, ...] = result.output
    assert len(shown["output"]) <= len(outputs)
