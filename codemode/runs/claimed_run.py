"""A run that this engine has claimed: what it needs to go on."""

from __future__ import annotations

from collections.abc import Sequence

from codemode_runtime.frames import Data
from codemode_snapshots import CallView, Claim, Claimed


class ClaimedRun:
    """Until it is saved, released or ended nobody else has it.

    `outcomes` are in the order in which they came; `taken` are the calls of dead nodes, which are ours now.
    """

    __slots__ = ("build_id", "calls", "claim", "delta", "expires_at_ms", "outcomes", "state", "taken")

    def __init__(
        self, claimed: Claimed, state: bytes, outcomes: Sequence[tuple[str, bytes]], expires_at_ms: int
    ) -> None:
        self.build_id = claimed.snapshot.label.build_id
        self.claim: Claim = claimed.claim
        self.calls: tuple[CallView, ...] = claimed.calls
        self.delta: Data = claimed.snapshot.delta
        self.taken = {hold.call_id: hold for hold in claimed.taken}
        self.state = state
        self.outcomes = outcomes
        self.expires_at_ms = expires_at_ms
