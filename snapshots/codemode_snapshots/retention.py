"""Decides which runs and tombstones have to go, and whether there is room. Pure: the stores carry it out.

The clock may jump. A deadline further ahead than the longest lifetime cannot have been set by a clock that
agrees with the present one, so it counts as past; otherwise a snapshot from a wrong year would stay for
years.
"""

from collections.abc import Iterable

from codemode_snapshots.errors import StoreFull
from codemode_snapshots.store import RunMeta, StoreLimits, Tombstone, Totals


def live_until(limits: StoreLimits, now_ms: int) -> tuple[int, int]:
    """A run is live while its expiry lies after the first and not after the second of these times."""
    return now_ms, now_ms + limits.longest_ttl_ms


def is_expired(expires_at_ms: int, limits: StoreLimits, now_ms: int) -> bool:
    after, latest = live_until(limits, now_ms)
    return not after < expires_at_ms <= latest


def plan_endings(runs: Iterable[RunMeta], limits: StoreLimits, now_ms: int) -> list[Tombstone]:
    """The tombstones of the runs to end: expired runs, and runs stuck in a claim past their expiry."""
    ended: list[Tombstone] = []
    for run in runs:
        if not is_expired(run.label.expires_at_ms, limits, now_ms):
            continue
        if run.claimed_at_ms is None:
            ended.append(Tombstone(run.label.run_id, run.label.scope, "expired", now_ms))
        elif abs(now_ms - run.claimed_at_ms) >= limits.stuck_claim_ms:
            # recover() may not see its owner. A leg lasts a minute at most, and this is far longer.
            ended.append(Tombstone(run.label.run_id, run.label.scope, "interrupted", now_ms))
    return ended


def plan_tombstones(tombstones: Iterable[Tombstone], limits: StoreLimits, now_ms: int) -> tuple[str, ...]:
    """Ids of the tombstones to drop: too old, dated too far in the future, or over the number."""
    newest_first = sorted(tombstones, key=lambda stone: (stone.at_ms, stone.run_id), reverse=True)
    current = [stone for stone in newest_first if abs(now_ms - stone.at_ms) < limits.tombstone_ttl_ms]
    kept = {stone.run_id for stone in current[: limits.max_tombstones]}
    return tuple(stone.run_id for stone in newest_first if stone.run_id not in kept)


def require_room(
    totals: Totals, limits: StoreLimits, *, part_bytes: int, replaced_bytes: int = 0, new_runs: int = 0
) -> None:
    """StoreFull if one more part of this size, in place of what it replaces, would pass a limit."""
    if part_bytes > limits.max_snapshot_bytes:
        raise StoreFull("snapshot_bytes", limits.max_snapshot_bytes, part_bytes)
    if new_runs and totals.snapshots + new_runs > limits.max_snapshots:
        raise StoreFull("snapshots", limits.max_snapshots, totals.snapshots + new_runs)
    total_bytes = totals.total_bytes - replaced_bytes + part_bytes
    # A run that shrinks may be saved again even if the limit was lowered below what is stored already.
    if part_bytes > replaced_bytes and total_bytes > limits.max_total_bytes:
        raise StoreFull("total_bytes", limits.max_total_bytes, total_bytes)
