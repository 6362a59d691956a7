"""A large batch is cut into chunks at its messages, and put together again as it was."""

from __future__ import annotations

import msgspec
import pytest
from codemode_runtime import batches, wire
from codemode_runtime.batches import INLINE_BYTES, MAX_MESSAGES, TooMuch
from codemode_runtime.frames import FrameRefused
from hypothesis import given
from hypothesis import strategies as st


def _texts(sizes: list[int]) -> list[wire.GuestMessage]:
    return [wire.Text("x" * size) for size in sizes]


@given(st.lists(st.integers(0, 3) | st.integers(INLINE_BYTES - 60, INLINE_BYTES + 60), max_size=30))
def test_chunks_hold_the_same_messages_in_their_order(sizes: list[int]) -> None:
    sent = _texts(sizes)
    chunks = batches.split(msgspec.json.encode(sent))
    views = batches.unpack(batches.pack(chunks), len(chunks))
    assert [message for view in views for message in wire.decode_chunk(view)] == sent
    assert all(len(view) <= INLINE_BYTES for view in views if bytes(view[:1]) == b"[")


@pytest.mark.parametrize("count", [0, MAX_MESSAGES])
def test_as_many_messages_as_may_cross_are_split(count: int) -> None:
    chunks = batches.split(b"[" + b",".join([b'{"type":"clear","id":1}'] * count) + b"]")
    assert sum(len(wire.decode_chunk(memoryview(chunk))) for chunk in chunks) == count


def test_more_messages_or_bytes_than_may_cross_are_too_much() -> None:
    with pytest.raises(TooMuch):
        batches.split(b"[" + b",".join([b"{}"] * (MAX_MESSAGES + 1)) + b"]")
    with pytest.raises(TooMuch):
        batches.split(b" " * (batches.MAX_MESSAGE_BYTES + 1))


def test_what_is_shown_has_no_more_parts_than_the_host_decodes() -> None:
    shown = b'{"type":"json","value":[%s]}' % b",".join([b"1"] * 300_000)
    with pytest.raises(TooMuch):
        batches.split(b"[" + shown + b"]")


@pytest.mark.parametrize("torn", [b"", b"[", b'[{"type":"text","te', b"[{},]", b"{}", b"7"])
def test_a_batch_that_is_half_written_is_refused(torn: bytes) -> None:
    with pytest.raises(FrameRefused):
        batches.split(torn)


@given(st.binary(max_size=40), st.integers(0, 5))
def test_any_tail_is_chunks_or_refused(tail: bytes, count: int) -> None:
    try:
        views = batches.unpack(tail, count)
    except FrameRefused:
        return
    assert batches.pack([bytes(view) for view in views]) == tail


@given(st.binary(max_size=60) | st.sampled_from([b"[]", b"[7]", b'[{"type":"clear","id":0}]']))
def test_any_chunk_is_messages_a_result_a_failure_or_refused(chunk: bytes) -> None:
    for decode in (wire.decode_chunk, wire.decode_result, wire.decode_failure):
        try:
            decode(memoryview(chunk))
        except FrameRefused:
            continue
