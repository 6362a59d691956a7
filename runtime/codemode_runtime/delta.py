"""Deltas: the bytes of a paused guest, as the difference to its pristine image. Pure.

A delta holds the guest's own patch against the image (opaque here) and extents of heap beyond it.
`decode` accepts any bytes and either answers or raises DeltaRefused. Whether the bytes are authentic is
the snapshot envelope's concern; whatever they are, they are only ever written into a guest's memory.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from itertools import pairwise

import zstandard

PAGE = 4096
_MAGIC = b"CMDL"
_VERSION = 1
_HEADER = struct.Struct("<4sB3x16sIIII")  # magic, version, build id, memory, patch, extents, payload
_EXTENT = struct.Struct("<II")  # first page, pages
MAX_MEMORY = (1 << 30) + (64 << 20)  # the largest guest: the biggest heap and the image
_FAST_ABOVE = 1 << 20  # from here on speed counts for more than ratio


class DeltaRefused(Exception):
    """These bytes are no delta for this guest image; nothing was restored."""

    code = "snapshot_restore_failed"


@dataclass(frozen=True, slots=True)
class Extent:
    """Consecutive pages from `page` on."""

    page: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Delta:
    memory_bytes: int
    patch: bytes
    extents: tuple[Extent, ...]


def encode(delta: Delta, build_id: str) -> bytes:
    table = [_EXTENT.pack(e.page, len(e.data) // PAGE) for e in delta.extents]
    payload = b"".join((*table, delta.patch, *(e.data for e in delta.extents)))
    sizes = delta.memory_bytes >> 16, len(delta.patch), len(delta.extents), len(payload)
    header = _HEADER.pack(_MAGIC, _VERSION, bytes.fromhex(build_id), *sizes)
    level = 3 if len(payload) < _FAST_ABOVE else -1
    return header + zstandard.ZstdCompressor(level=level, write_content_size=True).compress(payload)


def decode(data: bytes, build_id: str, max_memory: int = MAX_MEMORY) -> Delta:
    """Raises DeltaRefused for anything that `encode` did not make for this build."""
    if len(data) < _HEADER.size:
        raise DeltaRefused("too short")
    magic, version, build, pages64, patch, count, size = _HEADER.unpack_from(data)
    if magic != _MAGIC or version != _VERSION:
        raise DeltaRefused("not a delta of this format")
    if build != bytes.fromhex(build_id):
        raise DeltaRefused("made by another build of the guest")
    memory = pages64 << 16
    table_end = count * _EXTENT.size
    if memory > max_memory or size > 2 * memory or table_end + patch > size:
        raise DeltaRefused("larger than a guest may be")
    payload = _decompress(data[_HEADER.size :], size)
    table = [_EXTENT.unpack_from(payload, at) for at in range(0, table_end, _EXTENT.size)]
    _check_table(table, memory, size - table_end - patch)
    extents: list[Extent] = []
    at = table_end + patch
    for page, pages in table:
        extents.append(Extent(page, payload[at : at + pages * PAGE]))
        at += pages * PAGE
    return Delta(memory, payload[table_end : table_end + patch], tuple(extents))


def _decompress(data: bytes, size: int) -> bytes:
    try:
        if zstandard.frame_content_size(data) != size:
            raise DeltaRefused("damaged")
        payload = zstandard.ZstdDecompressor().decompress(data, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError:
        raise DeltaRefused("damaged") from None
    if len(payload) != size:
        raise DeltaRefused("cut off")
    return payload


def _check_table(table: list[tuple[int, int]], memory: int, body: int) -> None:
    if sum(pages for _, pages in table) * PAGE != body:
        raise DeltaRefused("its pages do not add up")
    if any((page + pages) * PAGE > memory for page, pages in table):
        raise DeltaRefused("its pages do not fit its memory")
    if any(after < page + pages for (page, pages), (after, _) in pairwise(table)):
        raise DeltaRefused("its pages are out of order")
