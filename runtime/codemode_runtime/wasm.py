"""The guest's WebAssembly: instances, memory, raw calls. Beside it only compiled.py uses wasmtime for guests.

It uses the raw C bindings on the hot path: a call through them costs 2 us against 18 us, and looking up one
export costs 3 us against 0.4 ms for wrapping all of them. One guest computes at a time in a process, because
wasmtime-py keeps callbacks in process globals. guest.py and compiled.py call it.
"""

from __future__ import annotations

import ctypes
import os
import resource
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, cast

import wasmtime
from wasmtime import _bindings  # pyright: ignore[reportPrivateUsage] - see the module docstring

raw: Any = _bindings  # generated, with types too loose to check against

Lookup = Callable[[int, str], bytes | None]

# QuickJS watches its own stack (2 MiB of linear memory); compiled code uses up to ten times that of native
# stack. With these two, deep recursion is a RangeError of the program and never a trap.
WASM_STACK = 48 << 20
NATIVE_STACK = 96 << 20
PAGE = 4096
WASM_PAGE = 65536


# A page fault costs microseconds, and a thousand pages in one call not much more. Kernels before 5.14 refuse
# (EINVAL), and the pages are then faulted in one by one as usual.
_POPULATE_WRITE = 23
_madvise = ctypes.CDLL(None, use_errno=True).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


_NO_FINALIZER: Any = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(0)


# The arguments of one call, and its result in the first. Made once, because making it takes as long as a
# call; packed as bytes, because an object for each argument would take half as long as a call.
_MAX_VALUES = 4
_VALUES: Any = raw.wasmtime_val_raw * _MAX_VALUES
_WORD = f"q{ctypes.sizeof(raw.wasmtime_val_raw) - 8}x"
_ARGUMENTS = [struct.Struct("<" + _WORD * count) for count in range(_MAX_VALUES + 1)]
_RESULT = struct.Struct("<i")
_call: Any = raw.wasmtime_func_call_unchecked


def _trap_pointer() -> Any:
    return cast("Any", ctypes.POINTER(raw.wasm_trap_t)())


class GuestTrap(Exception):
    """The guest stopped for good: a limit of ours, exhausted native stack, or a defect of the engine."""

    def __init__(self, stack_exhausted: bool) -> None:
        super().__init__("the guest trapped")
        self.stack_exhausted = stack_exhausted


class OutOfBounds(Exception):
    """The guest named memory that it does not have; nothing that it says can be trusted."""


def new_engine(*, compiles_alone: bool = False) -> wasmtime.Engine:
    """An engine with our one configuration; compiled code is only valid for it.

    `compiles_alone`: compiles without helper threads, which would stay in a process that is going to fork.
    """
    config = wasmtime.Config()
    if compiles_alone:
        config.parallel_compilation = False
    config.cranelift_opt_level = "speed"
    config.memory_init_cow = True
    stack = min(WASM_STACK, _native_stack() - (4 << 20))
    # a max_wasm_stack above this would abort the process; Config lacks the setter
    raw.wasmtime_config_async_stack_size_set(config.ptr(), stack + (1 << 20))
    config.max_wasm_stack = stack
    return wasmtime.Engine(config)


def _native_stack() -> int:
    """Lets the main thread's stack grow as far as it may; Linux honours that while the process runs.

    A max_wasm_stack beyond the real stack would crash. Other threads get their stack when they start: use
    threading.stack_size(NATIVE_STACK) for those that run guests.
    """
    if threading.current_thread() is not threading.main_thread():
        return NATIVE_STACK
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    want = NATIVE_STACK if hard == resource.RLIM_INFINITY else min(NATIVE_STACK, hard)
    if soft != resource.RLIM_INFINITY and soft < want:
        resource.setrlimit(resource.RLIMIT_STACK, (want, hard))
    return want


class Machine:
    """A compiled guest that can be instantiated any number of times, one after the other."""

    def __init__(self, engine: wasmtime.Engine, module: wasmtime.Module) -> None:
        self._engine = engine
        self._module = module
        linker = wasmtime.Linker(engine)
        i32, f64 = wasmtime.ValType.i32(), wasmtime.ValType.f64()
        for name, params, results, function in (
            ("random", [i32, i32], [], self._random),
            ("lookup", [i32, i32, i32], [i32], self._lookup),
            ("lookup_read", [i32], [], self._lookup_read),
        ):
            linker.define_func("codemode", name, wasmtime.FuncType(params, results), function)
        self._clock = _define_clock(linker, wasmtime.FuncType([i32], [f64]))
        self._linker = linker
        self._pre = linker.instantiate_pre(module)
        self._running: Instance | None = None
        self._trap = _trap_pointer()  # a call that traps writes here; each trap needs a new one
        self._trap_at = ctypes.byref(self._trap)

    def instantiate(self, memory_limit: int, lookup: Lookup) -> Instance:
        return Instance(self, self._engine, self._pre, memory_limit, lookup)

    def run(self, instance: Instance, function: Any, values: Any) -> None:
        """Makes one raw call; host functions find the running instance here."""
        self._running = instance
        if self._trap:  # a signal handler raised before the trap of the last call was looked at
            self._trap = _trap_pointer()
            self._trap_at = ctypes.byref(self._trap)
        trap = self._trap
        try:
            error = _call(instance.context, function, values, _MAX_VALUES, self._trap_at)
        finally:
            self._running = None
        if error:
            raise wasmtime.WasmtimeError._from_ptr(error)  # pyright: ignore[reportPrivateUsage]
        if trap:
            self._trap = _trap_pointer()
            self._trap_at = ctypes.byref(self._trap)
            stopped: Any = wasmtime.Trap._from_ptr(trap)  # pyright: ignore[reportPrivateUsage]
            if instance.host_error is not None:
                raise instance.host_error
            raise GuestTrap(stopped.trap_code == wasmtime.TrapCode.STACK_OVERFLOW)

    def _random(self, at: int, size: int) -> None:
        self._guard(
            lambda guest: guest.write(at & 0xFFFFFFFF, os.urandom(size & 0xFFFFFFFF)), size & 0xFFFFFFFF
        )

    def _lookup(self, kind: int, at: int, size: int) -> int:
        return self._guard(
            lambda guest: guest.look_up(kind, at & 0xFFFFFFFF, size & 0xFFFFFFFF), size & 0xFFFFFFFF
        )

    def _lookup_read(self, at: int) -> None:
        self._guard(lambda guest: guest.write(at & 0xFFFFFFFF, guest.answer), 0)

    def _guard(self, action: Callable[[Instance], Any], size: int) -> Any:
        """Keeps an exception for `run`, because it must not travel through wasmtime's process global."""
        guest = self._running
        assert guest is not None
        try:
            guest.check(0, size)
            return action(guest)
        except Exception as error:
            guest.host_error = error
            raise


def _define_clock(linker: wasmtime.Linker, kind: wasmtime.FuncType) -> object:
    """Defines the import that every leg calls, in the raw way: 3 us against 25. Keep what it returns."""

    def now(_env: Any, _caller: Any, slots: Any, _count: int) -> int:
        slot = slots[0]
        slot.f64 = time.monotonic() * 1000 if slot.i32 else time.time() * 1000
        return 0  # no trap

    callback = raw.wasmtime_func_unchecked_callback_t(now)
    names = [ctypes.create_string_buffer(name, len(name)) for name in (b"codemode", b"now")]
    error = raw.wasmtime_linker_define_func_unchecked(
        linker.ptr(), names[0], 8, names[1], 3, kind.ptr(), callback, None, _NO_FINALIZER
    )
    if error:
        raise wasmtime.WasmtimeError._from_ptr(error)  # pyright: ignore[reportPrivateUsage]
    return callback


class Instance:
    """One guest's memory and functions. Everything read from it is untrusted."""

    def __init__(
        self,
        machine: Machine,
        engine: wasmtime.Engine,
        pre: wasmtime.InstancePre,
        memory_limit: int,
        lookup: Lookup,
    ) -> None:
        self._machine = machine
        self._store = wasmtime.Store(engine)
        self._store.set_limits(memory_size=memory_limit, instances=1, memories=1, tables=1)
        self.context = self._store._context()  # pyright: ignore[reportPrivateUsage]
        self._lookup = lookup
        self.answer = b""
        self.host_error: Exception | None = None
        self._functions: dict[bytes, tuple[Any, Any]] = {}  # a function, and the reference to pass
        self._values = _VALUES()
        self._known_size = 0
        trap = _trap_pointer()
        self._instance = raw.wasmtime_instance_t()
        error = raw.wasmtime_instance_pre_instantiate(
            pre.ptr(), self.context, ctypes.byref(self._instance), ctypes.byref(trap)
        )
        if error or trap:
            self.close()
            raise MemoryError("the guest could not be instantiated")
        self._memory = self._export(b"memory").of.memory
        self.base = ctypes.addressof(
            raw.wasmtime_memory_data(self.context, ctypes.byref(self._memory)).contents
        )

    def close(self) -> None:
        """Frees the memory; without this wasmtime-py leaks the instance for good."""
        self._functions.clear()
        self._store.close()

    def call(self, name: bytes, *arguments: int) -> int:
        """Calls an export with 32- and 64-bit integers; returns its 32-bit result, if it has one."""
        function = self._functions.get(name) or self.find(name)
        values = self._values
        _ARGUMENTS[len(arguments)].pack_into(values, 0, *arguments)
        self._machine.run(self, function[1], values)
        return _RESULT.unpack_from(values)[0]

    def find(self, name: bytes) -> tuple[Any, Any]:
        """Finds an exported function; `call` does this the first time, which takes longer than the call."""
        found = self._export(name).of.func
        function = self._functions[name] = (found, ctypes.byref(found))
        return function

    def size(self) -> int:
        return raw.wasmtime_memory_data_size(self.context, ctypes.byref(self._memory))

    def grow_to(self, size: int) -> None:
        """Raises MemoryError if the memory limit forbids it."""
        if size <= self._known_size:
            return
        missing = size - self.size()
        if missing > 0:
            previous = ctypes.c_uint64()
            pages = (missing + WASM_PAGE - 1) // WASM_PAGE
            error = raw.wasmtime_memory_grow(
                self.context, ctypes.byref(self._memory), pages, ctypes.byref(previous)
            )
            if error:
                wasmtime.WasmtimeError._from_ptr(error)  # pyright: ignore[reportPrivateUsage] - frees it
                raise MemoryError("the memory limit forbids it")

    def check(self, at: int, size: int) -> None:
        if at + size <= self._known_size:  # memory only grows
            return
        self._known_size = self.size()
        if at + size > self._known_size:
            raise OutOfBounds(f"{size} bytes at {at:#x}")

    def read(self, at: int, size: int) -> bytes:
        self.check(at, size)
        return ctypes.string_at(self.base + at, size)

    def view(self, at: int, size: int) -> memoryview:
        """The memory itself, to read and write; do not use it after the guest is closed."""
        self.check(at, size)
        return memoryview((ctypes.c_char * size).from_address(self.base + at)).cast("B")

    def write(self, at: int, data: bytes) -> None:
        self.check(at, len(data))
        ctypes.memmove(self.base + at, data, len(data))

    def populate(self, at: int, size: int) -> None:
        """Maps whole pages now that will be written later; this only affects speed."""
        self.check(at, size)
        _madvise(self.base + at, size, _POPULATE_WRITE)

    def look_up(self, kind: int, at: int, size: int) -> int:
        answer = self._lookup(kind, self.read(at, size).decode(errors="replace"))
        if answer is None:
            return -1
        self.answer = answer
        return len(answer)

    def _export(self, name: bytes) -> Any:
        item = raw.wasmtime_extern_t()
        if not raw.wasmtime_instance_export_get(
            self.context,
            ctypes.byref(self._instance),
            ctypes.create_string_buffer(name),
            len(name),
            ctypes.byref(item),
        ):
            raise LookupError(f"the guest has no export {name.decode()}")
        return item
