"""The scripted evaluation of what a model needs: it is deterministic, so its numbers are exact."""

from __future__ import annotations

import pytest

from bench.bench_models import measure
from bench.models.tasks import TASKS


@pytest.mark.guarantee("hasty-programs-get-right")
async def test_hasty_programs_get_right_in_few_calls_and_in_fewer_when_results_are_known() -> None:
    found = await measure()
    first, later = found["first"], found["later"]

    assert (first["tools"], first["right"], later["right"]) == (49, len(TASKS), len(TASKS))
    assert (first["calls"], later["calls"]) == (30, 24)
    assert max(first["descriptionTokens"], later["descriptionTokens"]) < 2_500
