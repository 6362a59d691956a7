"""The bounds of a store, and whether something is past its time or has no room. Pure: the stores carry it
out.

The clock may jump. A deadline further ahead than the longest lifetime cannot have been set by a clock that
agrees with the present one, so it counts as past; otherwise a snapshot from a wrong year would stay for
years.
"""

import msgspec

from codemode_snapshots.errors import StoreFull
from codemode_snapshots.records import Totals


class StoreLimits(msgspec.Struct, frozen=True):
    """Bounds of one store. Bytes count snapshots and what was recorded for suspended runs."""

    max_snapshot_bytes: int = 10 * 1024 * 1024
    max_snapshots: int = 10_000
    max_total_bytes: int = 1024 * 1024 * 1024
    # endings, and the bytes of the results that are kept with them
    max_tombstones: int = 1_000
    max_result_bytes: int = 16 * 1024 * 1024
    tombstone_ttl_ms: int = 3_600_000
    # A day, the longest lifetime that can be configured, and an hour: if a clock is set back a little, the
    # newest run must not be taken for one from a wrong year.
    longest_ttl_ms: int = 90_000_000
    stuck_claim_ms: int = 600_000


def is_past(expires_at_ms: int, limits: StoreLimits, now_ms: int) -> bool:
    return not now_ms < expires_at_ms <= now_ms + limits.longest_ttl_ms


def is_stuck(expires_at_ms: int, claimed_at_ms: int, limits: StoreLimits, now_ms: int) -> bool:
    """Whether a living node has kept its claim far past the run's time: a leg lasts a minute at most."""
    is_long_ago = abs(now_ms - claimed_at_ms) >= limits.stuck_claim_ms
    return is_long_ago and is_past(expires_at_ms, limits, now_ms)


def require_space(
    totals: Totals, limits: StoreLimits, *, part_bytes: int, replaced_bytes: int = 0, new_runs: int = 0
) -> None:
    """StoreFull if one more part of this size, in place of what it replaces, would pass a limit."""
    if part_bytes > limits.max_snapshot_bytes:
        raise StoreFull("snapshot_bytes", limits.max_snapshot_bytes, part_bytes)
    if new_runs and totals.runs + new_runs > limits.max_snapshots:
        raise StoreFull("snapshots", limits.max_snapshots, totals.runs + new_runs)
    total_bytes = totals.bytes - replaced_bytes + part_bytes
    # A run that shrinks may be saved again even if the limit was lowered below what is stored already.
    if part_bytes > replaced_bytes and total_bytes > limits.max_total_bytes:
        raise StoreFull("total_bytes", limits.max_total_bytes, total_bytes)
