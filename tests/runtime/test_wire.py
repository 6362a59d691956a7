"""Frames and messages: what is encoded is decoded, and any other bytes are refused in one way."""

from __future__ import annotations

import struct

import msgspec
import pytest
from codemode_runtime import wire
from codemode_runtime.frames import (
    LARGE_TAIL,
    MAX_HEAD,
    Frame,
    FrameReader,
    FrameRefused,
    FrameTooLarge,
    encode_frame,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

IDLE = b'{"type":"idle","messages":%s,"spent":{},"returned":false,%s}'
PENDING = b'"pending_calls":1,"pending_timers":0,"pending_yields":0'
CALL = b'{"type":"call","id":1,"method":"call","target":"t","args":[1]}'


@given(st.lists(st.tuples(st.binary(max_size=300), st.binary(max_size=300)), max_size=5), st.data())
def test_frames_arrive_whole_however_the_bytes_are_cut(
    parts: list[tuple[bytes, bytes]], data: st.DataObject
) -> None:
    stream = b"".join(encode_frame(head, tail) for head, tail in parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    reader = FrameReader()
    found: list[Frame] = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += reader.feed(stream[start:end])
    assert found == [Frame(head, tail) for head, tail in parts]
    assert not reader.is_mid_frame


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=3), st.lists(st.integers(1, 200_000), max_size=6))
def test_a_large_tail_arrives_whole_fed_or_received_in_place(sizes: list[int], chunks: list[int]) -> None:
    parts = [(b"head %d" % at, bytes([at]) * (LARGE_TAIL + size)) for at, size in enumerate(sizes)]
    stream = memoryview(b"".join(encode_frame(head, tail) for head, tail in parts))
    reader, in_place = FrameReader(), FrameReader()
    found: list[Frame] = []
    placed: list[Frame] = []
    for chunk in (*chunks, *[100_000] * 8):
        now, stream = bytes(stream[:chunk]), stream[chunk:]
        found += reader.feed(now)
        while now and (space := in_place.space) is not None:
            count = min(len(space), len(now))
            space[:count] = now[:count]
            placed += in_place.filled(count)
            now = now[count:]
        placed += in_place.feed(now)
    assert found == placed == [Frame(head, tail) for head, tail in parts]
    assert not reader.is_mid_frame
    assert not in_place.is_mid_frame


@pytest.mark.parametrize(("head", "tail"), [(MAX_HEAD + 1, 0), (1 << 30, 0), (0, 1), (2, 0xFFFFFFFF)])
def test_lengths_over_the_caps_are_refused_before_anything_arrives(head: int, tail: int) -> None:
    with pytest.raises(FrameRefused):
        FrameReader(max_tail=0).feed(struct.pack("<II", head, tail))


def test_a_frame_over_the_cap_is_not_sent() -> None:
    with pytest.raises(FrameTooLarge):
        encode_frame(b" " * (MAX_HEAD + 1))


def test_a_message_of_a_worker_is_read_as_it_was_written() -> None:
    sent = wire.Idle(Raw(b"[" + CALL + b"]"), True, 1, 0, 0, spent=wire.Spent(1, 2, 3))
    read = wire.decode_from_worker(wire.encode(sent))
    assert isinstance(read, wire.Idle)
    (call,) = read.messages
    assert isinstance(call, wire.Call)
    assert (call.id, call.method, call.target, bytes(call.args)) == (1, "call", "t", b"[1]")
    assert (read.spent, read.returned) == (wire.Spent(1, 2, 3), True)


@pytest.mark.parametrize(
    "messages",
    [
        b"{}",
        b"[{}]",
        b'[{"type":"call"}]',
        b"[" + CALL.replace(b'"id":1', b'"id":0') + b"]",
        b"[" + CALL.replace(b'"id":1', b'"id":4294967296') + b"]",
        b"[" + CALL.replace(b'"id":1', b'"id":1.5') + b"]",
        b"[" + CALL.replace(b'"method":"call"', b'"method":"eval"') + b"]",
        b"[" + CALL.replace(b'"target":"t"', b'"target":null') + b"]",
        b"[" + CALL.replace(b"[1]", b"[1") + b"]",
        b"[" + CALL.replace(b'"t"', b'"\xff"') + b"]",
        b"[" + CALL.replace(b"[1]", b'["\xff"]') + b"]",
        b"[" + CALL.replace(b"[1]", b"[" * 5000 + b"]" * 5000) + b"]",
        b'[{"type":"text","text":"x","level":"shout"}]',
        b'[{"type":"text","text":"x","extra":1}]',
        b'[{"type":"timer","id":1,"ms":-1}]',
        b'[{"type":"timer","id":1,"ms":1e999}]',
        b'[{"type":"clear","id":' + b"9" * 5000 + b"}]",
    ],
)
def test_a_message_of_another_shape_is_refused(messages: bytes) -> None:
    assert wire.decode_from_worker(IDLE % (b"[" + CALL + b"]", PENDING))
    with pytest.raises(FrameRefused):
        wire.decode_from_worker(IDLE % (messages, PENDING))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(head: bytes) -> None:
    try:
        wire.decode_from_worker(head)
    except FrameRefused:
        return


@given(st.data())
def test_a_damaged_message_is_a_message_or_refused(data: st.DataObject) -> None:
    head = bytearray(IDLE % (b"[" + CALL + b',{"type":"json","value":{"a":[1e5,"\\u00e9"]}}]', PENDING))
    for _ in range(data.draw(st.integers(1, 4))):
        head[data.draw(st.integers(0, len(head) - 1))] = data.draw(st.integers(0, 255))
    try:
        wire.decode_from_worker(bytes(head))
    except FrameRefused:
        return


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(), st.lists))
def test_a_value_is_decoded_as_it_was_encoded(value: object) -> None:
    assert wire.decode_value(Raw(msgspec.json.encode(value))) == value


@given(st.binary(max_size=100) | st.text(alphabet='[]{}",:\\0e9u', max_size=60).map(str.encode))
def test_any_bytes_are_a_value_or_refused(json: bytes) -> None:
    try:
        wire.decode_value(json)
    except FrameRefused:
        return


@pytest.mark.parametrize("json", [b"1e999", b'"\\ud800"', b"1" * 5000, b'{"a":1', b"NaN", b""])
def test_json_that_is_none_is_refused(json: bytes) -> None:
    with pytest.raises(FrameRefused):
        wire.decode_value(json)


def test_of_two_equal_keys_the_last_one_counts() -> None:
    assert wire.decode_value(b'{"a":1,"a":2}') == {"a": 2}
