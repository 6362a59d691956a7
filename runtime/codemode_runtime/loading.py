"""Loads everything a zygote needs before it is confined: machine code, parsers, and every path a leg will
take.

After confinement no file opens, so nothing may be left to load lazily. And all workers share what has run
once here, instead of each paying for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codemode_runtime import image as images
from codemode_runtime.compile import preload_javascript, prepare
from codemode_runtime.compiled import is_cached, load_machine
from codemode_runtime.confine import writable_bytes
from codemode_runtime.confine.kernel import this_kernel
from codemode_runtime.confine.layers import attempt
from codemode_runtime.confine.measures import death_signal
from codemode_runtime.guest import Guest, find_hot_pages
from codemode_runtime.image import Image
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wasm import Machine
from codemode_runtime.zygote_wire import Flavour, Setup

# For frames in and out and the copies that a capture makes, beside the guest's own memory.
_ROOM_BYTES = 256 << 20
_COPIES = 4


@dataclass(frozen=True, slots=True)
class Loaded:
    """`data_bytes` limits all writable memory of a worker, behind the guest's own limit."""

    machine: Machine
    image: Image
    hot: Sequence[tuple[int, int]]  # the memory that most programs write
    memory_bytes: int
    data_bytes: int
    confined: bool

    def make_guest(self) -> Guest:
        guest = Guest(self.machine, self.image, Limits(memory_bytes=self.memory_bytes))
        guest.warm(self.hot)
        return guest


def load(setup: Setup, trusted: bool, on_compile: Callable[[], None]) -> Loaded:
    """Takes milliseconds, and a second more if it calls `on_compile`. Raises ImageUnavailable.

    `trusted`: only the user can write to the cache folder.
    """
    image = images.load()
    cache = Path(setup.cache)
    if not (trusted and is_cached(image, cache)):
        on_compile()
        if trusted:
            _compile_apart(image, cache)
    machine = load_machine(image, cache, trusted=trusted)
    heap = _preload(setup.flavour, machine, image, setup.memory_bytes)
    room = _ROOM_BYTES + _COPIES * heap
    hot = find_hot_pages(machine, image)
    loaded = Loaded(machine, image, hot, setup.memory_bytes, writable_bytes() + room, setup.confined)
    _rehearse(loaded)
    return loaded


def _compile_apart(image: Image, cache: Path) -> None:
    """Compiles in a child: compiling starts threads, which would escape confinement and not survive a fork.

    If the cache cannot be written the child's work is lost, and `load` compiles again here.
    """
    if not hasattr(os, "fork"):
        return
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            attempt("death_signal", lambda: death_signal(this_kernel(), parent))
            load_machine(image, cache)
        finally:
            os._exit(0)
    os.waitpid(child, 0)


def _preload(flavour: Flavour, machine: Machine, image: Image, memory_bytes: int) -> int:
    """The largest heap of a guest in this flavour: a program's, or the compiler's."""
    preload_javascript()
    if flavour == "javascript":
        return memory_bytes
    from codemode_runtime.compile import typescript

    return typescript.preload(machine, image, memory_bytes)


def _rehearse(loaded: Loaded) -> None:
    guest = loaded.make_guest()
    prepared = prepare("return await tools.call('rehearsal')", "javascript")
    guest.start(prepared.code)
    delta = guest.capture()
    guest.close()
    guest = loaded.make_guest()
    guest.restore(delta, Limits(memory_bytes=loaded.memory_bytes))
    guest.deliver([Settlement(1, b"null")])
    guest.read_messages()
    guest.close()
