"""The calls of one run, as every result tells them: the first and the last in full, the rest in numbers.

A program may make hundreds of thousands of calls, and its ledger is stored with each snapshot and is in each
result. So it has a bound; a call under way is always in it.
"""

from __future__ import annotations

from msgspec import Struct

from codemode.contract.telemetry import CALL_METHODS, CallRecord

FIRST_CALLS = 1_000
LAST_CALLS = 500
_MAX_NAMES = 200  # names with numbers of their own; the rest share one
OTHERS = "(others)"


class Ledger(Struct, omit_defaults=True):
    """`left_out` counts the calls of tools that are not listed any more, by name and by status."""

    first: dict[str, CallRecord] = {}
    last: dict[str, CallRecord] = {}
    left_out: dict[str, dict[str, int]] = {}

    def get(self, id: str) -> CallRecord | None:
        return self.first.get(id) or self.last.get(id)

    def add(self, call: CallRecord) -> None:
        """Notes a new call, or what became of a known one."""
        if call.id in self.first or (call.id not in self.last and len(self.first) < FIRST_CALLS):
            self.first[call.id] = call
            return
        self.last[call.id] = call
        if len(self.last) > LAST_CALLS:
            self._leave_out()

    def _leave_out(self) -> None:
        oldest = next((call for call in self.last.values() if call.status != "pending"), None)
        if oldest is None:
            return
        del self.last[oldest.id]
        if oldest.method in CALL_METHODS:
            name = oldest.name if oldest.tool else OTHERS  # the program chose a name that no tool has
            if name not in self.left_out and len(self.left_out) >= _MAX_NAMES:
                name = OTHERS
            statuses = self.left_out.setdefault(name, {})
            statuses[oldest.status] = statuses.get(oldest.status, 0) + 1

    def records(self) -> tuple[CallRecord, ...]:
        return (*self.first.values(), *self.last.values())
