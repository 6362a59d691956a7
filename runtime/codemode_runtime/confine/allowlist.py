"""The system calls that a zygote and a worker may still make. Pure data; reasons stand beside the entries.

allow   what guests needed in every way they end (strace), with arguments checked where a call can do more;
refuse  what honest libraries do in passing and survive: looking up a path (a traceback wants its source),
        probing the machine, naming a thread. The call fails with an errno: it does not happen either way, and
        a kill would turn a harmless look into an obscure death;
kill    everything else: nothing honest in a worker starts a process, opens a socket or makes code.
"""

import errno
import struct
from functools import cache
from typing import Final

from codemode_runtime.confine.bpf import ALLOW, Check, Policy, Rule, assemble, refuse
from codemode_runtime.confine.syscalls import Machine

_INT: Final = 0xFFFFFFFF  # an int or unsigned argument: the kernel looks at the lower word only
_POINTER: Final = 0xFFFFFFFFFFFFFFFF

_PROT_EXEC = 0x4
_MAP_SHARED, _MAP_GROWSDOWN = 0x1, 0x100
_FIONBIO = 0x5421
_F_GETFD, _F_GETFL, _F_SETFL = 1, 3, 4
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
_SECCOMP_SET_MODE_FILTER = 1
_AF_UNIX = 1
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; clone cannot ask for NEWTIME
_CLONE_NEW = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000

_ALLOWED: Final = (
    # memory, beside mmap and mprotect
    *("brk", "madvise", "mremap", "munmap"),
    # descriptors that are already open; no sendmsg and recvmsg: they could pass descriptors on
    *("close", "fstat", "getpeername", "getsockname", "read", "readv", "recvfrom", "shutdown"),
    *("poll", "ppoll", "pselect6", "select", "write", "writev"),
    # threads and signals of this process; a trap is a signal
    *("futex", "gettid", "membarrier", "restart_syscall", "rseq", "set_robust_list", "sched_yield"),
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"),
    # clocks, where the vDSO cannot answer
    *("clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep"),
    # facts about this process; malloc sizes its arenas by the affinity mask
    *("getegid", "geteuid", "getgid", "getpid", "getppid", "getrandom", "getrusage", "getuid"),
    "sched_getaffinity",
    *("exit", "exit_group"),
)

_PATH_LOOKUPS: Final = (
    *("access", "faccessat", "faccessat2", "getcwd", "lstat", "newfstatat", "open", "openat", "openat2"),
    *("readlink", "readlinkat", "stat", "statx"),
)

_COMMON: Final[Policy] = {
    **{name: Rule(ALLOW) for name in _ALLOWED},
    # The answer Landlock gives too, so that the layers look alike from inside.
    **{name: Rule(refuse(errno.EACCES)) for name in _PATH_LOOKUPS},
    "sysinfo": Rule(refuse(errno.EPERM)),
    "uname": Rule(refuse(errno.EPERM)),
    # Shared and grow-down mappings are not counted by RLIMIT_DATA: allowed, they would lift the memory limit.
    "mmap": Rule(ALLOW, (Check(2, _PROT_EXEC), Check(3, _MAP_SHARED | _MAP_GROWSDOWN))),
    "mprotect": Rule(ALLOW, (Check(2, _PROT_EXEC),)),
    # An address would let a datagram socket reach others; ours are connected and need none.
    "sendto": Rule(ALLOW, (Check(4, _POINTER),)),
    # Not F_SETOWN and F_SETSIG, which make the kernel signal any process of the user; nor FIOSETOWN.
    "fcntl": Rule(ALLOW, (Check(1, _INT, (_F_GETFD, _F_GETFL, _F_SETFL)),), refuse(errno.EPERM)),
    "ioctl": Rule(ALLOW, (Check(1, _INT, (_FIONBIO,)),), refuse(errno.ENOTTY)),
}

# Stands for the worker's pid in the program all workers share. No pid and no other constant has this value.
_OWN_PID: Final = 0x6D795049


def worker_policy(pid: int) -> Policy:
    """What a worker needs for legs in its own process, and nothing that reaches another."""
    own = Rule(ALLOW, (Check(0, _INT, (pid,)),))
    return {
        **_COMMON,
        # abort() and raise() signal the caller: with these a crash keeps its own signal.
        "kill": own,
        "tgkill": own,
        "tkill": own,
        "prctl": Rule(refuse(errno.EPERM)),
        # Other workers have the same open files: reading one moves the place where the next reads, and its
        # flags are those of all. A worker's own socket is read by recvfrom.
        "read": Rule(refuse(errno.EPERM)),
        "readv": Rule(refuse(errno.EPERM)),
        "fcntl": Rule(ALLOW, (Check(1, _INT, (_F_GETFD, _F_GETFL)),), refuse(errno.EPERM)),
        "ioctl": Rule(refuse(errno.ENOTTY)),
        # Limits may be read, but no longer set.
        "prlimit64": Rule(ALLOW, (Check(0, _INT), Check(2, _POINTER)), refuse(errno.EPERM)),
    }


def zygote_policy() -> Policy:
    """What a zygote needs to fork workers, hand over sockets, and let workers confine themselves further."""
    allowed = (
        *("fork", "set_tid_address", "wait4", "waitid"),
        # The pids of workers are not known yet; Landlock keeps signals inside the family.
        *("kill", "tgkill", "tkill"),
        *("getsockopt", "recvmsg", "sendmsg"),
    )
    return {
        **_COMMON,
        **{name: Rule(ALLOW) for name in allowed},
        "clone": Rule(ALLOW, (Check(0, _CLONE_NEW),)),
        # Its flags are behind a pointer. libc takes ENOSYS for an old kernel and uses clone.
        "clone3": Rule(refuse(errno.ENOSYS)),
        "socketpair": Rule(ALLOW, (Check(0, _INT, (_AF_UNIX,)),)),
        "prctl": Rule(ALLOW, (Check(0, _INT, (_PR_SET_PDEATHSIG, _PR_SET_NAME)),), refuse(errno.EPERM)),
        "prlimit64": Rule(ALLOW, (Check(0, _INT),)),
        "seccomp": Rule(ALLOW, (Check(0, _INT, (_SECCOMP_SET_MODE_FILTER,)),)),
    }


def worker_program(machine: Machine, pid: int) -> bytes:
    """The worker's filter. The first call assembles it; the zygote makes it, so that forks need not."""
    return _worker_template(machine).replace(struct.pack("=I", _OWN_PID), struct.pack("=I", pid))


def zygote_program(machine: Machine) -> bytes:
    return assemble(zygote_policy(), machine)


@cache
def _worker_template(machine: Machine) -> bytes:
    return assemble(worker_policy(_OWN_PID), machine)
