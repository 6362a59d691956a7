"""Calls and decisions that settled while their run was suspended, and the seal that authenticates them. Pure.

A recorded settlement is a tool result or an approval that the program will believe, so it is bound to its
run, kind, call and place in the order just as an envelope is bound to its run.
"""

import hmac
import struct
from typing import Literal

import msgspec
from msgspec.structs import replace

from codemode_snapshots.errors import EnvelopeRefused
from codemode_snapshots.label import TIME_MS_MAX, require_text

SettlementKind = Literal["call", "decision"]

_MAGIC = b"CMSJ"
_HEAD = struct.Struct("<4sQHHH")
_MAC_BYTES = 32


class Recorded(msgspec.Struct, frozen=True):
    """One call or decision of a run. A run has at most one of a kind per call id; `seq` gives the order."""

    seq: int
    kind: SettlementKind
    call_id: str
    payload: bytes

    def __post_init__(self) -> None:
        require_text(self.call_id, "damaged")
        if not 0 <= self.seq <= TIME_MS_MAX:
            raise EnvelopeRefused("damaged")


def seal_settlement(key: bytes, run_id: str, settlement: Recorded) -> Recorded:
    """The same settlement with its payload sealed: 32 bytes longer."""
    return replace(settlement, payload=_mac(key, run_id, settlement, settlement.payload) + settlement.payload)


def unseal_settlement(key: bytes, run_id: str, settlement: Recorded) -> Recorded:
    """The settlement as it was before sealing, or EnvelopeRefused: damaged or forged."""
    if len(settlement.payload) < _MAC_BYTES:
        raise EnvelopeRefused("damaged")
    payload = settlement.payload[_MAC_BYTES:]
    if not hmac.compare_digest(_mac(key, run_id, settlement, payload), settlement.payload[:_MAC_BYTES]):
        raise EnvelopeRefused("forged")
    return replace(settlement, payload=payload)


def _mac(key: bytes, run_id: str, settlement: Recorded, payload: bytes) -> bytes:
    require_text(run_id, "wrong_run")
    texts = [run_id.encode(), settlement.kind.encode(), settlement.call_id.encode()]
    head = _HEAD.pack(_MAGIC, settlement.seq, *map(len, texts))
    return hmac.digest(key, b"".join((head, *texts, payload)), "sha256")
