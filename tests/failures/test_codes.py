"""Which code a bad end gets: by the event that happened, never by what an error says of itself."""

from __future__ import annotations

import msgspec
import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Stop
from msgspec import Raw

from codemode.config import load_config
from codemode.contract.error_codes import ErrorCode, Phase
from codemode.failures import (
    Available,
    Explained,
    Program,
    explain_failure,
    explain_refusal,
    explain_stop,
    explain_timeout,
)

CONFIG = load_config({"maxPendingToolCalls": 4, "maxOutputBytes": 2048, "timeoutMs": 250})
NO_TOOLS = Available()


def explain(failure: wire.Failure, text: str = "") -> Explained:
    return explain_failure(failure, Program(text), NO_TOOLS, CONFIG)


@pytest.mark.parametrize(
    ("failure", "code", "phase"),
    [
        (b'{"kind":"exception","call":0,"error":{"name":"TypeError"}}', "guest_error", "guest"),
        (b'{"kind":"exception","call":1,"error":{"name":"ToolError"}}', "nested_tool_failed", "bridge"),
        (b'{"kind":"unhandled","call":0,"error":{"message":"x"}}', "guest_error", "guest"),
        (b'{"kind":"unhandled","call":1,"error":{"message":"x"}}', "nested_tool_failed", "bridge"),
        (b'{"kind":"syntax","call":0,"error":{"name":"SyntaxError"}}', "invalid_input", "input"),
        (b'{"kind":"deadlock","call":0}', "guest_error", "guest"),
        (b'{"kind":"value_too_large","bytes":9000,"outline":"array of 1"}', "output_limit_exceeded", "guest"),
    ],
)
def test_the_kind_of_a_failure_decides_its_code(failure: bytes, code: ErrorCode, phase: Phase) -> None:
    explained = explain(msgspec.json.decode(failure, type=wire.Failure))
    assert (explained.code, explained.phase) == (code, phase)
    assert explained.text


@pytest.mark.parametrize(
    "error",
    [
        wire.ThrownError("InternalError", "interrupted", "timeout"),
        wire.ThrownError("RangeError", "out of memory", "memory_limit_exceeded"),
        wire.ThrownError("ToolError", "the call failed", "tool_error"),
        wire.ThrownError("SyntaxError", "unexpected token"),
    ],
)
def test_an_error_cannot_claim_a_code_by_its_text(error: wire.ThrownError) -> None:
    assert explain(wire.Failure("exception", error=error)).code == "guest_error"


@pytest.mark.parametrize(
    ("reason", "code", "said"),
    [
        (Stop.MEMORY, "memory_limit_exceeded", "more than 64 MiB of memory"),
        (
            Stop.OUTPUT,
            "output_limit_exceeded",
            "more than 2 KiB of output (the JSON of its items), or more than 20,000 items",
        ),
        (Stop.MESSAGES, "output_limit_exceeded", "more output and calls at once"),
        (Stop.CALLS, "too_many_pending_tool_calls", "items.slice(i, i + 4)"),
        (Stop.STACK, "guest_error", "RangeError: the program recursed too deep"),
        (Stop.ABORT, "internal_error", "a defect of the engine"),
        (Stop.ENGINE, "internal_error", "a defect of the engine"),
    ],
)
def test_the_reason_of_a_stop_decides_its_code(reason: Stop, code: ErrorCode, said: str) -> None:
    explained = explain_stop(reason, CONFIG)
    assert explained.code == code
    assert said in explained.text


def test_every_reason_of_a_stop_is_explained() -> None:
    assert all(explain_stop(reason, CONFIG).text for reason in Stop)


def test_a_timeout_says_how_long_the_program_had() -> None:
    explained = explain_timeout(250, 0.2514, 0.004)
    assert (explained.code, explained.phase) == ("timeout", "guest")
    assert "still computing after 250 ms and was ended" in explained.text


def test_a_timeout_says_how_much_of_the_time_was_computing_and_how_much_waiting() -> None:
    text = explain_timeout(250, 0.0601, 0.2004).text
    assert "still computing after 250 ms (60 ms of computing, 200 ms of waiting) and was ended" in text


def test_a_value_too_large_is_told_by_size_and_outline() -> None:
    text = explain(wire.Failure("value_too_large", bytes=9000, outline="array of 900 [1, 2, 3, …]")).text
    assert "9000 bytes of JSON" in text
    assert "2 KiB" in text
    assert text.endswith("What it looks like:\narray of 900 [1, 2, 3, …]")


def test_a_refused_text_keeps_its_code_and_shows_the_place() -> None:
    program = Program('const a = "é"; import("fs")')
    refused = wire.Refused("module_access_denied", "There is no module loader.", 1, 17)
    assert explain_refusal(refused, program, NO_TOOLS) == Explained(
        "module_access_denied",
        'There is no module loader. (1:16)\n    const a = "é"; import("fs")\n                   ^\n'
        "There are no files, processes or environment here; "
        "call a tool instead (`tools.search(…)` finds one).",
    )


def test_a_refusal_of_the_whole_text_has_no_place() -> None:
    refused = wire.Refused("invalid_input", "This is Python.")
    told = explain_refusal(refused, Program("print(1)"), NO_TOOLS)
    assert told == Explained("invalid_input", "This is Python.")


@pytest.mark.parametrize(
    ("thrown", "shown"), [(b"5", "5"), (b'{"a":1}', '{"a":1}'), (b"null", "null"), (b'"x"', '"x"')]
)
def test_a_thrown_value_that_is_no_error_is_shown(thrown: bytes, shown: str) -> None:
    failure = wire.Failure("exception", thrown=Raw(thrown))
    assert explain(failure).text == f"Uncaught value: {shown}"


def test_a_thrown_undefined_is_called_so() -> None:
    assert explain(wire.Failure("exception")).text == "Uncaught value: undefined"


def test_the_errors_behind_an_error_are_told_once_each_and_a_few_at_most() -> None:
    error = wire.ThrownError("AggregateError")
    same = wire.Cause("ToolError", "the disk is full")
    causes = (
        wire.Cause("AggregateError"),
        same,
        same,
        wire.Cause(None, "x" * 1500),
        wire.Cause("A", "b"),
        same,
    )
    failure = wire.Failure("exception", call=1, error=error, causes=(*causes, wire.Cause("Last", "never")))
    assert explain(failure).text == (
        "AggregateError\n"
        "caused by ToolError: the disk is full\n"
        f"caused by Error: {'x' * 1000}… (500 more characters)\n"
        "caused by A: b"
    )


def test_long_texts_are_cut_and_say_so() -> None:
    text = explain(wire.Failure("exception", error=wire.ThrownError("N" * 500, "m" * 9000))).text
    assert text == f"{'N' * 100}… (400 more characters): {'m' * 4000}… (5000 more characters)"
    thrown = explain(wire.Failure("exception", thrown=Raw(b'"' + b"x" * 900 + b'"'))).text
    assert thrown == f'Uncaught value: "{"x" * 499}… (402 more characters)'


def test_an_error_without_name_or_message_is_an_error() -> None:
    assert explain(wire.Failure("exception", error=wire.ThrownError())).text == "Error"
    assert explain(wire.Failure("exception", error=wire.ThrownError(" \n ", "m"))).text == "Error: m"
