"""The messages between the host and a zygote. Both ends are ours: no guest can send any.

What the host says has a fixed layout, which C reads too (runtime/runner/zygote.c); a zygote answers in JSON.
"""

from __future__ import annotations

import os
import struct
from typing import Literal

import msgspec
from msgspec import Struct

from codemode_runtime.frames import FrameRefused
from codemode_runtime.shapes import Layer
from codemode_runtime.wire import Message

# The first runs programs. The others check texts: JavaScript that may be something else, and TypeScript.
Flavour = Literal["javascript", "typescript", "source"]
_SETUP, _SPAWN, _KILL = 1, 2, 3
_CONFINED, _FORKS = 1, 2
_FLAVOURS: tuple[Flavour, ...] = ("javascript", "typescript", "source")
_HEAD = struct.Struct("<BBBxI")  # kind, flags or hurry, flavour; bytes of memory or a token


class Setup(Struct, frozen=True):
    """The first message. Without `fork` the process itself becomes its only worker."""

    flavour: Flavour
    cache: str
    confined: bool
    memory_bytes: int
    fork: bool


class Spawn(Struct, frozen=True):
    """The worker's end of its socket travels with the frame. `hurry`: a leg is already waiting for it."""

    token: int
    hurry: bool


class Kill(Struct, frozen=True):
    token: int


class Compiling(Message, frozen=True):
    """The machine code is not in the cache; this start takes a second longer."""


class Unavailable(Message, frozen=True):
    message: str


class ZygoteReady(Message, frozen=True):
    build_id: str
    layers: tuple[Layer, ...]


class Spawned(Message, frozen=True):
    token: int
    pid: int


class NotSpawned(Message, frozen=True):
    """The system refused the process: too many of them, or no memory. Other workers go on."""

    token: int
    reason: str


class Exited(Message, frozen=True):
    """`status` as in subprocess: the exit code, or minus the signal's number."""

    token: int
    status: int


ToZygote = Setup | Spawn | Kill
FromZygote = Compiling | Unavailable | ZygoteReady | Spawned | NotSpawned | Exited

_from_zygote = msgspec.json.Decoder(FromZygote)


def encode(order: ToZygote) -> bytes:
    match order:
        case Setup(flavour, cache, confined, memory_bytes, fork):
            flags = _CONFINED * confined | _FORKS * fork
            return _HEAD.pack(_SETUP, flags, _FLAVOURS.index(flavour), memory_bytes) + os.fsencode(cache)
        case Spawn(token, hurry):
            return _HEAD.pack(_SPAWN, hurry, 0, token)
        case Kill(token):
            return _HEAD.pack(_KILL, 0, 0, token)


def read_as_zygote(head: bytes) -> ToZygote:
    words: tuple[int, int, int, int] = _HEAD.unpack_from(head)
    kind, flags, flavour, number = words
    match kind:
        case 1:
            cache, confined, forks = os.fsdecode(head[_HEAD.size :]), flags & _CONFINED, flags & _FORKS
            return Setup(_FLAVOURS[flavour], cache, bool(confined), number, bool(forks))
        case 2:
            return Spawn(number, bool(flags))
        case 3:
            return Kill(number)
        case _:
            raise FrameRefused(f"an order of kind {kind}")


def read_zygote(head: bytes) -> FromZygote:
    return _from_zygote.decode(head)
