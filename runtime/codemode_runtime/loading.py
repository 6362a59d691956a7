"""Loads everything a checker's zygote needs before it is confined: parsers, and for TypeScript the compiler.

After confinement no file opens, so nothing may be left to load lazily. And all workers share what has run
once here, instead of each paying for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from codemode_runtime import image as images
from codemode_runtime.compile import preload_javascript
from codemode_runtime.confine import writable_bytes
from codemode_runtime.confine.kernel import this_kernel
from codemode_runtime.confine.layers import attempt
from codemode_runtime.confine.measures import death_signal
from codemode_runtime.image import Image
from codemode_runtime.zygote_wire import Flavour, Setup

# For frames in and out and the copies that a compiler makes, beside its guest's own memory.
_ROOM_BYTES = 256 << 20
_COPIES = 4


@dataclass(frozen=True, slots=True)
class Loaded:
    """`data_bytes` limits all writable memory of a worker, behind the guest's own limit."""

    build_id: str
    flavour: Flavour
    data_bytes: int
    confined: bool


def load(setup: Setup, trusted: bool, on_compile: Callable[[], None]) -> Loaded:
    """Takes milliseconds, and a second more if it calls `on_compile`. Raises ImageUnavailable.

    `trusted`: only the user can write to the cache folder.
    """
    preload_javascript()
    heap = setup.memory_bytes
    if setup.flavour == "typescript":
        heap = _load_compiler(setup, trusted, on_compile)
    room = _ROOM_BYTES + _COPIES * heap
    build_id = images.load_manifest().build_id
    return Loaded(build_id, setup.flavour, writable_bytes() + room, setup.confined)


def _load_compiler(setup: Setup, trusted: bool, on_compile: Callable[[], None]) -> int:
    """The heap of the compiler, which is a program in a guest."""
    # loads wasmtime, which no other flavour needs
    from codemode_runtime.compile import typescript
    from codemode_runtime.compiled import is_cached, load_machine

    image = images.load()
    cache = Path(setup.cache)
    if not (trusted and is_cached(image, cache)):
        on_compile()
        if trusted:
            _compile_apart(image, cache)
    return typescript.preload(load_machine(image, cache, trusted=trusted), image, setup.memory_bytes)


def _compile_apart(image: Image, cache: Path) -> None:
    """Compiles in a child: compiling starts threads, which would escape confinement and not survive a fork.

    If the cache cannot be written the child's work is lost, and `load` compiles again here.
    """
    from codemode_runtime.compiled import load_machine

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
