"""The measures: each takes one thing away from this process for good, and returns what it did.

Each raises OSError if the system refuses; `layers.attempt` turns that into a report. None needs root, and all
but the death signal outlast a fork. `stages` has their order.
"""

import ctypes
import errno
import os
import signal
import struct
from collections.abc import Collection
from contextlib import suppress

from codemode_runtime.confine.allowlist import worker_program, zygote_program
from codemode_runtime.confine.kernel import Kernel

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS, _PR_SET_MDWE = 1, 4, 38, 65
_CLONE_NEWUTS, _CLONE_NEWIPC, _CLONE_NEWUSER, _CLONE_NEWNET = 0x4000000, 0x8000000, 0x10000000, 0x40000000
_LANDLOCK_VERSION = 1
_SECCOMP_SET_MODE_FILTER, _SECCOMP_TSYNC = 1, 1
_PROT_READ, _PROT_EXEC = 0x1, 0x4
_LAST_DESCRIPTOR = 0xFFFFFFFF


def close_descriptors(kernel: Kernel, keep: Collection[int]) -> str:
    """Close everything but stdin, stdout, stderr and `keep`."""
    kept = sorted({0, 1, 2, *keep})
    for low, high in zip(kept, [*kept[1:], _LAST_DESCRIPTOR + 1], strict=True):
        if low + 1 < high:
            kernel.call("close_range", low + 1, high - 1, 0)
    return f"all but {', '.join(map(str, kept))} closed"


def check_environment() -> str:
    """Check that the parent passed no variables: clearing them would leave the strings in memory."""
    # Python itself sets LC_CTYPE when it starts without a locale.
    passed = os.environ.keys() - {"LC_CTYPE"}
    if passed:
        raise OSError(errno.EEXIST, f"the parent passed {len(passed)} environment variables")
    return "empty"


def no_new_privs(kernel: Kernel) -> str:
    kernel.call("prctl", _PR_SET_NO_NEW_PRIVS, 1)
    return "no program this process starts can gain privileges"


def namespaces(kernel: Kernel) -> str:
    """Enter a network without interfaces, and share no IPC or host name. Works only with one thread."""
    own = _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWUTS
    try:
        kernel.call("unshare", _CLONE_NEWUSER | own)
    except OSError as refusal:
        with suppress(OSError):
            # Where user namespaces are switched off, a privileged process can still make the others.
            kernel.call("unshare", own)
            return "own network, ipc and uts namespaces"
        # The kernel says EINVAL both for threads and for having no user namespaces at all.
        if refusal.errno == errno.EINVAL and len(os.listdir("/proc/self/task")) > 1:
            raise OSError(errno.EBUSY, "unshare: there is more than one thread") from refusal
        raise
    return "own user, network, ipc and uts namespaces"


def death_signal(kernel: Kernel, parent_pid: int) -> str:
    """Die with the parent thread; at once if it died before the signal was armed."""
    kernel.call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGKILL)
    return "SIGKILL when the parent ends"


def not_dumpable(kernel: Kernel) -> str:
    """No core dump, and /proc/<pid> closed to other processes of the same user, debuggers included."""
    kernel.call("prctl", _PR_SET_DUMPABLE, 0)
    return "no core dump, no tracing by other processes"


def landlock(kernel: Kernel) -> str:
    """Handle every right this kernel knows and grant none, for the calling thread and what it starts."""
    abi = kernel.call("landlock_create_ruleset", 0, 0, _LANDLOCK_VERSION)
    # Thirteen rights at first; later moving between directories, truncating, and ioctl on devices were added.
    files = (1 << 13) - 1 | (abi >= 2) << 13 | (abi >= 3) << 14 | (abi >= 5) << 15
    tcp = 0b11 if abi >= 4 else 0  # bind and connect
    scoped = 0b11 if abi >= 6 else 0  # abstract sockets and signals end at the edge of the domain
    # An older kernel takes a shorter struct, and a longer one if the rest is zero.
    ruleset = ctypes.create_string_buffer(struct.pack("=QQQ", files, tcp, scoped), 24)
    descriptor = kernel.call("landlock_create_ruleset", ctypes.addressof(ruleset), len(ruleset), 0)
    try:
        kernel.call("landlock_restrict_self", descriptor, 0)
    finally:
        os.close(descriptor)
    return f"ABI {abi}: no path" + (", no TCP" if tcp else "") + (", no signal to outside" if scoped else "")


def drop_capabilities(kernel: Kernel) -> str:
    """Drop all capabilities, even those over the namespaces that this process has just made."""
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0), 8)
    nothing = ctypes.create_string_buffer(24)
    kernel.call("capset", ctypes.addressof(header), ctypes.addressof(nothing))
    return "none left"


def no_new_code(kernel: Kernel) -> str:
    """Keep code from being written, and writable memory from becoming executable. Call it once everything is
    loaded that writes code, and while /proc can still be read."""
    for start, end in writable_code():
        # where callbacks of ctypes lie: all of them are made, and none is freed
        kernel.call("mprotect", start, end - start, _PROT_READ | _PROT_EXEC)
    kernel.call("prctl", _PR_SET_MDWE, 1)
    return "no memory is writable and executable, and none can become so"


def writable_code(maps: str | None = None) -> list[tuple[int, int]]:
    """The mappings that are writable and executable, of this process or in the text of /proc/self/maps."""
    if maps is None:
        try:
            with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
                maps = file.read()
        except OSError:
            return []
    rows = [line.split(None, 2)[:2] for line in maps.splitlines()]
    found = [span.split("-") for span, rights in rows if "w" in rights and "x" in rights]
    return [(int(start, 16), int(end, 16)) for start, end in found]


def seccomp_zygote(kernel: Kernel) -> str:
    worker_program(kernel.machine, os.getpid())  # assembled here once, for every fork
    return _install(kernel, zygote_program(kernel.machine))


def seccomp_worker(kernel: Kernel) -> str:
    """Looks afterwards whether the filter holds: what a zygote may do, and has done, is now refused."""
    done = _install(kernel, worker_program(kernel.machine, os.getpid()))
    try:
        kernel.call("prctl", _PR_SET_PDEATHSIG, signal.SIGKILL)
    except OSError:
        return done
    raise OSError(errno.EBUSY, "seccomp: the kernel allows what the filter forbids")


def _install(kernel: Kernel, program: bytes) -> str:
    """Filter every thread of the process, those that already run included."""
    code = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog { u16 instructions; struct sock_filter *code; }
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    thread = kernel.call("seccomp", _SECCOMP_SET_MODE_FILTER, _SECCOMP_TSYNC, ctypes.addressof(header))
    if thread:
        raise OSError(errno.EBUSY, f"seccomp: thread {thread} has a filter of its own")
    return "what is not on the list kills the process"
