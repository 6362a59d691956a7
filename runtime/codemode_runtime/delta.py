"""Deltas: the bytes of a paused guest, as the difference to its pristine image.

A delta holds the guest's own patch against the image (opaque here) and extents of heap beyond it. Both
directions stream between linear memory and the compressed bytes: copying a large heap in between would cost
more in page faults than compressing it. A small one is unpacked at once. `open_delta` accepts any bytes and
either returns or raises DeltaRefused, and so does reading from it. The snapshot envelope authenticates the
bytes; even bytes that are not authentic are only ever written into a guest's memory.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import zstandard

PAGE = 4096
_MAGIC = b"CMDL"
_VERSION = 1
_HEADER = struct.Struct("<4sB3x16sIIII")  # magic, version, build id, memory, patch, extents, payload
_EXTENT = struct.Struct("<II")  # first page, pages
MAX_MEMORY = (1 << 30) + (64 << 20)  # the largest guest: the biggest heap and the image
_FAST_ABOVE = 1 << 20  # above this, speed matters more than the ratio
_STREAM_ABOVE = 64 << 10
# Made once, because making one takes longer than a small delta. One guest at a time uses them in a process.
_packer, _fast_packer = zstandard.ZstdCompressor(level=3), zstandard.ZstdCompressor(level=-1)
_hasty_packer = zstandard.ZstdCompressor(level=-100)  # for what hardly shrinks: little more than a copy
_SAMPLES = 8  # pieces that are packed on trial
_SAMPLE_PAGES = 4
_unpacker = zstandard.ZstdDecompressor()


class DeltaRefused(Exception):
    """These bytes are not a delta for this guest image; nothing was restored."""

    code = "snapshot_restore_failed"


@dataclass(frozen=True, slots=True)
class Extent:
    """Whole pages from `page` on; `data` may be a view of memory, which must live only while encoding."""

    page: int
    data: bytes | memoryview


def encode(memory_bytes: int, patch: bytes, extents: Sequence[Extent], build_id: str) -> bytes:
    table = b"".join(_EXTENT.pack(e.page, len(e.data) // PAGE) for e in extents)
    size = len(table) + len(patch) + sum(len(e.data) for e in extents)
    header = _HEADER.pack(
        _MAGIC, _VERSION, _raw(build_id), memory_bytes >> 16, len(patch), len(extents), size
    )
    packer = (_packer if size < _FAST_ABOVE else _large_packer(extents)).compressobj(size=size)
    packed = (packer.compress(part) for part in (table + patch, *(e.data for e in extents)))
    return b"".join((header, *packed, packer.flush()))


def _large_packer(extents: Sequence[Extent]) -> zstandard.ZstdCompressor:
    """Packs some pieces on trial: what does not get smaller by a quarter is not worth the time."""
    pages = sum(len(e.data) for e in extents) // PAGE
    seen = sample = taken = made = 0
    for extent in extents:
        end = seen + len(extent.data) // PAGE
        while sample < _SAMPLES and (first := pages * sample // _SAMPLES) < end:
            start = (first - seen) * PAGE
            piece = extent.data[start : start + _SAMPLE_PAGES * PAGE]
            taken += len(piece)
            made += len(_fast_packer.compress(piece))
            sample += 1
        seen = end
    return _fast_packer if made * 4 < taken * 3 else _hasty_packer


class OpenDelta:
    """A delta whose head has been read. Call `read_extent` once for each of `extents`, in order."""

    def __init__(
        self, memory_bytes: int, patch: bytes, extents: list[tuple[int, int]], rest: _Payload
    ) -> None:
        self.memory_bytes = memory_bytes
        self.patch = patch
        self.extents = extents  # first page, pages
        self._rest = rest

    def read_extent(self, into: memoryview) -> None:
        self._rest.read_into(into)


def open_delta(
    data: bytes | bytearray | memoryview, build_id: str, max_memory: int = MAX_MEMORY
) -> OpenDelta:
    """Raises DeltaRefused for anything that `encode` did not make for this build."""
    if len(data) < _HEADER.size:
        raise DeltaRefused("too short")
    magic, version, build, pages64, patch, count, size = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise DeltaRefused("not a delta of this format")
    if build != _raw(build_id):
        raise DeltaRefused("made by another build of the guest")
    memory = pages64 << 16
    if memory > max_memory or size > 2 * memory or count * _EXTENT.size + patch > size:
        raise DeltaRefused("larger than a guest may be")
    payload = _Payload(memoryview(data)[_HEADER.size :], size)
    table: list[tuple[int, int]] = []
    body = size - count * _EXTENT.size - patch
    if count or body:  # nearly never in a small delta
        table += _EXTENT.iter_unpack(payload.read(count * _EXTENT.size))
        _check_table(table, memory, body)
    return OpenDelta(memory, payload.read(patch), table, payload)


@lru_cache(maxsize=8)
def _raw(build_id: str) -> bytes:
    return bytes.fromhex(build_id)


class _Payload:
    """The decompressed bytes, read in order; raises DeltaRefused for anything that is wrong with them."""

    def __init__(self, data: memoryview, size: int) -> None:
        self._reader: Any  # zstandard's stubs are incomplete
        if size > _STREAM_ABOVE:
            self._reader = _unpacker.stream_reader(data)
        else:
            self._reader = io.BytesIO(_unpack(data, size))

    def read(self, size: int) -> bytes:
        try:
            data = self._reader.read(size)
        except zstandard.ZstdError:
            raise DeltaRefused("damaged") from None
        if len(data) != size:
            raise DeltaRefused("cut off")
        return data

    def read_into(self, into: memoryview) -> None:
        done = 0
        while done < len(into):
            try:
                got = self._reader.readinto(into[done:])
            except zstandard.ZstdError:
                raise DeltaRefused("damaged") from None
            if not got:
                raise DeltaRefused("cut off")
            done += got


def _unpack(data: memoryview, size: int) -> bytes:
    try:
        if zstandard.frame_content_size(data) != size:  # the decompressor allocates what the frame announces
            raise DeltaRefused("damaged")
        return _unpacker.decompress(data)
    except zstandard.ZstdError:
        raise DeltaRefused("damaged") from None


def _check_table(table: list[tuple[int, int]], memory: int, body: int) -> None:
    if sum(pages for _, pages in table) * PAGE != body:
        raise DeltaRefused("its pages do not add up")
    if any((page + pages) * PAGE > memory for page, pages in table):
        raise DeltaRefused("its pages do not fit its memory")
    if any(after < page + pages for (page, pages), (after, _) in pairwise(table)):
        raise DeltaRefused("its pages are out of order")
