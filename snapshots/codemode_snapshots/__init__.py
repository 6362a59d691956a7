"""The persistence plane: envelopes, run stores and their bounds, for the host process.

It knows nothing of WebAssembly or of what a delta means. Import `SqliteStore` from
`codemode_snapshots.sqlite`: hosts that keep runs in memory never load sqlite3.
"""

from codemode_snapshots.bounds import StoreLimits
from codemode_snapshots.envelope import Opened, key_id, seal, unseal
from codemode_snapshots.errors import (
    EnvelopeRefused,
    KeyRefused,
    NotHeld,
    SnapshotError,
    StoreFull,
    StoreUnavailable,
)
from codemode_snapshots.facts import Facts
from codemode_snapshots.keys import load_or_create_key, new_key
from codemode_snapshots.label import NO_VALUE, Label, RunScope
from codemode_snapshots.memory import MemoryStore
from codemode_snapshots.owner import Owner, is_alive, new_owner
from codemode_snapshots.past import MemoryPast, PastBounds, PastQuery, PastRun, PastRuns
from codemode_snapshots.records import (
    CallView,
    Claim,
    Claimed,
    DecidedElsewhere,
    DecidedHere,
    Ending,
    ExecRequest,
    Hold,
    How,
    Listed,
    NodeInfo,
    NotClaimed,
    Pending,
    Settled,
    Snapshot,
    Totals,
    View,
)
from codemode_snapshots.run_store import Changed, Feed, RunStore
from codemode_snapshots.seals import seal_part, unseal_part

__all__ = [
    "NO_VALUE",
    "CallView",
    "Changed",
    "Claim",
    "Claimed",
    "DecidedElsewhere",
    "DecidedHere",
    "Ending",
    "EnvelopeRefused",
    "ExecRequest",
    "Facts",
    "Feed",
    "Hold",
    "How",
    "KeyRefused",
    "Label",
    "Listed",
    "MemoryPast",
    "MemoryStore",
    "NodeInfo",
    "NotClaimed",
    "NotHeld",
    "Opened",
    "Owner",
    "PastBounds",
    "PastQuery",
    "PastRun",
    "PastRuns",
    "Pending",
    "RunScope",
    "RunStore",
    "Settled",
    "Snapshot",
    "SnapshotError",
    "StoreFull",
    "StoreLimits",
    "StoreUnavailable",
    "Totals",
    "View",
    "is_alive",
    "key_id",
    "load_or_create_key",
    "new_key",
    "new_owner",
    "seal",
    "seal_part",
    "unseal",
    "unseal_part",
]
