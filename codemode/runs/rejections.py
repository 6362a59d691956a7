"""Reads what a rejected settlement says for the ledger: the code, and what the tool said in its own words.

The settlement is what crosses to the guest and what a store keeps, so that a failure is told in the same
words whether its engine lived on or not. Pure.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from msgspec import Struct

from codemode.contract.clipping import clip_end
from codemode.contract.error_codes import HealthStatus
from codemode.contract.telemetry import CallError
from codemode.executor import FailureCode

_MAX_TEXT = 500  # bytes of a message or a suggestion in the ledger
_CODES = frozenset(get_args(FailureCode))


class _Rejection(Struct):
    code: str = ""
    message: str = ""
    retryable: bool = False
    recoverable: bool | None = None
    suggestion: str | None = None
    status: HealthStatus | None = None
    meta: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(_Rejection)


def read_rejection(data: bytes) -> tuple[CallError, dict[str, Any] | None]:
    """The error for the ledger, and what the tool added for the host."""
    try:
        found = _decoder.decode(data)
    except (msgspec.DecodeError, RecursionError):  # recorded by an engine that is not this one
        return CallError("", False), None
    words = (found.recoverable, found.status, found.suggestion)
    if found.code in _CODES and words == (None, None, None):
        return CallError(found.code, found.retryable), found.meta
    suggestion = None if found.suggestion is None else clip_end(found.suggestion, _MAX_TEXT)
    message = clip_end(found.message, _MAX_TEXT)
    error = CallError(found.code, found.retryable, found.recoverable, found.status, suggestion, message)
    return error, found.meta
