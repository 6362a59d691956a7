"""Data that host and worker both know: what a run is made of, what its value lost, layers of confinement.

It loads nothing of WebAssembly, so that the host can import it.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from typing import Literal, Protocol

from msgspec import Struct

LayerStatus = Literal["active", "missing", "failed"]


class Lookup(enum.IntEnum):
    """What the guest may ask of the run descriptor; the answers are JSON."""

    ALL_TOOLS = 0
    TOOL = 1
    TOOL_NAMES = 2
    SERVER = 3
    SERVERS = 4
    API_LIST = 5
    API_READ = 6
    API = 7
    NAMESPACES = 8


class Stop(enum.IntEnum):
    """Why a guest was ended, in a way that no program can catch."""

    ENGINE = 0  # a trap that we did not cause: a defect of the engine
    MEMORY = 1
    OUTPUT = 2
    CALLS = 3
    ABORT = 4  # the engine's own abort(): a broken invariant
    STACK = 5
    MESSAGES = 6  # it sent more at once than a worker forwards


class GuestOffer(Protocol):
    """What a run offers its program; runtime/README.md has the shape of each answer.

    `bare`: the program sees the language, console and its namespaces, nothing else.
    """

    @property
    def has_namespaces(self) -> bool: ...
    @property
    def bare(self) -> bool: ...
    def lookup(self, kind: Lookup, key: str) -> bytes | None: ...


class EmptyDescriptor:
    """A run without tools."""

    has_namespaces = False
    bare = False

    def lookup(self, kind: Lookup, key: str) -> bytes | None:  # noqa: ARG002 - the protocol's shape
        return None


MAX_OUTPUT_ITEMS = 20_000  # of one result
MAX_OUTLINE = 2_048  # bytes that say how a value looks that is too large
MAX_TIMERS = 1_000  # at once, and as many yields
MAX_REASON = 1_000  # bytes of the text given to yield_control
MAX_IGNORED = 120  # bytes of the name of what was ignored: a locale, a time zone, an option


class Limits(Struct, frozen=True):
    memory_bytes: int = 64 << 20
    output_bytes: int = 64 << 10
    pending_calls: int = 16
    message_bytes: int = 16 << 20


class Layer(Struct, frozen=True, forbid_unknown_fields=True):
    """One mechanism of confinement. `missing`: this system does not have it. `failed`: it has, and said no;
    `detail` says why."""

    name: str
    status: LayerStatus
    detail: str


class LossyValue(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the final value that JSON cannot hold as it was."""

    path: str
    kind: str


class Settlement(Struct, frozen=True):
    """The end of one piece of host work. `json` is the value, or {name, message, code, data} if rejected."""

    id: int
    json: bytes = b"null"
    rejected: bool = False


_SETTLEMENT = struct.Struct("<III")


def pack_settlements(settlements: Sequence[Settlement]) -> bytes:
    """Packs them as the guest reads them (`cm_deliver`, runtime/shim/abi.c); the worker passes them on."""
    parts: list[bytes] = []
    for settled in settlements:
        size = len(settled.json)
        parts += (
            _SETTLEMENT.pack(settled.id, settled.rejected, size),
            settled.json,
            b"\0" * (4 - size % 4),
        )
    return b"".join(parts)
