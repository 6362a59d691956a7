"""Resource limits of a zygote and of a worker, and the memory that the limit starts from.

Memory is limited by RLIMIT_DATA: it counts private writable mappings, so a guest's 4 GiB reservation is free
until the guest grows into it. RLIMIT_AS counts the reservation too, and what is only mapped to be read: it
bounds the page tables, of which a process that touches terabytes of nothing has gigabytes. The stack counts
for neither and has its own limit. RLIMIT_NPROC does not bind uid 0: there only seccomp refuses forks.
"""

import os
from typing import Final

from codemode_runtime.confine.kernel import Kernel
from codemode_runtime.confine.layers import Layer

# Never a core file, never a byte written to a regular file, no locked memory, no message queues.
ZYGOTE_LIMITS: Final[dict[str, int]] = {"CORE": 0, "FSIZE": 0, "MEMLOCK": 0, "MSGQUEUE": 0}

# Of all mappings, so that page tables have 64 MiB at most. A guest reserves 4 GiB and what guards it, and the
# next may come before it has gone.
MAX_ADDRESS_BYTES: Final = 32 << 30
MAX_STACK_BYTES: Final = 96 << 20

_DATA_FIELD: Final = 5  # of /proc/self/statm, in pages


def worker_limits(
    memory_bytes: int, cpu_seconds: int, address_bytes: int, stack_bytes: int
) -> dict[str, int]:
    """Allows no further thread, process or descriptor."""
    return {
        "DATA": memory_bytes,
        "AS": address_bytes,
        "STACK": stack_bytes,
        "CPU": cpu_seconds,
        "NPROC": 0,
        "NOFILE": leading_descriptors(),
    }


def leading_descriptors() -> int:
    """How many descriptors from 0 on are open without a gap: the lowest limit under which poll() works.

    New descriptors take the lowest free number, so with this limit none can be opened; with 0 poll() fails.
    """
    count = 0
    while _is_open(count):
        count += 1
    return count


def apply_limits(kernel: Kernel, limits: dict[str, int]) -> Layer:
    """Lower each limit; one that cannot be lowered does not stop the others."""
    held: list[str] = []
    refused: list[str] = []
    for name, value in limits.items():
        try:
            shown = kernel.limit(name, value)
            if 0 <= shown <= value:  # below 0: none
                held.append(f"{name.lower()} {shown}")
            else:
                refused.append(f"{name.lower()}: the kernel shows {shown}")
        except OSError as error:
            refused.append(f"{name.lower()}: {error.strerror}")
    if refused:
        return Layer("limits", "failed" if held else "missing", "; ".join(refused))
    return Layer("limits", "active", ", ".join(held))


def writable_bytes() -> int:
    """What RLIMIT_DATA counts in this process now; 0 without /proc. A confined process cannot ask."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            pages = int(statm.read().split()[_DATA_FIELD])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _is_open(descriptor: int) -> bool:
    try:
        os.get_inheritable(descriptor)
    except OSError:
        return False
    return True
