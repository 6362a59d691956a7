"""What a call of a suspended run came to, as bytes for the store, for whichever engine goes on with the run.

A byte says what follows: the JSON of a result or of a failure, or a result together with its content.
"""

from __future__ import annotations

import msgspec
from codemode_runtime.shapes import Settlement

from codemode.runs.contents import Contents, Frozen

_RESULT, _FAILURE, _WITH_CONTENT = b"\0", b"\1", b"\2"

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[bytes, tuple[Frozen, ...]])


def encode_outcome(settlement: Settlement, content: tuple[Frozen, ...]) -> bytes:
    if content:
        return _WITH_CONTENT + _encoder.encode((settlement.json, content))
    return (_FAILURE if settlement.rejected else _RESULT) + settlement.json


def read_outcome(work_id: int, payload: bytes, contents: Contents) -> Settlement:
    """Adds the content, if it has any, to that of the run. Reads only what was authenticated."""
    kind, data = payload[:1], payload[1:]
    if kind == _WITH_CONTENT:
        data, frozen = _decoder.decode(data)
        contents.load(frozen)
    return Settlement(work_id, data, kind == _FAILURE)
