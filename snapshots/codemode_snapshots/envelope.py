"""Sealing a delta and its run state into one authenticated envelope, and opening it again. Pure.

FORMAT.md has the bytes. `unseal` is the one gate for untrusted bytes: it returns parts that were sealed for
exactly this run, scope and build, or raises EnvelopeRefused; any other exception that leaves it is a defect.
"""

import functools
import hashlib
import hmac
import struct

import msgspec

from codemode_snapshots.errors import EnvelopeRefused
from codemode_snapshots.label import Label, Scope

MAGIC = b"CMSN"
FORMAT_VERSION = 1
KEY_BYTES = 32

_PREFIX = struct.Struct("<4sH")  # magic, version: the only part every future version must keep
_HEAD = struct.Struct("<4sH2x8sQQII")  # + key id, created, expires, state length, delta length
_LENGTH = struct.Struct("<H")
_TEXTS = 6
_MAC_BYTES = 32
_PART_BYTES_MAX = 2**32 - 1


class Opened(msgspec.Struct, frozen=True):
    """The parts of an envelope that passed every check."""

    label: Label
    state: bytes
    delta: bytes | memoryview  # a view of the envelope: a copy of a large one takes longer than checking it


def seal(key: bytes, label: Label, *, state: bytes, delta: bytes | bytearray | memoryview) -> bytes:
    """One copy of the parts and one pass of HMAC-SHA256 over them."""
    if max(len(state), len(delta)) > _PART_BYTES_MAX:
        raise EnvelopeRefused("too_large")
    head = _HEAD.pack(
        MAGIC,
        FORMAT_VERSION,
        _key_id(bytes(key)),
        label.created_at_ms,
        label.expires_at_ms,
        len(state),
        len(delta),
    )
    texts = b"".join(_LENGTH.pack(len(raw)) + raw for raw in map(str.encode, _texts(label)))
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
    scope: Scope,
    now_ms: int,
    max_bytes: int,
) -> Opened:
    """Open an envelope for exactly this run, scope and build.

    Integrity is decided before meaning: past `forged`, every refusal is about an envelope we did seal.
    """
    if len(envelope) > max_bytes:
        raise EnvelopeRefused("too_large")
    created_at_ms, expires_at_ms, raws, body, state_bytes = _split(key, envelope)
    mac = _keyed(bytes(key)).copy()
    mac.update(memoryview(envelope)[:-_MAC_BYTES])
    if not hmac.compare_digest(mac.digest(), envelope[-_MAC_BYTES:]):
        raise EnvelopeRefused("forged")
    label = _label(raws, created_at_ms, expires_at_ms)
    if label.build_id != build_id:
        raise EnvelopeRefused("wrong_build")
    if label.run_id != run_id:
        raise EnvelopeRefused("wrong_run")
    if label.scope != scope:
        raise EnvelopeRefused("wrong_scope")
    if now_ms >= label.expires_at_ms:
        raise EnvelopeRefused("expired")
    cut = body + state_bytes
    return Opened(label, state=envelope[body:cut], delta=memoryview(envelope)[cut:-_MAC_BYTES])


def _split(key: bytes, envelope: bytes) -> tuple[int, int, list[bytes], int, int]:
    """Where the parts lie. Nothing here is believed yet, except that the lengths add up."""
    if len(envelope) < _PREFIX.size:
        raise EnvelopeRefused("damaged")
    magic, version = _PREFIX.unpack_from(envelope)
    if magic != MAGIC:
        raise EnvelopeRefused("damaged")
    if version != FORMAT_VERSION:
        raise EnvelopeRefused("wrong_version")
    if len(envelope) < _HEAD.size:
        raise EnvelopeRefused("damaged")
    _, _, key_id, created_at_ms, expires_at_ms, state_bytes, delta_bytes = _HEAD.unpack_from(envelope)
    raws: list[bytes] = []
    at = _HEAD.size
    for _ in range(_TEXTS):
        start = at + _LENGTH.size
        if start > len(envelope):
            raise EnvelopeRefused("damaged")
        at = start + _LENGTH.unpack_from(envelope, start - _LENGTH.size)[0]
        raws.append(envelope[start:at])
    if at + state_bytes + delta_bytes + _MAC_BYTES != len(envelope):
        raise EnvelopeRefused("damaged")
    if not hmac.compare_digest(key_id, _key_id(bytes(key))):
        raise EnvelopeRefused("wrong_key")
    return created_at_ms, expires_at_ms, raws, at, state_bytes


def _label(raws: list[bytes], created_at_ms: int, expires_at_ms: int) -> Label:
    try:
        build_id, run_id, agent, session, agent_run, tool_call = (str(raw, "utf-8") for raw in raws)
    except UnicodeDecodeError:
        raise EnvelopeRefused("damaged") from None
    return Label(build_id, run_id, Scope(agent, session, agent_run, tool_call), created_at_ms, expires_at_ms)


def _texts(label: Label) -> tuple[str, ...]:
    scope = label.scope
    return label.build_id, label.run_id, scope.agent, scope.session, scope.agent_run, scope.tool_call


@functools.lru_cache(maxsize=8)
def _keyed(key: bytes) -> hmac.HMAC:
    """To be copied: beginning anew takes longer than all the rest of a small envelope."""
    return hmac.new(key, digestmod=hashlib.sha256)


@functools.lru_cache(maxsize=8)
def _key_id(key: bytes) -> bytes:
    """Tells another key from damage. Its message is never the start of an envelope or a journal entry."""
    if len(key) != KEY_BYTES:
        raise EnvelopeRefused("wrong_key")
    return hmac.digest(key, b"key id", "sha256")[:8]
