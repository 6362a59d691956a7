"""System call numbers by name, for the two machines on which the engine confines itself.

The one copy of these facts: the ctypes wrapper and the seccomp filters both use it. A call that a machine
does not have (the older, path-only calls on aarch64) is None there.
"""

from typing import Final, Literal

Machine = Literal["x86_64", "aarch64"]

# What the kernel puts into seccomp_data.arch: the ELF machine number, little-endian, 64 bit.
AUDIT_ARCH: Final[dict[Machine, int]] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

#  name: (x86_64, aarch64)
_NUMBERS: Final[dict[str, tuple[int | None, int | None]]] = {
    "access": (21, None),
    "brk": (12, 214),
    "capset": (126, 91),
    "clock_getres": (229, 114),
    "clock_gettime": (228, 113),
    "clock_nanosleep": (230, 115),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close": (3, 57),
    "close_range": (436, 436),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "fcntl": (72, 25),
    "fork": (57, None),
    "fstat": (5, 80),
    "futex": (202, 98),
    "getcwd": (79, 17),
    "getegid": (108, 177),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getpeername": (52, 205),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getrandom": (318, 278),
    "getrusage": (98, 165),
    "getsockname": (51, 204),
    "getsockopt": (55, 209),
    "gettid": (186, 178),
    "gettimeofday": (96, 169),
    "getuid": (102, 174),
    "ioctl": (16, 29),
    "kill": (62, 129),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "lstat": (6, None),
    "madvise": (28, 233),
    "membarrier": (324, 283),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "munmap": (11, 215),
    "nanosleep": (35, 101),
    "newfstatat": (262, 79),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "poll": (7, None),
    "ppoll": (271, 73),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "pselect6": (270, 72),
    "read": (0, 63),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "readv": (19, 65),
    "recvfrom": (45, 207),
    "recvmsg": (47, 212),
    "restart_syscall": (219, 128),
    "rseq": (334, 293),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "seccomp": (317, 277),
    "select": (23, None),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "shutdown": (48, 210),
    "sigaltstack": (131, 132),
    "socketpair": (53, 199),
    "stat": (4, None),
    "statx": (332, 291),
    "sysinfo": (99, 179),
    "tgkill": (234, 131),
    "tkill": (200, 130),
    "uname": (63, 160),
    "unshare": (272, 97),
    "wait4": (61, 260),
    "waitid": (247, 95),
    "write": (1, 64),
    "writev": (20, 66),
}


def numbers(machine: Machine) -> dict[str, int]:
    """The calls that this machine has."""
    column = 0 if machine == "x86_64" else 1
    return {name: number for name, pair in _NUMBERS.items() if (number := pair[column]) is not None}
