"""Seals a delta and its run state into one authenticated envelope, and opens it again. Pure.

FORMAT.md has the bytes. `unseal` is the one gate for untrusted bytes: it returns parts that were sealed for
exactly this run, scope and build, or raises EnvelopeRefused; any other exception that leaves it is a defect.
"""

import functools
import hashlib
import hmac
import struct
from collections.abc import Sequence

import msgspec

from codemode_snapshots.errors import EnvelopeRefused, Reason
from codemode_snapshots.label import FIELD_BYTES_MAX, Label, RunScope

MAGIC = b"CMSN"
FORMAT_VERSION = 1
KEY_BYTES = 32

_PREFIX = struct.Struct("<4sH")  # magic, version: the only part every future version must keep
_HEAD = struct.Struct("<4sH2x8sQQII")  # + key id, created, expires, state length, delta length
_LENGTH = struct.Struct("<H")
_TEXTS = 6
_NO_LENGTH = 0xFFFF
_MAC_BYTES = 32
_PART_BYTES_MAX = 2**32 - 1


class Opened(msgspec.Struct, frozen=True):
    """The parts of an envelope that passed every check, the check of its names included."""

    created_at_ms: int
    expires_at_ms: int
    state: bytes
    delta: bytes | memoryview  # a view of the envelope: copying a large one takes longer than checking it


def seal(key: bytes, label: Label, *, state: bytes, delta: bytes | bytearray | memoryview) -> bytes:
    """One copy of the parts and one pass of HMAC-SHA256 over them."""
    if max(len(state), len(delta)) > _PART_BYTES_MAX:
        raise EnvelopeRefused("too_large")
    head = _HEAD.pack(
        MAGIC,
        FORMAT_VERSION,
        key_id(bytes(key)),
        label.created_at_ms,
        label.expires_at_ms,
        len(state),
        len(delta),
    )
    texts = _texts(_names(label.build_id, label.run_id, label.scope))
    mac = _keyed(bytes(key)).copy()
    for part in (head, texts, state, delta):
        mac.update(part)
    return b"".join((head, texts, state, delta, mac.digest()))


def unseal(
    key: bytes,
    envelope: bytes,
    *,
    build_id: str,
    run_id: str,
    scope: RunScope,
    now_ms: int,
    max_bytes: int,
) -> Opened:
    """Open an envelope for exactly this run, scope and build.

    Integrity is decided before meaning: past `forged`, every refusal is about an envelope we did seal.
    """
    if len(envelope) > max_bytes:
        raise EnvelopeRefused("too_large")
    _, _, sealed_with, created_at_ms, expires_at_ms, state_bytes, delta_bytes = _head(envelope)
    # the names are compared as encoded bytes: decoding them would take longer than all the rest
    names = _names(build_id, run_id, scope)
    texts = _texts(names)
    body = _HEAD.size + len(texts)
    cut = body + state_bytes
    is_asked_for = envelope.startswith(texts, _HEAD.size) and cut + delta_bytes + _MAC_BYTES == len(envelope)
    if not is_asked_for and _end_of_texts(envelope) + state_bytes + delta_bytes + _MAC_BYTES != len(envelope):
        raise EnvelopeRefused("damaged")
    if not hmac.compare_digest(sealed_with, key_id(bytes(key))):
        raise EnvelopeRefused("wrong_key")
    mac = _keyed(bytes(key)).copy()
    mac.update(memoryview(envelope)[:-_MAC_BYTES])
    if not hmac.compare_digest(mac.digest(), envelope[-_MAC_BYTES:]):
        raise EnvelopeRefused("forged")
    if not is_asked_for:
        raise EnvelopeRefused(_difference(envelope, names))
    if now_ms >= expires_at_ms:
        raise EnvelopeRefused("expired")
    delta = memoryview(envelope)[cut:-_MAC_BYTES]
    return Opened(created_at_ms, expires_at_ms, state=envelope[body:cut], delta=delta)


def _head(envelope: bytes) -> tuple[bytes, int, bytes, int, int, int, int]:
    """Reads the head; nothing in it is trusted yet."""
    if len(envelope) < _PREFIX.size or not envelope.startswith(MAGIC):
        raise EnvelopeRefused("damaged")
    if _PREFIX.unpack_from(envelope)[1] != FORMAT_VERSION:
        raise EnvelopeRefused("wrong_version")
    if len(envelope) < _HEAD.size:
        raise EnvelopeRefused("damaged")
    return _HEAD.unpack_from(envelope)


def _names(build_id: str, run_id: str, scope: RunScope) -> tuple[str, ...]:
    return build_id, run_id, scope.agent, scope.session, scope.agent_run, scope.tool_call


def _texts(names: Sequence[str]) -> bytes:
    """The names as an envelope holds them; for names that no label allows, bytes that no envelope has."""
    parts: list[bytes] = []
    for name in names:
        raw = name.encode("utf-8", "surrogatepass")
        parts += (_LENGTH.pack(len(raw) if len(raw) <= FIELD_BYTES_MAX else _NO_LENGTH), raw)
    return b"".join(parts)


def _end_of_texts(envelope: bytes) -> int:
    at = _HEAD.size
    for _ in range(_TEXTS):
        start = at + _LENGTH.size
        if start > len(envelope):
            raise EnvelopeRefused("damaged")
        at = start + _LENGTH.unpack_from(envelope, at)[0]
    return at


def _difference(envelope: bytes, names: Sequence[str]) -> Reason:
    """The first name in which an envelope of ours differs from the one asked for."""
    if not envelope.startswith(_texts(names[:1]), _HEAD.size):
        return "wrong_build"
    return "wrong_scope" if envelope.startswith(_texts(names[:2]), _HEAD.size) else "wrong_run"


@functools.lru_cache(maxsize=8)
def _keyed(key: bytes) -> hmac.HMAC:
    """Copy it before use. Cached, because making one takes longer than all the rest of a small envelope."""
    return hmac.new(key, digestmod=hashlib.sha256)


@functools.lru_cache(maxsize=8)
def key_id(key: bytes) -> bytes:
    """Tells another key from damage. Its message is never the start of an envelope or a journal entry."""
    if len(key) != KEY_BYTES:
        raise EnvelopeRefused("wrong_key")
    return hmac.digest(key, b"key id", "sha256")[:8]
