"""Small valid parts for the persistence tests: a key, labels, snapshots; times in unix ms."""

from codemode_snapshots import Label, RunScope, Snapshot, seal

KEY = bytes(range(32))
SCOPE = RunScope("agent-1", "session-1", "turn-1", "call-1")
BUILD = "build-1"
NOW = 1_800_000_000_000
TTL = 900_000


def label(run_id: str = "run-1", *, scope: RunScope = SCOPE, now_ms: int = NOW, ttl_ms: int = TTL) -> Label:
    return Label(BUILD, run_id, scope, now_ms, now_ms + ttl_ms)


def sealed(run_id: str = "run-1", *, state: bytes = b"{}", delta: bytes = b"delta") -> Snapshot:
    own = label(run_id)
    return Snapshot(own, seal(KEY, own, state=state, delta=b""), delta)
