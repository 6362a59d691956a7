"""A slice of cluster_rounds: nodes killed among roaming clients cost no promised run."""

from __future__ import annotations

import pytest

from tests.e2e.cluster_rounds import run_rounds

pytestmark = [pytest.mark.usefixtures("leaves_nothing"), pytest.mark.timeout(240)]


@pytest.mark.guarantee("any-node")
@pytest.mark.guarantee("nothing-runs-twice")
def test_clients_that_roam_among_nodes_that_are_killed_see_each_promised_run_end() -> None:
    found = run_rounds(kills=3, seed=21, away_s=0.5)
    assert found["completed"] > 0
    assert found["left claimed"] == 0
