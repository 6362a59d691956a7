"""A tool's exception as a failure for the program: its name and its words, no trace of the host.

ToolError and InvalidArguments are written for the program, so their words cross as they are. The words
of any other exception were not written for a program: they may name files of this machine.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import Any, cast, get_args

import msgspec

from codemode.contract.error_codes import HealthStatus
from codemode.executor.calls import CallFailed, ToolWords
from codemode.tools import InvalidArguments, ToolError
from codemode.tools.results import NotJson, encode_result

_MAX_MESSAGE = 4_000
_MAX_IN_GROUP = 3
_MAX_CODE = 80
_MAX_META = 2048
_STATES = get_args(HealthStatus)
# How absolute paths begin on common machines. `/api/v1/users` begins with none of these and stays.
_ROOTS = (
    "home root Users usr opt var tmp etc srv mnt media proc sys dev run private nix lib Library Applications "
    "System Volumes snap boot"
)


_FRAME = re.compile(r'\s*File "[^"]*", line \d')


def failure_of(error: BaseException) -> CallFailed:
    match error:
        case ToolError():
            return _own_failure(error)
        case InvalidArguments():
            return CallFailed("invalid_arguments", "InvalidArguments", _words(error))
        case SystemExit():
            return CallFailed("tool_error", "SystemExit", "the tool tried to end the process")
        case BaseExceptionGroup():
            inner = "; ".join(_words(one) for one in error.exceptions[:_MAX_IN_GROUP])
            return CallFailed(
                "tool_error", type(error).__name__, _clipped(f"{clean_message(error.message)}: {inner}")
            )
        case _:
            name = type(error).__name__
            return CallFailed("tool_error", name, _words(error) or name)


def _own_failure(error: ToolError) -> CallFailed:
    """Whatever a tool put into its error, its message arrives."""
    said = ToolWords(
        error.recoverable if isinstance(error.recoverable, bool) else None,
        _clipped(_without_traceback(_plain(error.suggestion))) if error.suggestion else None,
        error.status if error.status in _STATES else None,
        error.retryable if isinstance(error.retryable, bool) else None,
    )
    return CallFailed(
        _plain(error.code)[:_MAX_CODE] or "tool_error",
        _plain(error.name)[:_MAX_CODE],
        _words(error),
        _data(error.data),
        said,
        meta_of(error.meta),
    )


def meta_of(found: object) -> dict[str, Any] | None:
    """What a tool adds for the host, as JSON; None if it is nothing, no object or more than 2 KiB."""
    plain = _data(found) if found else None
    if not isinstance(plain, dict) or len(msgspec.json.encode(plain)) > _MAX_META:
        return None
    return cast("dict[str, Any]", plain)


def clean_message(text: str) -> str:
    """Drops tracebacks, and shortens paths of this machine to their last part."""
    text = _without_traceback(text[: 4 * _MAX_MESSAGE])
    return _clipped(_host_path().sub(lambda found: f"…/{_last_part(found[0])}", text))


def _words(error: BaseException) -> str:
    """A traceback is never meant for a program, also where an author has quoted one."""
    if isinstance(error, ToolError | InvalidArguments):
        return _clipped(_without_traceback(_text(error)[: 4 * _MAX_MESSAGE]))
    return clean_message(_text(error))


def _clipped(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE else text[: _MAX_MESSAGE - 1] + "…"


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # an exception's own __str__ may do anything
        return ""
    return _plain(text)


def _plain(text: object) -> str:
    return str(text).encode("utf-8", "replace").decode()


def _data(data: Any) -> Any:
    if data is None:
        return None
    try:
        return msgspec.json.decode(encode_result(data))
    except NotJson:
        return None


def _without_traceback(text: str) -> str:
    """Of a traceback quoted in a message only the last line stays, which says what happened."""
    if "Traceback (most recent call last):" not in text and 'File "' not in text:
        return text
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.lstrip().startswith("Traceback (most recent call last):"):
            inside = True
        elif not (inside and line.startswith((" ", "\t"))) and not _FRAME.match(line):
            inside = False
            kept.append(line)
    return "\n".join(kept).strip()


def _last_part(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


@cache
def _host_path() -> re.Pattern[str]:
    """Matches absolute paths under a root of this machine, but not inside a URL or a longer word."""
    import tempfile  # slow to load, and most tools do not fail

    own = {os.path.expanduser("~"), os.getcwd(), sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    roots = {path.strip("/").split("/")[0] for path in own if path.startswith("/") and path != "/"}
    roots.update(_ROOTS.split())
    posix = rf"/(?:{'|'.join(sorted(map(re.escape, roots)))})(?:/[^\s'\"<>|:;,()\[\]{{}}]+)+"
    windows = r"[A-Za-z]:\\[^\s'\"<>|:;,()\[\]{}]+"
    return re.compile(rf"(?<![\w/.:~-])(?:{posix}|{windows})")
