"""What an engine tells about itself: counts, suspended runs. Pure, and plain data."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from codemode_snapshots import RunMeta

from codemode.runs.meter import Tally
from codemode.runs.run import Run
from codemode.workers.supervisor import SupervisorStats


def stats_of(runs: Iterable[Run], tally: Tally, workers: SupervisorStats) -> dict[str, Any]:
    states = [run.state.value for run in runs]
    return {
        "runs": {state: states.count(state) for state in sorted(set(states))},
        "totals": tally.to_dict(),
        "workers": msgspec.to_builtins(workers),
    }


def describe_run(meta: RunMeta) -> dict[str, Any]:
    label = meta.label
    return {
        "runId": label.run_id,
        "agent": label.scope.agent,
        "session": label.scope.session,
        "createdAtMs": label.created_at_ms,
        "expiresAtMs": label.expires_at_ms,
        "bytes": meta.size_bytes,
        "settled": meta.settled,  # results that came while it was suspended, and are kept
        "state": "waiting" if meta.claimed_by is None else "running",
    }
