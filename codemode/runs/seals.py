"""Seals what an engine puts into a store, and opens it again: only what was sealed with a key of its ring.

A state is sealed together with the digest of its delta, so that it can be read without megabytes of delta.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from codemode_runtime.frames import Data
from codemode_snapshots import (
    EnvelopeRefused,
    Label,
    Opened,
    RunScope,
    Settled,
    Snapshot,
    key_id,
    seal,
    seal_part,
    unseal,
    unseal_part,
)
from codemode_snapshots.seals import Kind

from codemode import clock
from codemode.contract.results import CodeModeResult, decode_result
from codemode.tools.threads import call_in_thread

_log = logging.getLogger("codemode.engine")
T = TypeVar("T")
_LARGE_BYTES = 4 << 20  # a few milliseconds to hash
# The store decides what is past its time, by its own clock; those of machines may be hours off. A seal only
# ends what no store would have kept for so long.
_SLACK_MS = 86_400_000


class Seals:
    """The keys of one engine: it seals with the first, and opens what any of them has sealed."""

    def __init__(self, keys: Sequence[bytes], max_bytes: int) -> None:
        self._keys = tuple(keys)
        self._max_bytes = max_bytes

    def provide(self, key: Callable[[], bytes]) -> None:
        """A key for an engine that was given none."""
        self._keys = self._keys or (key(),)

    @property
    def key_ids(self) -> tuple[str, ...]:
        return tuple(key_id(key).hex() for key in self._keys)

    async def seal_state(self, label: Label, state: bytes, delta: Data) -> bytes:
        digest = await _digest(delta)
        sealing = partial(seal, self._keys[0], label, state=state, delta=digest)
        return await off_loop(len(state), "seal", sealing)

    def open_state(self, label: Label, sealed: bytes, *, is_past_ok: bool = False) -> Opened:
        """Its `delta` is the digest. Raises EnvelopeRefused."""
        now = 0 if is_past_ok else clock.wall_ms() - _SLACK_MS
        for key in self._keys:
            try:
                return unseal(
                    key,
                    sealed,
                    build_id=label.build_id,
                    run_id=label.run_id,
                    scope=label.scope,
                    now_ms=now,
                    max_bytes=self._max_bytes,
                )
            except EnvelopeRefused as refused:
                if refused.reason != "wrong_key" or key is self._keys[-1]:
                    raise
        raise EnvelopeRefused("wrong_key")

    async def open_snapshot(self, snapshot: Snapshot) -> tuple[bytes, int]:
        """The state, and when it expires. Raises EnvelopeRefused, also if the delta is not the one sealed."""
        if snapshot.size_bytes > self._max_bytes:
            raise EnvelopeRefused("too_large")
        opening = partial(self.open_state, snapshot.label, snapshot.state)
        opened = await off_loop(len(snapshot.state), "unseal", opening)
        if await _digest(snapshot.delta) != opened.delta:
            raise EnvelopeRefused("forged")
        return opened.state, opened.expires_at_ms

    def seal_part(self, kind: Kind, names: Sequence[str], payload: bytes, take: int = 0) -> bytes:
        return seal_part(self._keys[0], kind, names, payload, take)

    def open_part(self, kind: Kind, run_id: str, approval_id: str, sealed: bytes) -> bytes | None:
        return self.open_named(kind, (run_id, approval_id), sealed)

    def open_named(self, kind: Kind, names: Sequence[str], sealed: bytes) -> bytes | None:
        """The first name is the run's id. None if it is not believed."""
        try:
            return unseal_part(self._keys, kind, names, sealed)
        except EnvelopeRefused as refused:
            _log.warning("a %s of run %s is not believed: %s", kind, names[0], refused)
            return None

    def open_fact(self, agent: str, name: str, sealed: bytes) -> bytes | None:
        """None for what was sealed with a key that this engine has not, or not sealed by one of ours."""
        try:
            return unseal_part(self._keys, "fact", (agent, name), sealed)
        except EnvelopeRefused:
            return None

    async def open_outcomes(self, run_id: str, settled: Sequence[Settled]) -> list[tuple[str, bytes]]:
        """Call ids and outcomes. Raises EnvelopeRefused."""
        return [(one.call_id, await self._open_outcome(run_id, one)) for one in settled]

    async def _open_outcome(self, run_id: str, one: Settled) -> bytes:
        names = (run_id, one.call_id)
        opening = partial(unseal_part, self._keys, "outcome", names, one.outcome, one.take)
        return await off_loop(len(one.outcome), "unseal", opening)

    def seal_result(self, kind: Kind, run_id: str, scope: RunScope, result: CodeModeResult) -> bytes:
        return self.seal_part(kind, _names(run_id, scope), result.to_json().encode())

    def open_result(
        self, kind: Kind, run_id: str, scope: RunScope, sealed: bytes | None
    ) -> CodeModeResult | None:
        if sealed is None:
            return None
        try:
            return decode_result(unseal_part(self._keys, kind, _names(run_id, scope), sealed))
        except EnvelopeRefused as refused:
            _log.warning("the kept result of run %s is not believed: %s", run_id, refused)
            return None


async def off_loop(size: int, name: str, work: Callable[[], T]) -> T:
    """Does it in a thread where it is large: hashing and compressing let the event loop go on."""
    return work() if size <= _LARGE_BYTES else await call_in_thread(name, work)


async def _digest(delta: Data) -> bytes:
    return await off_loop(len(delta), "digest", lambda: hashlib.sha256(delta).digest())


def _names(run_id: str, scope: RunScope) -> tuple[str, ...]:
    return run_id, scope.agent, scope.session, scope.agent_run
