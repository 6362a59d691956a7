"""What a program may see of a tool's exception."""

import contextlib
import sys
import traceback
from pathlib import Path

import pytest

from codemode.executor import CallFailed, ToolWords
from codemode.executor.failures import clean_message, failure_of
from codemode.tools import InvalidArguments, ToolError


def test_name_and_message_survive() -> None:
    assert failure_of(ValueError("no such city")) == CallFailed("tool_error", "ValueError", "no such city")


def test_an_error_without_a_message_has_its_name() -> None:
    assert failure_of(RuntimeError()) == CallFailed("tool_error", "RuntimeError", "RuntimeError")


def test_a_tool_error_carries_data_and_code() -> None:
    error = ToolError("quota", name="QuotaError", data={"left": 0}, code="mcp_error")

    assert failure_of(error) == CallFailed("mcp_error", "QuotaError", "quota", {"left": 0}, ToolWords())
    assert failure_of(error).json == (
        b'{"name":"QuotaError","message":"quota","code":"mcp_error","retryable":false,"data":{"left":0}}'
    )


def test_data_that_is_not_json_is_left_out() -> None:
    assert failure_of(ToolError("x", data=object())).data is None


def test_arguments_a_tool_cannot_use_are_invalid_arguments() -> None:
    assert failure_of(InvalidArguments("no such day")).code == "invalid_arguments"


def test_errors_in_a_group_are_told() -> None:
    group = ExceptionGroup("two failed", [ValueError("a"), KeyError("b")])

    assert failure_of(group) == CallFailed("tool_error", "ExceptionGroup", "two failed: a; 'b'")


def test_an_exception_that_cannot_be_printed_is_still_a_failure() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert failure_of(Unprintable()) == CallFailed("tool_error", "Unprintable", "Unprintable")


@pytest.mark.parametrize(
    ("message", "cleaned"),
    [
        ("cannot open /home/ada/work/secret.txt", "cannot open …/secret.txt"),
        ("'/etc/ssl/private/key.pem' is missing", "'…/key.pem' is missing"),
        (f"in {Path.cwd() / 'src' / 'x.py'}: bad", "in …/x.py: bad"),
        (f"{sys.prefix}/lib/python3/site.py", "…/site.py"),
        (r"at C:\Users\ada\file.txt now", "at …/file.txt now"),
        ("GET /api/v1/users returned 404", "GET /api/v1/users returned 404"),
        ("https://example.com/home/ada/x", "https://example.com/home/ada/x"),
        ("use a/b or ./c/d, 1/2", "use a/b or ./c/d, 1/2"),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_paths_of_the_host_do_not_cross(message: str, cleaned: str) -> None:
    assert failure_of(ValueError(message)).message == cleaned


@pytest.mark.parametrize("kind", [ToolError, InvalidArguments])
@pytest.mark.parametrize(
    "words",
    ["No such file. Allowed: /srv/data, /home/ada/work", r"use C:\data\in", 'File "report.csv" is not there'],
)
def test_what_an_author_wrote_for_the_program_crosses_as_it_is(kind: type[Exception], words: str) -> None:
    assert failure_of(kind(words)).message == words
    group = ExceptionGroup("at /home/ada/x", [kind(words), ValueError("in /home/ada/y")])
    assert failure_of(group).message == f"at …/x: {words}; in …/y"


def test_a_traceback_that_an_author_quotes_does_not_cross() -> None:
    frame = '  File "/srv/x.py", line 3, in f\n    1 / 0\n'
    quoted = f"Traceback (most recent call last):\n{frame}ZeroDivisionError: no"
    assert failure_of(ToolError(f"It failed:\n{quoted}")).message == "It failed:\nZeroDivisionError: no"


def test_a_traceback_in_a_message_is_dropped() -> None:
    error = KeyError("inner")
    with contextlib.suppress(KeyError):
        raise error
    told = "".join(traceback.format_exception(error))
    assert "File" in told

    assert clean_message(f"the job failed\n{told}") == "the job failed\nKeyError: 'inner'"


def test_a_long_message_is_cut() -> None:
    assert len(clean_message("x" * 100_000)) == 4_000
