"""Results encode to exactly the JSON of the contract, and every code has its fixed facts."""

from __future__ import annotations

import json
import pickle
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from codemode.contract.envelope import to_envelope
from codemode.contract.error_codes import ERROR_CODES, ERRORS, ErrorCode
from codemode.contract.results import (
    CodeModeResult,
    Completed,
    Failed,
    JsonOutput,
    PendingApproval,
    PendingCall,
    RunFailed,
    RunWaiting,
    TextOutput,
    Waiting,
    decode_result,
    failed,
)
from codemode.contract.telemetry import CallRecord, LossyValue, SnapshotCost, Telemetry

NOTHING = Telemetry(calls=())
OUTPUT = (TextOutput("hi"), TextOutput("careful", "warn"), JsonOutput(Raw(b'{"a":[1,null]}')))
OUTPUT_JSON: list[dict[str, Any]] = [
    {"type": "text", "text": "hi"},
    {"type": "text", "text": "careful", "level": "warn"},
    {"type": "json", "value": {"a": [1, None]}},
]
PENDING = (
    PendingCall("1", "call", 12, "openclaw:core:echo", PendingApproval("a1", "echo it")),
    PendingCall("2", "timer", 3),
)
RESULTS: list[CodeModeResult] = [
    Completed(Raw(b'{"n":1}'), OUTPUT, NOTHING),
    Waiting("run-1", "approval", PENDING, OUTPUT, NOTHING),
    failed("timeout", "too slow", OUTPUT, NOTHING),
]


def test_a_completed_result_has_these_keys_and_no_other() -> None:
    result = Completed(Raw(b'{"n":1}'), OUTPUT, NOTHING)
    assert result.to_dict() == {
        "status": "completed",
        "value": {"n": 1},
        "output": OUTPUT_JSON,
        "telemetry": {"calls": []},
    }
    assert (result.status, result.value) == ("completed", {"n": 1})


def test_a_waiting_result_has_these_keys_and_no_other() -> None:
    result = Waiting("run-1", "approval", PENDING, (), NOTHING)
    assert result.to_dict() == {
        "status": "waiting",
        "runId": "run-1",
        "reason": "approval",
        "pendingToolCalls": [
            {
                "id": "1",
                "method": "call",
                "elapsedMs": 12,
                "tool": "openclaw:core:echo",
                "approval": {"id": "a1", "summary": "echo it"},
            },
            {"id": "2", "method": "timer", "elapsedMs": 3},
        ],
        "output": [],
        "telemetry": {"calls": []},
    }
    assert (result.status, result.run_id) == ("waiting", "run-1")


def test_a_failed_result_has_these_keys_and_no_other() -> None:
    assert failed("nested_tool_failed", "no", OUTPUT[:1]).to_dict() == {
        "status": "failed",
        "error": "no",
        "code": "nested_tool_failed",
        "phase": "bridge",
        "output": [{"type": "text", "text": "hi"}],
        "telemetry": {"calls": []},
    }


def test_values_of_every_json_type_come_out_as_they_went_in() -> None:
    for raw in (
        b"null",
        b"0",
        b'"\\u00e9"',
        b"[]",
        b'{"__proto__":{"x":1}}',
        b"1.5e300",
        b"9007199254740993",
    ):
        result = Completed(Raw(raw), (), NOTHING)
        assert result.value == json.loads(raw)
        assert result.to_dict()["value"] == json.loads(raw)


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_survives_its_own_json(result: CodeModeResult) -> None:
    text = result.to_json()
    assert json.loads(text) == result.to_dict()
    assert decode_result(text) == result


def test_text_that_is_no_result_is_refused() -> None:
    for text in ("{}", '{"status":"done"}', '{"status":"completed"}', "[]", "nonsense"):
        with pytest.raises(msgspec.DecodeError):
            decode_result(text)


def test_results_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        RESULTS[0].output = ()  # pyright: ignore[reportAttributeAccessIssue] - that it fails is the point


def test_telemetry_names_its_parts_in_camel_case_and_leaves_out_empty_ones() -> None:
    telemetry = Telemetry(
        calls=(CallRecord("1", "openclaw:core:echo", "echo", "call", "ok", 1.5, 10, 20),),
        lossy=(LossyValue("$.at", "date"),),
        snapshot=SnapshotCost(2900, 300, 0),
        durations_ms={"run": 0.5},
    )
    assert Completed(Raw(b"1"), (), telemetry).to_dict()["telemetry"] == {
        "calls": [
            {
                "id": "1",
                "tool": "openclaw:core:echo",
                "name": "echo",
                "method": "call",
                "status": "ok",
                "ms": 1.5,
                "bytesIn": 10,
                "bytesOut": 20,
            }
        ],
        "lossy": [{"path": "$.at", "kind": "date"}],
        "snapshot": {"bytes": 2900, "captureUs": 300, "restoreUs": 0},
        "durationsMs": {"run": 0.5},
    }


def test_the_codes_are_those_of_the_contract() -> None:
    assert set(ERROR_CODES) == {
        *("runtime_unavailable", "invalid_config", "invalid_input", "unsupported_language"),
        *("typescript_transform_failed", "module_access_denied", "timeout", "memory_limit_exceeded"),
        *("output_limit_exceeded", "snapshot_limit_exceeded", "snapshot_expired", "snapshot_restore_failed"),
        *("too_many_pending_tool_calls", "nested_tool_failed", "aborted", "guest_error", "internal_error"),
    }


@pytest.mark.parametrize("code", ERROR_CODES)
def test_every_code_has_a_phase_and_a_suggestion(code: ErrorCode) -> None:
    facts = ERRORS[code]
    result = failed(code, "why")
    assert isinstance(result, Failed)
    assert result.phase == facts.phase
    assert facts.suggestion.endswith(".")
    assert to_envelope(result) == {
        "status": "degraded" if facts.recoverable else "unavailable",
        "data": None,
        "error": {
            "code": code,
            "message": "why",
            "recoverable": facts.recoverable,
            "suggestion": facts.suggestion,
        },
        "meta": {
            "status": "failed",
            "phase": facts.phase,
            "telemetry": {"calls": []},
            "output": [],
            "durationMs": 0,
        },
    }


def test_the_envelope_of_a_good_result_is_healthy_and_holds_its_data() -> None:
    assert to_envelope(Completed(Raw(b"2"), OUTPUT[:1], NOTHING)) == {
        "status": "healthy",
        "data": {"value": 2, "output": [{"type": "text", "text": "hi"}]},
        "error": None,
        "meta": {"status": "completed", "telemetry": {"calls": []}, "durationMs": 0},
    }
    waiting = to_envelope(Waiting("run-1", "yield", (), (), NOTHING))
    assert waiting["status"] == "healthy"
    assert waiting["data"]["runId"] == "run-1"


def test_unwrap_gives_the_value_or_raises_with_the_result() -> None:
    completed, waits, fails = RESULTS
    assert completed.unwrap() == {"n": 1}
    with pytest.raises(RunWaiting) as waiting:
        waits.unwrap()
    assert (waiting.value.run_id, waiting.value.reason) == ("run-1", "approval")
    assert waiting.value.result is waits
    assert str(waiting.value) == "the run run-1 waits (approval): go on with wait"
    with pytest.raises(RunFailed) as failure:
        fails.unwrap()
    assert (failure.value.code, failure.value.error) == ("timeout", "too slow")
    assert failure.value.result is fails
    assert str(failure.value) == "timeout: too slow"


def test_what_unwrap_raises_survives_being_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(RunFailed(failed("timeout", "too slow"))))
    assert (sent.code, str(sent)) == ("timeout", "timeout: too slow")
