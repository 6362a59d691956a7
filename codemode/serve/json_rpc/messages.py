"""JSON-RPC 2.0, one message per line: decodes strictly what a host sends, encodes the answers. Pure."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
BUSY: Final = -32000
UNSUPPORTED_VERSION: Final = -32001
NOT_INITIALIZED: Final = -32002
STORE_UNAVAILABLE: Final = -32003
CANCELLED: Final = -32800

Id = int | str
T = TypeVar("T")

_NO_PARAMS = Raw(b"{}")
# The beginning of a message that is too long to read; most encoders write the id near the start.
_HEAD = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(-?(?:0|[1-9]\d{0,17})|"[\w.:-]{1,100}")\s*,\s*"(\w+)"'
)
_SHAPES = "a message has a method, and an id if it wants an answer; or an id with a result or an error"


class RpcError(Exception):
    """A request that has no result. The host gets the code, the text and `data`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class MessageRefused(RpcError):
    """The line is not a message of the protocol. `id` is set if it could be read."""

    def __init__(self, code: int, message: str, id: Id | None = None) -> None:
        super().__init__(code, message)
        self.id = id


class ErrorObject(Struct, frozen=True):
    code: int
    message: str
    data: Any = None


class Request(Struct, frozen=True):
    id: Id
    method: str
    params: Raw


class Notification(Struct, frozen=True):
    method: str
    params: Raw


class Reply(Struct, frozen=True):
    """The host's answer to a request of ours: either `result` or `error` is set."""

    id: Id
    result: Raw | None
    error: ErrorObject | None


class _Envelope(Struct, frozen=True, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: ErrorObject | UnsetType = UNSET


class _OnlyId(Struct, frozen=True):
    id: Id | None = None


_envelopes = msgspec.json.Decoder(_Envelope)
_ids = msgspec.json.Decoder(_OnlyId)
_encoder = msgspec.json.Encoder()
_TROUBLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def decode(line: bytes) -> Request | Notification | Reply:
    """Raises MessageRefused, and nothing else, for a line that is none of the three."""
    if line.lstrip()[:1] == b"[":
        raise MessageRefused(INVALID_REQUEST, "batches are not supported: send one message per line")
    try:
        found = _envelopes.decode(line)
    except msgspec.ValidationError as problem:
        raise MessageRefused(
            INVALID_REQUEST, f"not a JSON-RPC 2.0 message: {problem}", _id_of(line)
        ) from None
    except _TROUBLE as problem:
        raise MessageRefused(PARSE_ERROR, f"not JSON: {problem}") from None
    message = _asked(found) or _answered(found)
    if message is None:
        raise MessageRefused(INVALID_REQUEST, _SHAPES, _id_of(line))
    return message


def _asked(found: _Envelope) -> Request | Notification | None:
    if found.method is UNSET or found.result is not UNSET or found.error is not UNSET:
        return None
    params = _NO_PARAMS if found.params is UNSET else found.params
    if found.id is UNSET:
        return Notification(found.method, params)
    return None if found.id is None else Request(found.id, found.method, params)


def _answered(found: _Envelope) -> Reply | None:
    if found.method is not UNSET or found.params is not UNSET or found.id is UNSET or found.id is None:
        return None
    if found.error is UNSET:
        return None if found.result is UNSET else Reply(found.id, found.result, None)
    return Reply(found.id, None, found.error) if found.result is UNSET else None


def _id_of(line: bytes) -> Id | None:
    try:
        return _ids.decode(line).id
    except _TROUBLE:
        return None


def id_of_head(head: bytes) -> tuple[Id, bool] | None:
    """The id of a message from its beginning alone, and whether it is an answer."""
    found = _HEAD.match(head)
    if found is None:
        return None
    return msgspec.json.decode(found[1]), found[2] in (b"result", b"error")


def read_params(params: Raw, shape: type[T]) -> T:
    """Raises an RpcError that names the field."""
    try:
        return msgspec.json.decode(params, type=shape)
    except _TROUBLE as problem:
        raise RpcError(INVALID_PARAMS, f"params: {problem}") from None


def encode_request(id: Id, method: str, params: Any) -> bytes:
    return _encoder.encode({"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def encode_notification(method: str, params: Any) -> bytes:
    return _encoder.encode({"jsonrpc": "2.0", "method": method, "params": params})


def encode_result(id: Id, result: Any) -> bytes:
    return _encoder.encode({"jsonrpc": "2.0", "id": id, "result": result})


def encode_error(id: Id | None, error: RpcError) -> bytes:
    body = {"code": error.code, "message": str(error)}
    if error.data is not None:
        body["data"] = error.data
    return _encoder.encode({"jsonrpc": "2.0", "id": id, "error": body})
