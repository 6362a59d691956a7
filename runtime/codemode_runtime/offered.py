"""The run descriptor as a worker sees it: what travelled with the run; it asks the host for the rest."""

from __future__ import annotations

from codemode_runtime import wire
from codemode_runtime.frames import FrameRefused
from codemode_runtime.line import Line, Nowhere
from codemode_runtime.shapes import Lookup

# No tool, server or path has a longer name; the worker answers a longer key without asking.
MAX_KEY = 64 << 10


class OfferedDescriptor:
    """Answers from the offer, else asks the host: a round trip while the guest waits."""

    def __init__(self, offer: wire.Offer, line: Line | Nowhere) -> None:
        self.has_namespaces = offer.has_namespaces
        self.bare = offer.bare
        self._complete = offer.complete
        self._known = {(answer.kind, answer.key): bytes(answer.json) for answer in offer.answers}
        self._line = line

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        found = self._known.get((kind, key))
        if found is not None or self._complete or len(key) > MAX_KEY:
            return found
        self._line.send(wire.encode(wire.LookupRequest(int(kind), key)))
        frame = self._line.receive()
        if frame is None:
            raise EOFError("the host is gone")
        answer = wire.decode_to_worker(frame.head)
        if not isinstance(answer, wire.LookupAnswer):
            raise FrameRefused("the host did not answer the lookup")
        return bytes(frame.tail) if answer.found else None
