"""The three stages of confinement, and the order of the measures in each.

    prepare_zygote    first thing in the process: what must not wait for, or survive, the loading of libraries
    confine_zygote    wasmtime and the guest are loaded and instantiated once: from here on no file opens
    confine_worker    in each fork, after its last thread has started and before it runs a guest

All take effect on the calling process for good and return a report; none raises for what the system lacks.
"""

from collections.abc import Collection

from codemode_runtime.confine import measures
from codemode_runtime.confine.kernel import Kernel, this_kernel
from codemode_runtime.confine.layers import Layer, attempt
from codemode_runtime.confine.limits import (
    MAX_ADDRESS_BYTES,
    MAX_STACK_BYTES,
    ZYGOTE_LIMITS,
    apply_limits,
    worker_limits,
)

# A worker that its supervisor forgot ends by itself, after ten times the longest budget of a leg.
DEFAULT_CPU_SECONDS = 600


def prepare_zygote(keep: Collection[int], parent_pid: int, kernel: Kernel | None = None) -> list[Layer]:
    """Drop what was inherited, before libraries are loaded: those keep descriptors open and start threads."""
    system = kernel or this_kernel()
    return [
        attempt("descriptors", lambda: measures.close_descriptors(system, keep)),
        attempt("environment", measures.check_environment),
        attempt("no_new_privs", lambda: measures.no_new_privs(system)),
        attempt("namespaces", lambda: measures.namespaces(system)),
        # After the namespaces: a change of credentials can disarm it.
        attempt("death_signal", lambda: measures.death_signal(system, parent_pid)),
    ]


def confine_zygote(kernel: Kernel | None = None) -> list[Layer]:
    """Close the doors that loading needed open. Threads left over from compiling would escape Landlock."""
    system = kernel or this_kernel()
    return [
        # First, because it looks at the maps, which the next two close.
        attempt("no_new_code", lambda: measures.no_new_code(system)),
        attempt("not_dumpable", lambda: measures.not_dumpable(system)),
        attempt("landlock", lambda: measures.landlock(system)),
        attempt("capabilities", lambda: measures.drop_capabilities(system)),
        apply_limits(system, ZYGOTE_LIMITS),
        # Last, because the filter does not allow the measures above.
        attempt("seccomp", lambda: measures.seccomp_zygote(system)),
    ]


def confine_worker(
    memory_bytes: int,
    parent_pid: int,
    cpu_seconds: int = DEFAULT_CPU_SECONDS,
    kernel: Kernel | None = None,
    *,
    address_bytes: int = MAX_ADDRESS_BYTES,
) -> list[Layer]:
    """Reduce a fork to one leg of a run. `memory_bytes`: all its private writable memory, Python included;
    `address_bytes`: all that it may map, so that page tables are bounded too."""
    system = kernel or this_kernel()
    return [
        attempt("death_signal", lambda: measures.death_signal(system, parent_pid)),
        apply_limits(system, worker_limits(memory_bytes, cpu_seconds, address_bytes, MAX_STACK_BYTES)),
        attempt("seccomp", lambda: measures.seccomp_worker(system)),
    ]
