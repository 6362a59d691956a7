"""A slice of kill_rounds: an engine killed at set moments of its life leaves what it must, and no more."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.kill_rounds import MAX_SECONDS, run_round

pytestmark = [pytest.mark.usefixtures("leaves_nothing"), pytest.mark.timeout(240)]
ROUNDS = 12


@pytest.mark.guarantee("nothing-runs-twice")
@pytest.mark.guarantee("runs-survive-the-engine")
def test_after_a_kill_each_run_is_resumable_or_absent_and_nothing_ran_twice(tmp_path: Path) -> None:
    totals: Counter[str] = Counter()
    for number in range(ROUNDS):
        totals += run_round(tmp_path, MAX_SECONDS * number / ROUNDS)
    assert totals["resumed"] > 0
