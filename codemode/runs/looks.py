"""All ways to look at runs without touching them, in one place for the engine."""

from __future__ import annotations

from codemode.runs.kept_results import KeptResults
from codemode.runs.known_runs import KnownRuns
from codemode.runs.open_approvals import OpenApprovals
from codemode.runs.run_details import RunLookout
from codemode.runs.run_lists import RunLists
from codemode.runs.run_report import RunReporter
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.trajectory_archive import TrajectoryArchive


class Looks:
    """One per engine."""

    def __init__(
        self, runs: KnownRuns, stored: StoredRuns, archive: TrajectoryArchive, kept: KeptResults
    ) -> None:
        self.past = archive.past
        self.details = RunLookout(runs, stored, archive, kept)
        self.approvals = OpenApprovals(runs, stored, self.details)
        self.lists = RunLists(runs, stored, self.past)
        self.reports = RunReporter(runs, stored, archive, kept, self.details, self.past)
