"""Has the text of a program checked, where the runner's own look does not settle what it is.

The native runner starts plain JavaScript at once. It says `Doubtful` of text that may be Markdown, another
language or a use of modules; TypeScript has to be compiled; and what the engine could not parse may deserve a
better answer than a syntax error. Those texts go to a checker: a confined Python process of its own, for one
text, killed at its deadline. Nothing of a program has run when its text is checked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from codemode_runtime import orders, wire
from codemode_runtime.zygote_wire import Flavour
from msgspec.structs import replace

if TYPE_CHECKING:
    from codemode.workers.worker import Worker


class Checks:
    """`take` waits for a checker, which is used once. One per supervisor."""

    def __init__(self, take: Callable[[Flavour], Awaitable[Worker]]) -> None:
        self._take = take

    async def run(self, leg: orders.StartLeg, worker: Worker) -> wire.Outcome:
        """Runs the program of a leg in its worker, with a check of its text where it needs one.

        Checking counts as the leg's time, waiting for a checker does not.
        """
        outcome: wire.Outcome | wire.Doubtful | None = None
        if leg.language == "javascript":
            outcome = await worker.try_text(leg)
            if not (isinstance(outcome, wire.Doubtful) or _is_no_program(outcome)):
                return outcome
        checked, code = await self._check(leg, worker)
        if not isinstance(checked, wire.Checked):
            return checked
        if outcome is not None and not isinstance(outcome, wire.Doubtful):
            return outcome  # it is JavaScript, with the mistake that the engine found
        left = leg.budget_ms - checked.prepare_us // 1000
        if left <= 0:
            return wire.Interrupted[wire.GuestMessages](())
        ended = await worker.run_text(replace(leg, program=code, budget_ms=left, checked=True))
        return _with_spent(ended, checked.prepare_us)

    async def _check(
        self, leg: orders.StartLeg, holder: Worker
    ) -> tuple[wire.Checked | wire.Refused | wire.Interrupted[wire.GuestMessages], str]:
        with await self._take("typescript" if leg.language == "typescript" else "source") as checker:
            holder.checker = checker
            try:
                return await checker.check(leg.program, leg.language, leg.budget_ms)
            finally:
                holder.checker = None


def _is_no_program(outcome: wire.Outcome) -> bool:
    return isinstance(outcome, wire.Threw) and outcome.failure.kind == "syntax" and not outcome.messages


def _with_spent(outcome: wire.Outcome, prepare_us: int) -> wire.Outcome:
    spent = getattr(outcome, "spent", None)
    return outcome if spent is None else replace(outcome, spent=replace(spent, prepare_us=prepare_us))
