"""The seccomp filters as programs: a small BPF machine runs them, their policies say what must come out."""

import errno
import re
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from codemode_runtime.confine.allowlist import worker_policy, worker_program, zygote_policy, zygote_program
from codemode_runtime.confine.bpf import ALLOW, KILL, Check, Policy, Rule, assemble, refuse
from codemode_runtime.confine.syscalls import AUDIT_ARCH, Machine, numbers
from hypothesis import given
from hypothesis import strategies as st

MACHINES: tuple[Machine, ...] = ("x86_64", "aarch64")
PID = 4242

words = st.one_of(
    st.sampled_from([0, 1, 2, 3, 4, 5, 7, PID, 0x5421, 1 << 32, 0x10000000]), st.integers(0, 2**64 - 1)
)
calls = st.integers(0, 600)


def verdict(program: bytes, arch: int, number: int, arguments: Sequence[int] = ()) -> int:
    """What the kernel would do: run the program over the seccomp_data of one call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("=IIQ6Q", number, arch, 0, *padded)
    at, accumulator = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match code:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, value)[0]
            case 0x54:
                accumulator &= value
            case 0x15:
                at += if_true if accumulator == value else if_false
            case 0x35:
                at += if_true if accumulator >= value else if_false
            case 0x06:
                return value
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def expected(policy: Policy, machine: Machine, number: int, arguments: Sequence[int]) -> int:
    names = {known: name for name, known in numbers(machine).items()}
    rule = policy.get(names.get(number, ""), Rule(KILL))
    holds = all(arguments[check.argument] & check.mask in check.values for check in rule.checks)
    return rule.action if holds else rule.otherwise


@pytest.mark.parametrize("machine", MACHINES)
@given(number=calls, arguments=st.lists(words, min_size=6, max_size=6))
def test_the_worker_filter_decides_every_call_as_its_policy_says(
    machine: Machine, number: int, arguments: list[int]
) -> None:
    program = worker_program(machine, PID)
    want = expected(worker_policy(PID), machine, number, arguments)
    assert verdict(program, AUDIT_ARCH[machine], number, arguments) == want


@pytest.mark.parametrize("machine", MACHINES)
@given(number=calls, arguments=st.lists(words, min_size=6, max_size=6))
def test_the_zygote_filter_decides_every_call_as_its_policy_says(
    machine: Machine, number: int, arguments: list[int]
) -> None:
    program = zygote_program(machine)
    want = expected(zygote_policy(), machine, number, arguments)
    assert verdict(program, AUDIT_ARCH[machine], number, arguments) == want


@given(
    number=st.integers(0, 2**32 - 1),
    arch=st.integers(0, 2**32 - 1).filter(lambda a: a != AUDIT_ARCH["x86_64"]),
)
def test_a_call_of_another_architecture_kills(number: int, arch: int) -> None:
    assert verdict(worker_program("x86_64", PID), arch, number) == KILL


@given(number=st.integers(0, 600))
def test_a_call_by_the_x32_numbers_kills(number: int) -> None:
    assert verdict(worker_program("x86_64", PID), AUDIT_ARCH["x86_64"], 0x40000000 | number) == KILL


@given(number=calls, arguments=st.lists(words, min_size=6, max_size=6))
def test_the_zygote_filter_lets_pass_whatever_the_worker_filter_allows(
    number: int, arguments: list[int]
) -> None:
    """Filters add up in a fork: a call that only the worker's list allows would still kill."""
    arch = AUDIT_ARCH["x86_64"]
    if verdict(worker_program("x86_64", PID), arch, number, arguments) == ALLOW:
        assert verdict(zygote_program("x86_64"), arch, number, arguments) == ALLOW


@pytest.mark.parametrize("machine", MACHINES)
def test_the_shared_worker_program_becomes_the_one_assembled_for_the_pid(machine: Machine) -> None:
    assert worker_program(machine, PID) == assemble(worker_policy(PID), machine)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("read", (3, 0, 10), refuse(errno.EPERM)),
        ("openat", (0, 0, 0), refuse(errno.EACCES)),
        ("mmap", (0, 4096, 0x3, 0x22), ALLOW),
        ("mmap", (0, 4096, 0x5, 0x22), KILL),
        ("mmap", (0, 4096, 0x3, 0x21), KILL),
        ("mmap", (0, 4096, 0x3, 0x122), KILL),
        ("mprotect", (0, 4096, 0x4), KILL),
        ("sendto", (3, 0, 10, 0, 0, 0), ALLOW),
        ("sendto", (3, 0, 10, 0, 1 << 40, 16), KILL),
        ("ioctl", (3, 0x5421), refuse(errno.ENOTTY)),
        ("ioctl", (3, 0x5401), refuse(errno.ENOTTY)),
        ("fcntl", (3, 8, 1), refuse(errno.EPERM)),
        ("tgkill", (PID, PID, 6), ALLOW),
        ("tgkill", (PID + 1, PID + 1, 6), KILL),
        ("kill", (0xFFFFFFFF, 9), KILL),
        ("prlimit64", (0, 7, 0, 1 << 40), ALLOW),
        ("prlimit64", (0, 7, 1 << 40, 0), refuse(errno.EPERM)),
        ("clone", (17,), KILL),
        ("clone3", (0, 88), KILL),
        ("seccomp", (1, 0, 0), KILL),
        ("sendmsg", (3, 0), KILL),
        ("unshare", (0x10000000,), KILL),
    ],
)
def test_a_worker_gets_this_answer(
    machine: Machine, name: str, arguments: tuple[int, ...], action: int
) -> None:
    program = worker_program(machine, PID)
    assert verdict(program, AUDIT_ARCH[machine], numbers(machine)[name], arguments) == action


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "action"),
    [
        ("clone", (0x01200011,), ALLOW),
        ("clone", (0x10000011,), KILL),
        ("clone3", (0, 88), refuse(errno.ENOSYS)),
        ("socketpair", (1, 1, 0), ALLOW),
        ("socketpair", (2, 1, 0), KILL),
        ("prctl", (1, 9), ALLOW),
        ("prctl", (4, 1), refuse(errno.EPERM)),
        ("prlimit64", (0, 7, 1 << 40, 0), ALLOW),
        ("prlimit64", (1, 7, 1 << 40, 0), KILL),
        ("mmap", (0, 4096, 0x7, 0x22), KILL),
        ("unshare", (0x10000000,), KILL),
    ],
)
def test_a_zygote_gets_this_answer(
    machine: Machine, name: str, arguments: tuple[int, ...], action: int
) -> None:
    program = zygote_program(machine)
    assert verdict(program, AUDIT_ARCH[machine], numbers(machine)[name], arguments) == action


@given(low=st.integers(0, 2**32 - 1), high=st.integers(0, 2**32 - 1))
def test_a_wide_check_compares_both_words(low: int, high: int) -> None:
    wanted = 0x1_0000_0002
    program = assemble({"read": Rule(ALLOW, (Check(1, 2**64 - 1, (wanted,)),))}, "x86_64")
    argument = high << 32 | low
    got = verdict(program, AUDIT_ARCH["x86_64"], 0, (0, argument))
    assert got == (ALLOW if argument == wanted else KILL)


def test_every_name_in_the_policies_is_a_call_of_some_machine() -> None:
    known = numbers("x86_64").keys() | numbers("aarch64").keys()
    assert (worker_policy(PID).keys() | zygote_policy().keys()) - known == set()


@pytest.mark.parametrize(
    ("machine", "header", "pattern"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+) (\d+)"),
        ("aarch64", "/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+) (\d+)"),
    ],
)
def test_the_numbers_are_those_of_the_kernel_headers(machine: Machine, header: str, pattern: str) -> None:
    path = Path(header)
    if not path.exists():
        pytest.skip("the kernel's headers are not installed")
    published = {name: int(number) for name, number in re.findall(pattern, path.read_text())}
    published.setdefault("newfstatat", published.get("fstatat", -1))
    ours = numbers(machine)
    # Headers may be older than a call: what they do know has to agree, and they know nearly all.
    assert {name: published[name] for name in ours if name in published} == {
        name: number for name, number in ours.items() if name in published
    }
    assert len(published.keys() & ours.keys()) > 70
