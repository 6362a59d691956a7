"""Whether the runs of a store can be opened with these keys. Claims nothing and changes nothing.

A run's delta is bound to its state by a hash, and looked at when the run goes on: a check that read all of
them would read the whole store.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from codemode_snapshots import EnvelopeRefused, View, unseal

if TYPE_CHECKING:
    from codemode_snapshots import RunStore


@dataclass(slots=True)
class SealCount:
    """`refused` has the ids of runs, by the reason why nobody with these keys can open them."""

    whole: int = 0
    calls: int = 0
    refused: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


def count_seals(store: RunStore, keys: Sequence[bytes]) -> SealCount:
    found = SealCount()
    for listed in store.list_runs():
        view = store.look(listed.label.run_id, listed.label.scope)
        if not isinstance(view, View) or view.state is None:
            continue  # it ended while we looked
        found.calls += len(view.calls)
        reason = _refusal(view, keys)
        if reason is None:
            found.whole += 1
        else:
            found.refused.setdefault(reason, []).append(listed.label.run_id)
    return found


def _refusal(view: View, keys: Sequence[bytes]) -> str | None:
    reason = "wrong_key"
    for key in keys:
        try:
            unseal(
                key,
                view.state or b"",
                build_id=view.label.build_id,
                run_id=view.label.run_id,
                scope=view.label.scope,
                now_ms=0,
                max_bytes=len(view.state or b""),
            )
        except EnvelopeRefused as refused:
            reason = refused.reason
            if reason != "wrong_key":
                return reason
        else:
            return None
    return reason
