"""The persistence plane: envelopes, stores and retention, for the host process.

It knows nothing of WebAssembly or of what a delta means. Import `SqliteStore` from
`codemode_snapshots.sqlite`: hosts that keep runs in memory never load sqlite3.
"""

from codemode_snapshots.envelope import Opened, seal, unseal
from codemode_snapshots.errors import (
    EnvelopeRefused,
    KeyRefused,
    NotHeld,
    SnapshotError,
    StoreFull,
    StoreUnavailable,
)
from codemode_snapshots.journal import Recorded, seal_settlement, unseal_settlement
from codemode_snapshots.keys import load_or_create_key, new_key
from codemode_snapshots.label import NO_VALUE, Label, RunScope
from codemode_snapshots.memory import MemoryStore
from codemode_snapshots.owner import Owner, is_alive, new_owner
from codemode_snapshots.store import (
    Claim,
    Claimed,
    NotClaimed,
    RunMeta,
    Snapshot,
    SnapshotStore,
    StoreLimits,
    Tombstone,
    Totals,
)

__all__ = [
    "NO_VALUE",
    "Claim",
    "Claimed",
    "EnvelopeRefused",
    "KeyRefused",
    "Label",
    "MemoryStore",
    "NotClaimed",
    "NotHeld",
    "Opened",
    "Owner",
    "Recorded",
    "RunMeta",
    "RunScope",
    "Snapshot",
    "SnapshotError",
    "SnapshotStore",
    "StoreFull",
    "StoreLimits",
    "StoreUnavailable",
    "Tombstone",
    "Totals",
    "is_alive",
    "load_or_create_key",
    "new_key",
    "new_owner",
    "seal",
    "seal_settlement",
    "unseal",
    "unseal_settlement",
]
