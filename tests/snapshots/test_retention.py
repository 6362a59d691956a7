"""What has to go, decided without a store."""

import pytest
from codemode_snapshots import RunMeta, StoreFull, StoreLimits, Tombstone, Totals
from codemode_snapshots.retention import is_expired, plan_endings, plan_tombstones, require_room

from tests.snapshots.samples import NOW, OURS, SCOPE, THEIRS, TTL, label

LIMITS = StoreLimits(
    max_snapshot_bytes=100,
    max_snapshots=2,
    max_total_bytes=150,
    max_tombstones=2,
    tombstone_ttl_ms=1000,
    longest_ttl_ms=1_000_000,
    stuck_claim_ms=600,
)


def run(run_id: str, *, claimed_at_ms: int | None = None) -> RunMeta:
    return RunMeta(label(run_id), 4, OURS, None if claimed_at_ms is None else THEIRS, claimed_at_ms, 0)


def stone(run_id: str, at_ms: int) -> Tombstone:
    return Tombstone(run_id, SCOPE, "expired", at_ms)


def test_a_run_expires_at_its_deadline_not_before() -> None:
    assert plan_endings([run("a")], LIMITS, NOW + TTL - 1) == []
    assert plan_endings([run("a")], LIMITS, NOW + TTL) == [Tombstone("a", SCOPE, "expired", NOW + TTL)]


def test_a_deadline_beyond_the_longest_lifetime_counts_as_past() -> None:
    assert not is_expired(NOW + 1_000_000, LIMITS, NOW)
    assert is_expired(NOW + 1_000_001, LIMITS, NOW)


def test_a_claimed_run_outlives_its_deadline_until_the_claim_is_stuck() -> None:
    claimed_at = NOW + TTL - 1
    assert plan_endings([run("a", claimed_at_ms=claimed_at)], LIMITS, claimed_at + 599) == []
    assert plan_endings([run("a", claimed_at_ms=claimed_at)], LIMITS, claimed_at + 600) == [
        Tombstone("a", SCOPE, "interrupted", claimed_at + 600)
    ]


def test_a_long_claim_alone_does_not_end_a_run() -> None:
    assert plan_endings([run("a", claimed_at_ms=NOW)], LIMITS, NOW + 601) == []


def test_old_and_misdated_tombstones_are_dropped() -> None:
    stones = [stone("old", NOW - 1000), stone("recent", NOW - 999), stone("future", NOW + 1000)]
    assert plan_tombstones(stones, LIMITS, NOW) == ("future", "old")


def test_the_newest_tombstones_are_kept_when_there_are_too_many() -> None:
    stones = [stone("a", NOW - 3), stone("b", NOW - 1), stone("c", NOW - 2)]
    assert plan_tombstones(stones, LIMITS, NOW) == ("a",)


@pytest.mark.parametrize(
    ("totals", "part_bytes", "replaced_bytes", "new_runs", "limit"),
    [
        (Totals(0, 0), 101, 0, 1, "snapshot_bytes"),
        (Totals(2, 10), 1, 0, 1, "snapshots"),
        (Totals(1, 100), 51, 0, 1, "total_bytes"),
        (Totals(1, 150), 21, 20, 0, "total_bytes"),
    ],
)
def test_what_would_pass_a_limit_is_refused_by_its_name(
    totals: Totals, part_bytes: int, replaced_bytes: int, new_runs: int, limit: str
) -> None:
    with pytest.raises(StoreFull) as full:
        require_room(totals, LIMITS, part_bytes=part_bytes, replaced_bytes=replaced_bytes, new_runs=new_runs)
    assert full.value.limit == limit


def test_exactly_full_is_allowed_and_so_is_shrinking_while_over() -> None:
    require_room(Totals(1, 100), LIMITS, part_bytes=50, new_runs=1)
    require_room(Totals(9, 900), LIMITS, part_bytes=20, replaced_bytes=20)
