"""The messages between the host and a zygote. Both ends are ours: no guest can send any."""

from __future__ import annotations

from typing import Literal

import msgspec

from codemode_runtime.shapes import Layer
from codemode_runtime.wire import Message

Flavour = Literal["javascript", "typescript"]


class Setup(Message, frozen=True):
    """The first message. Without `fork` the process itself becomes its only worker."""

    flavour: Flavour
    cache: str
    confined: bool
    memory_bytes: int
    fork: bool


class Spawn(Message, frozen=True):
    """The worker's end of its socket travels with the frame. `hurry`: a leg is already waiting for it."""

    token: int
    hurry: bool


class Kill(Message, frozen=True):
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

_to_zygote = msgspec.json.Decoder(ToZygote)
_from_zygote = msgspec.json.Decoder(FromZygote)


def read_as_zygote(head: bytes) -> ToZygote:
    return _to_zygote.decode(head)


def read_zygote(head: bytes) -> FromZygote:
    return _from_zygote.decode(head)
