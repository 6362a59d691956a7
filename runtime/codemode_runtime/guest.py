"""One program in one VM: starts it, runs it until it is done, failed or idle, delivers, captures, restores.

It knows nothing of processes or sockets. Each leg is: start or restore, then deliver until the outcome is
final; the caller does what the messages of an idle guest ask for. The C side is runtime/shim, which defines
the block layout and the numbers below (tests/runtime/test_abi.py compares them with shim.h).
"""

from __future__ import annotations

import os
import struct
from collections.abc import Sequence

from codemode_runtime import delta as deltas
from codemode_runtime.delta import PAGE, DeltaRefused, Extent
from codemode_runtime.frames import Data
from codemode_runtime.image import Image
from codemode_runtime.shapes import (
    EmptyDescriptor,
    GuestOffer,
    Limits,
    Lookup,
    Settlement,
    Stop,
    pack_settlements,
)
from codemode_runtime.wasm import GuestTrap, Instance, Machine, OutOfBounds
from codemode_runtime.wire import Done, Idle, Interrupted, Stopped, Threw

_BLOCK = struct.Struct("<15I")
_SETTINGS_AT = _BLOCK.size  # the fields the host writes follow: interrupt, limits
_SETTINGS = struct.Struct("<7I")
_RANGE = struct.Struct("<II")
# room in linear memory beside the heap: fragmentation at the end, growth in steps
_SLACK = 8 << 20


GuestOutcome = Idle[bytes] | Done[bytes, bytes] | Threw[bytes, bytes] | Stopped[bytes] | Interrupted[bytes]


class Guest:
    """A VM, from creation to `close`. After a Stopped or Interrupted outcome only `close` is left."""

    def __init__(
        self, machine: Machine, image: Image, limits: Limits, descriptor: GuestOffer | None = None
    ) -> None:
        self._build_id = image.build_id
        self._scratch, self._scratch_bytes = image.scratch, image.scratch_bytes
        self._descriptor = descriptor or EmptyDescriptor()
        room = image.memory_bytes + limits.memory_bytes + _SLACK
        self._instance: Instance = machine.instantiate(room, self._look_up)
        self._block = self._instance.view(image.block, _BLOCK.size + _SETTINGS.size)
        self._set_limits(limits)

    def start(self, program: str, *, keeps: bool = False) -> GuestOutcome:
        """Compiles and runs the text as the body of a strict async function; with `keeps` in a world, also
        in one that was restored at rest."""
        code = program.encode(errors="replace")
        flags = self._descriptor.has_namespaces | self._descriptor.bare << 1 | keeps << 2
        return self._enter(code, b"cm_start", flags, _seed())

    def deliver(self, settlements: Sequence[Settlement]) -> GuestOutcome:
        """Settles in the given order; each one's consequences run before the next is delivered."""
        return self.deliver_packed(pack_settlements(settlements))

    def deliver_packed(self, settlements: Data) -> GuestOutcome:
        """The same, with what `pack_settlements` made."""
        return self._enter(settlements, b"cm_deliver")

    def rest(self) -> bytes:
        """After Done: leaves the world, for `capture` or another `start`. Returns pairs of names and types,
        as JSON."""
        self._instance.call(b"cm_rest")
        at, _, size = self._read_block()[10:13]
        return b"[" + self._instance.read(at, size) + b"]"

    def capture(self) -> bytes:
        """The delta of an idle guest, which can go on afterwards. Raises OutOfBounds if its plan is a lie."""
        self._instance.call(b"cm_capture")
        patch_at, _, patch_len, extents_at, extents_len = self._read_block()[10:15]
        plan = self._instance.read(extents_at, extents_len * _RANGE.size)
        extents: list[Extent] = []
        before = 0  # ranges must ascend without overlap, or their sum could be anything
        for start, end in _RANGE.iter_unpack(plan):
            if start % PAGE or end % PAGE or start >= end or start < before:
                raise OutOfBounds(f"capture range {start:#x}-{end:#x}")
            before = end
            extents.append(Extent(start // PAGE, self._instance.view(start, end - start)))
        patch = self._instance.read(patch_at, patch_len)
        return deltas.encode(self._instance.size(), patch, extents, self._build_id)

    def restore(self, delta: bytes | bytearray | memoryview, limits: Limits) -> None:
        """Puts a captured state into this fresh VM. Raises DeltaRefused, or MemoryError over the limit."""
        found = deltas.open_delta(delta, self._build_id)
        self._instance.grow_to(found.memory_bytes)
        if len(found.patch) > self._scratch_bytes:
            raise DeltaRefused("its patch is too large")
        for page, pages in found.extents:
            self._instance.populate(page * PAGE, pages * PAGE)
            found.read_extent(self._instance.view(page * PAGE, pages * PAGE))
        self._instance.write(self._scratch, found.patch)
        try:
            refused = self._instance.call(b"cm_restore", len(found.patch), _seed())
        except GuestTrap:
            refused = 1
        if refused:
            raise DeltaRefused("its patch is damaged")
        if self._read_block()[9] > limits.memory_bytes:
            raise MemoryError("it holds more than the memory limit of today")
        self._set_limits(limits)

    def interrupt(self) -> None:
        """Stops the program at its next poll. Safe from any thread while the guest runs."""
        self._block[_SETTINGS_AT] = 1

    def read_messages(self) -> bytes:
        """What the guest has sent so far, as a JSON array; safe from another thread while the guest runs."""
        return self._messages(self._read_block())

    def read_memory(self) -> bytes:
        return self._instance.read(0, self._instance.size())

    def close(self) -> None:
        self._block.release()
        self._instance.close()

    def _look_up(self, kind: int, key: str) -> bytes | None:
        return self._descriptor.lookup(Lookup(kind), key)

    def _set_limits(self, limits: Limits) -> None:
        output = limits.output_bytes, 0, 0  # the limit, then bytes and items used so far
        words = (0, limits.memory_bytes, *output, limits.pending_calls, limits.message_bytes)
        _SETTINGS.pack_into(self._block, _SETTINGS_AT, *words)

    def _enter(self, inbox: Data, function: bytes, *arguments: int) -> GuestOutcome:
        instance, size = self._instance, len(inbox)
        try:
            at = self._scratch
            if size >= self._scratch_bytes:
                at = instance.call(b"cm_inbox", size) & 0xFFFFFFFF
            instance.write(at, b"%b\0" % inbox)
            status = instance.call(function, at, size, *arguments)
        except GuestTrap as trap:
            return self._stopped(trap)
        return self._outcome(status)

    def _stopped(self, trap: GuestTrap) -> Stopped[bytes]:
        block = self._read_block()
        try:
            reason = Stop.STACK if trap.stack_exhausted else Stop(block[0])
        except ValueError:
            reason = Stop.ENGINE
        return Stopped(self._messages(block), reason)

    def _outcome(self, status: int) -> GuestOutcome:
        block = self._read_block()
        _, _, _, result_at, result_len, calls, timers, yields, returned = block[:9]
        messages = self._messages(block)
        match status:
            case 0:
                return Idle(messages, bool(returned), calls, timers, yields)
            case 1:
                return Done(messages, self._instance.read(result_at, result_len))
            case 2:
                return Threw(messages, self._instance.read(result_at, result_len))
            case 3:
                return Interrupted(messages)
            case _:
                raise OutOfBounds(f"status {status}")

    def _read_block(self) -> tuple[int, ...]:
        return _BLOCK.unpack_from(self._block)

    def _messages(self, block: tuple[int, ...]) -> bytes:
        return b"[" + self._instance.read(block[1], block[2]) + b"]"


def _seed() -> int:
    return int.from_bytes(os.urandom(8), "little", signed=True)
