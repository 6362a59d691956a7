"""The gate for messages of MCP servers by itself: what it sees of a message, its budget, frames of events."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest

from codemode.mcp.budget import (
    BURST_UNITS,
    MAX_DEBT_UNITS,
    UNIT_BYTES,
    UNITS_PER_SECOND,
    Budget,
    Counts,
    Overspent,
)
from codemode.mcp.envelope import peek, read_envelope
from codemode.mcp.http_intake import admitted_events
from codemode.mcp.intake import Intake

PING = b'{"jsonrpc":"2.0","id":7,"method":"ping"}'


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","id":5,"result":{"a":[1,2]}}',
        b'{"result":{"a":[1,2]},"jsonrpc":"2.0","id":5}',
        b' { "id" : 5 , "jsonrpc" : "2.0" , "result" : { "a" : [ "x}]" ] } } \r\n',
    ],
)
def test_an_id_is_found_before_and_behind_what_is_not_looked_through(message: bytes) -> None:
    for found in (peek(message), read_envelope(message)):
        assert found is not None
        assert (found.id, found.method, found.is_answer) == (5, None, True)


@pytest.mark.parametrize(
    "message", [b"", b"{", b"[]", b"{}", b"starting up", b'{"id":true}', b'{"id":[1]}', b"\xff"]
)
def test_what_is_no_message_has_no_envelope(message: bytes) -> None:
    assert (peek(message), read_envelope(message)) == (None, None)


def test_a_budget_comes_back_with_time_and_a_debt_ends_the_connection() -> None:
    now = 0.0
    counts = Counts()
    budget = Budget(counts, lambda: now)
    assert all(budget.charge(0) for _ in range(BURST_UNITS))
    assert [budget.charge(0), budget.charge(UNIT_BYTES)] == [False, False]
    now = 1.0
    assert sum(budget.charge(0) for _ in range(UNITS_PER_SECOND)) == UNITS_PER_SECOND - 3
    dropped = counts.dropped
    assert not any(budget.charge(0) for _ in range(MAX_DEBT_UNITS - 3))
    with pytest.raises(Overspent):
        budget.charge(0)
    assert (dropped, counts.dropped, counts.disconnected) == (5, 5 + MAX_DEBT_UNITS - 3, 1)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
async def test_events_are_framed_alike_however_their_bytes_arrive(end: bytes, size: int) -> None:
    split = PING.replace(b",", b"," + end + b"data: ", 1)
    lines = [
        b": note",
        b"",
        b"id: 1",
        b"retry: 5",
        b"data: " + PING,
        b"",
        b"event: other",
        b"data: " + PING,
        b"",
    ]
    stream = end.join([*lines, b"event: message", b"data:" + split, b"", b"", b"data: left over"])

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(stream), size):
            yield stream[at : at + size]

    intake = Intake("one", Counts(), lambda: None)
    found = [told async for told in admitted_events(chunks(), intake, None)]
    first, second = PING, PING.replace(b",", b", ", 1)
    assert found == [b"id: 1\nretry: 1000\ndata: " + first + b"\n\n", b"data: " + second + b"\n\n"]


async def test_an_event_of_very_many_lines_ends_its_stream_before_they_are_taken_apart() -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"data:\n" * 10_002 + b"\n"

    intake = Intake("one", Counts(), lambda: None)
    with pytest.raises(httpx2.StreamError, match="an event has more than 10000 lines"):
        _ = [told async for told in admitted_events(chunks(), intake, None)]
