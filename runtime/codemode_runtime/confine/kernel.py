"""The seam to the operating system: raw system calls by name, and resource limits.

Everything that confinement does to the process goes through a `Kernel`, so that a test can take any one call
away. The real one is ctypes on libc's `syscall`; a system without our call table gets one that has no calls.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Final, Protocol

from codemode_runtime.confine.syscalls import Machine, numbers

try:
    import resource
except ImportError:  # Windows has no resource limits
    resource = None


class Kernel(Protocol):
    @property
    def machine(self) -> Machine:
        """The machine whose call numbers apply; OSError if we have no table for it."""
        ...

    def call(self, name: str, *arguments: int) -> int:
        """Make one system call; OSError if it fails. Pointers are addresses that the caller keeps alive."""
        ...

    def limit(self, name: str, value: int) -> int:
        """Lower soft and hard RLIMIT_<name> to `value` unless they are lower; return what now holds."""
        ...


class LinuxKernel:
    """libc's `syscall`, with the numbers of this machine."""

    __slots__ = ("_numbers", "_syscall", "machine")

    def __init__(self, machine: Machine) -> None:
        self.machine: Final = machine
        self._numbers = numbers(machine)
        syscall = ctypes.CDLL(None, use_errno=True).syscall
        syscall.argtypes = [ctypes.c_long] * 7
        syscall.restype = ctypes.c_long
        self._syscall: Callable[..., int] = syscall

    def call(self, name: str, *arguments: int) -> int:
        # All six arguments are passed: prctl refuses rubbish in those it does not use.
        padding = (0,) * (6 - len(arguments))
        result = self._syscall(self._numbers[name], *arguments, *padding)
        if result < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{name}: {errno.errorcode.get(number, number)} ({os.strerror(number)})")
        return result

    def limit(self, name: str, value: int) -> int:
        return lower_limit(name, value)


class AbsentKernel:
    """A system without our system calls; resource limits still work where POSIX has them."""

    __slots__ = ("_reason",)

    def __init__(self, reason: str) -> None:
        self._reason = reason

    @property
    def machine(self) -> Machine:
        raise OSError(errno.ENOSYS, self._reason)

    def call(self, name: str, *arguments: int) -> int:  # noqa: ARG002  the seam's shape
        raise OSError(errno.ENOSYS, self._reason)

    def limit(self, name: str, value: int) -> int:
        return lower_limit(name, value)


@cache
def this_kernel() -> Kernel:
    """The kernel under this process. Found once: a confined process may not ask again."""
    if sys.platform != "linux":
        return AbsentKernel(f"not Linux but {sys.platform}")
    machine = os.uname().machine
    if sys.maxsize < 2**32:
        return AbsentKernel(f"a 32-bit Python on {machine}")
    match machine:
        case "x86_64" | "aarch64":
            return LinuxKernel(machine)
        case _:
            return AbsentKernel(f"no system call table for {machine}")


def lower_limit(name: str, value: int) -> int:
    number: int | None = getattr(resource, f"RLIMIT_{name}", None)
    if resource is None or number is None:
        raise OSError(errno.ENOSYS, f"no RLIMIT_{name} here")
    _, hard = resource.getrlimit(number)
    lowered = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(number, (lowered, lowered))
    except ValueError as error:  # the module raises it for EPERM and EINVAL
        raise OSError(errno.EPERM, str(error)) from error
    return resource.getrlimit(number)[1]  # what the kernel shows, and not what it was asked for
