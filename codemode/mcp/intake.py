"""The gate for what an MCP server sends: each message is looked at before it is decoded.

Answers that somebody waits for go around the SDK (answers.py), or fail their call if they are too much. What
nobody asked for has a budget: notifications that the engine has no use for go nowhere, a changed tool list is
noted, the rest goes to the SDK if it is small. Pure but for the clock of the budget; one per connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from codemode_runtime.parts import most_parts, refusal_of
from msgspec import Raw

from codemode.mcp.answers import WRONG, RawAnswer, answer_wanted
from codemode.mcp.budget import Budget, Counts, Overspent
from codemode.mcp.envelope import Envelope, peek, read_envelope

if TYPE_CHECKING:  # the first connection loads it
    from mcp.shared.message import SessionMessage

_log = logging.getLogger("codemode.mcp")

MAX_UNASKED_BYTES = 256 << 10
MAX_UNASKED_PARTS = 5_000
_LARGE_BYTES = 64 << 10
_MAX_PROTOCOL_BYTES = 1 << 20  # answers that the SDK reads: handshakes, questions
_CHANGED = "notifications/tools/list_changed"
_USED = frozenset(
    ("notifications/progress", "notifications/cancelled", "notifications/subscriptions/acknowledged")
)
_REFUSED = -32603  # JSON-RPC's code for an internal error

MessageId = int | str


class _Sent(NamedTuple):
    id: MessageId
    method: str
    answer: RawAnswer | None


class Intake:
    """`on_change` is told when the server's tools have changed."""

    def __init__(self, server: str, counts: Counts, on_change: Callable[[], None]) -> None:
        self._server = server
        self._counts = counts
        self._on_change = on_change
        self._budget = Budget(counts)
        self._sent: dict[MessageId, _Sent] = {}

    def note_sent(self, item: SessionMessage) -> None:
        """Call with each message to the server, in the task that sends it."""
        from mcp.types import JSONRPCNotification, JSONRPCRequest

        message = item.message
        if isinstance(message, JSONRPCRequest):
            self._sent[_key(message.id)] = _Sent(message.id, message.method, answer_wanted())
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            given: object = (message.params or {}).get("requestId")
            if isinstance(given, int | str):
                self._sent.pop(_key(given), None)

    def admit(self, message: bytes, asked: MessageId | None = None) -> bytes | None:
        """What the SDK is to get in its place; None if nothing. Raises Overspent.

        `asked` is the id of the request that the message came as the answer to, where the transport knows it.
        """
        envelope = self._look(message)
        if envelope is None:
            return self._rubbish(message, asked)
        if not envelope.is_answer:
            return self._unasked(message, envelope)
        sent = self._sent.pop(_key(envelope.id if asked is None else asked), None)  # type: ignore[arg-type] - an answer has one
        if sent is None:
            self._budget.charge(len(message))
            _log.debug("%s answered what nobody asked", self._server)
            return None
        return self._answer(message, envelope, sent)

    def admit_event(self, data: bytes, asked: MessageId | None) -> bytes | None:
        """The same for an event of a stream, where other messages may come before the answer."""
        if not data:
            self._budget.charge(0)
            return None
        envelope = self._look(data)
        is_answer = envelope is not None and envelope.is_answer
        return self.admit(data, asked if is_answer else None)

    def refuse(self, asked: MessageId, why: str) -> bytes:
        """The answer to a request whose real one must not be read."""
        self._counts.refused += 1
        self._sent.pop(_key(asked), None)
        return _error(asked, why)

    def _look(self, message: bytes) -> Envelope | None:
        is_large = len(message) > _LARGE_BYTES
        found = (None if is_large else read_envelope(message)) or peek(message)
        if found is None and is_large and refusal_of(message) is None:
            found = read_envelope(message)
        return found

    def _rubbish(self, message: bytes, asked: MessageId | None) -> bytes | None:
        """Servers print other lines too, which do no harm."""
        self._budget.charge(len(message))
        if asked is not None:
            self._sent.pop(_key(asked), None)
            return _error(asked, WRONG)
        refusal = refusal_of(message) if message.lstrip()[:1] == b"{" and self._sent else None
        if refusal is not None:  # perhaps an answer; nobody must wait for it in vain
            self._counts.refused += 1
            raise Overspent(f"it sent a message that belongs to no call and is {refusal}")
        _log.debug("%s wrote a line that is no message: %.200r", self._server, message)
        return None

    def _unasked(self, message: bytes, envelope: Envelope) -> bytes | None:
        if not self._budget.charge(len(message)):
            return None
        if envelope.method == _CHANGED:
            self._on_change()
            return None
        if envelope.id is None and envelope.method not in _USED:
            return None
        if len(message) <= MAX_UNASKED_BYTES and most_parts(message) <= MAX_UNASKED_PARTS:
            return message
        self._counts.refused += 1
        _log.warning("%s sent a message of %d bytes that nobody asked for", self._server, len(message))
        # the SDK answers a request with a method that nobody knows, so that the server need not wait
        told = {"id": envelope.id, "method": "codemode/refused: the request is too large"}
        return None if envelope.id is None else msgspec.json.encode({"jsonrpc": "2.0", **told})

    def _answer(self, message: bytes, envelope: Envelope, sent: _Sent) -> bytes:
        # one schema that is too deep must not cost the whole list: its deeper levels are cut off later
        refusal = refusal_of(message, any_depth=sent.method == "tools/list")
        if refusal is not None:
            return self._refused(message, sent, f"the server's answer is {refusal}")
        if envelope.result == Raw(b"") and not envelope.has_error:
            envelope = read_envelope(message) or envelope
        if sent.answer is not None and not envelope.has_error:
            try:
                stand_in = sent.answer.take(sent.method, envelope.result)
            except (ValueError, RecursionError):
                return _error(sent.id, WRONG)
            if stand_in is not None:
                return msgspec.json.encode({"jsonrpc": "2.0", "id": sent.id, "result": Raw(stand_in)})
        if len(message) > _MAX_PROTOCOL_BYTES or most_parts(message) > MAX_UNASKED_PARTS:
            return self._refused(message, sent, "the server's answer is too large for what was asked")
        # what the SDK cannot read it drops, and the asker would wait in vain
        return message if read_envelope(message) is not None else _error(sent.id, WRONG)

    def _refused(self, message: bytes, sent: _Sent, why: str) -> bytes:
        self._counts.refused += 1
        self._budget.charge(len(message))
        return _error(sent.id, why)


def _error(name: MessageId, why: str) -> bytes:
    error: dict[str, Any] = {"code": _REFUSED, "message": why}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": name, "error": error})


def _key(name: MessageId) -> MessageId:
    """Some servers send numbers back as strings."""
    return (
        int(name) if isinstance(name, str) and name.isascii() and name.isdigit() and len(name) < 18 else name
    )
