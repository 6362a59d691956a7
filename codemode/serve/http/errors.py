"""The one shape of every refusal over HTTP. Pure."""

from __future__ import annotations

import msgspec

_CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "wrong_host",
    429: "too_many",
    431: "too_large",
    500: "internal",
    503: "unavailable",
}
STATUSES = tuple(_CODES)


class HttpRefused(Exception):
    """Ends a request with this status. The text is for the caller: it says what to do, and tells nothing that
    the caller may not know."""

    def __init__(self, status: int, message: str, request_id: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.request_id = request_id


def error_body(status: int, message: str, request_id: str = "") -> bytes:
    error: dict[str, object] = {"status": status, "code": _CODES.get(status, "error"), "message": message}
    return msgspec.json.encode({"error": error | ({"requestId": request_id} if request_id else {})})


def no_such_run() -> HttpRefused:
    """The same for unknown runs and for those of others."""
    return HttpRefused(404, "There is no such run.")
