"""Seals the small parts that are kept beside a snapshot: outcomes of calls, decisions, questions, results.

Each is something that a program or a caller will believe, so it is bound to its run and to its place there,
just as an envelope is bound to its run. Pure.
"""

import hmac
import struct
from collections.abc import Sequence
from typing import Literal

from codemode_snapshots.envelope import key_id
from codemode_snapshots.errors import EnvelopeRefused

Kind = Literal["outcome", "decision", "request", "result", "answer", "fact", "past"]

_MAGIC = b"CMSP"
_HEAD = struct.Struct("<4sQH")
_LENGTH = struct.Struct("<I")
_KEY_ID_BYTES = 8
_MAC_BYTES = 32


def seal_part(key: bytes, kind: Kind, names: Sequence[str], payload: bytes, number: int = 0) -> bytes:
    """40 bytes longer than the payload. `number` is the `take` of a call."""
    return b"".join((key_id(key), _mac(key, kind, names, payload, number), payload))


def unseal_part(
    keys: Sequence[bytes], kind: Kind, names: Sequence[str], sealed: bytes, number: int = 0
) -> bytes:
    """The payload, or EnvelopeRefused: damaged, wrong_key or forged."""
    start = _KEY_ID_BYTES + _MAC_BYTES
    if len(sealed) < start:
        raise EnvelopeRefused("damaged")
    key = next((key for key in keys if hmac.compare_digest(key_id(key), sealed[:_KEY_ID_BYTES])), None)
    if key is None:
        raise EnvelopeRefused("wrong_key")
    payload = sealed[start:]
    if not hmac.compare_digest(_mac(key, kind, names, payload, number), sealed[_KEY_ID_BYTES:start]):
        raise EnvelopeRefused("forged")
    return payload


def _mac(key: bytes, kind: Kind, names: Sequence[str], payload: bytes, number: int) -> bytes:
    texts = [name.encode("utf-8", "surrogatepass") for name in (kind, *names)]
    parts = [_HEAD.pack(_MAGIC, number, len(texts))]
    for text in texts:
        parts += (_LENGTH.pack(len(text)), text)
    return hmac.digest(key, b"".join((*parts, payload)), "sha256")
