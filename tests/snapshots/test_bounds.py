"""What is past its time and what has no room, decided without a store."""

import pytest
from codemode_snapshots import StoreFull, StoreLimits, Totals
from codemode_snapshots.bounds import is_past, is_stuck, require_space

from tests.snapshots.samples import NOW

LIMITS = StoreLimits(
    max_snapshot_bytes=100,
    max_snapshots=2,
    max_total_bytes=150,
    longest_ttl_ms=1_000_000,
    stuck_claim_ms=600,
)


def test_a_run_is_past_its_time_at_its_deadline_and_not_before() -> None:
    assert not is_past(NOW, LIMITS, NOW - 1)
    assert is_past(NOW, LIMITS, NOW)


def test_a_deadline_beyond_the_longest_lifetime_counts_as_past() -> None:
    assert not is_past(NOW + 1_000_000, LIMITS, NOW)
    assert is_past(NOW + 1_000_001, LIMITS, NOW)


def test_a_claim_is_stuck_when_it_is_old_and_its_run_is_past_its_time() -> None:
    assert not is_stuck(NOW, NOW, LIMITS, NOW + 599)
    assert is_stuck(NOW, NOW, LIMITS, NOW + 600)
    assert not is_stuck(NOW + 5000, NOW, LIMITS, NOW + 600)


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
        require_space(totals, LIMITS, part_bytes=part_bytes, replaced_bytes=replaced_bytes, new_runs=new_runs)
    assert full.value.limit == limit


def test_exactly_full_is_allowed_and_so_is_shrinking_while_over() -> None:
    require_space(Totals(1, 100), LIMITS, part_bytes=50, new_runs=1)
    require_space(Totals(9, 900), LIMITS, part_bytes=20, replaced_bytes=20)
