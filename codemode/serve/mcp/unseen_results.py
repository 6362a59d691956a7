"""Results that no client has seen yet: each run waits for an answer, and the client then calls again."""

from __future__ import annotations

from collections import OrderedDict

import msgspec

from codemode.contract.results import Waiting

_MAX_BYTES = 32 << 20


class Held:
    """Keeps unseen results by session and run, bounded in bytes: the oldest, whose client never called again,
    goes first."""

    def __init__(self, most_bytes: int = _MAX_BYTES) -> None:
        self._most_bytes = most_bytes
        self._results: OrderedDict[tuple[str, str], tuple[Waiting, int]] = OrderedDict()
        self._bytes = 0

    def put(self, session: str, result: Waiting) -> None:
        self.take(session, result.run_id)
        size = len(msgspec.json.encode(result))
        self._results[session, result.run_id] = (result, size)
        self._bytes += size
        while self._bytes > self._most_bytes and len(self._results) > 1:
            self._bytes -= self._results.popitem(last=False)[1][1]

    def take(self, session: str, run_id: str) -> Waiting | None:
        result, size = self._results.pop((session, run_id), (None, 0))
        self._bytes -= size
        return result
