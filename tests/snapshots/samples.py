"""Small valid parts for the persistence tests: a key, owners, labels, snapshots; times in unix ms."""

from codemode_snapshots import Label, Owner, RunScope, Snapshot, seal

KEY = bytes(range(32))
SCOPE = RunScope("agent-1", "session-1", "turn-1", "call-1")
BUILD = "build-1"
NOW = 1_800_000_000_000
TTL = 900_000

OURS = Owner("aaaaaaaaaaaaaaaa", 100, "5000", "b007", "4026531836")
THEIRS = Owner("bbbbbbbbbbbbbbbb", 200, "6000", "b007", "4026531836")


def label(run_id: str = "run-1", *, scope: RunScope = SCOPE, now_ms: int = NOW, ttl_ms: int = TTL) -> Label:
    return Label(BUILD, run_id, scope, now_ms, now_ms + ttl_ms)


def snapshot(
    run_id: str = "run-1", body: bytes = b"body", *, now_ms: int = NOW, ttl_ms: int = TTL
) -> Snapshot:
    """Stores never look inside an envelope, so short bytes will do where they are the subject."""
    return Snapshot(label(run_id, now_ms=now_ms, ttl_ms=ttl_ms), body)


def sealed(run_id: str = "run-1", *, state: bytes = b"{}", delta: bytes = b"delta") -> Snapshot:
    own = label(run_id)
    return Snapshot(own, seal(KEY, own, state=state, delta=delta))
