"""Seccomp filters, assembled by hand: a policy in, the bytes of a classic BPF program out. Pure.

A filter reads the architecture and the call number, then at most a few argument words. It compares numbers
and nothing else: it cannot follow a pointer, so calls that keep their meaning behind one (clone3, sendmsg,
openat2) can only be allowed or refused as a whole.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from codemode_runtime.confine.syscalls import AUDIT_ARCH, Machine, numbers

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000  # ends the whole process, with SIGSYS; ending one thread would leave the others

# struct seccomp_data { int nr; u32 arch; u64 instruction_pointer; u64 args[6]; }
_NUMBER_OFFSET: Final = 0
_ARCH_OFFSET: Final = 4
_ARGUMENTS_OFFSET: Final = 16

# struct sock_filter { u16 code; u8 jump_if_true, jump_if_false; u32 value; }
_INSTRUCTION: Final = struct.Struct("=HBBI").pack
# Operation codes: load a word, and with a constant, jump if equal, jump if at least, return.
_LOAD, _AND, _JEQ, _JGE, _RET = 0x20, 0x54, 0x15, 0x35, 0x06

_WORD: Final = 0xFFFFFFFF
_X32_BIT: Final = 0x40000000  # the x32 calls have x86_64's architecture word, and numbers from here on


@dataclass(frozen=True, slots=True)
class Check:
    """Holds if `argument & mask` is in `values`. A mask over 32 bits takes one value; both words count."""

    argument: int
    mask: int
    values: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Rule:
    """`action` if every check holds, else `otherwise`."""

    action: int
    checks: tuple[Check, ...] = ()
    otherwise: int = KILL


Policy = Mapping[str, Rule]


def refuse(number: int) -> int:
    """The action that makes a call fail with this errno, without entering the kernel."""
    return 0x00050000 | number


def assemble(policy: Policy, machine: Machine) -> bytes:
    """The program for this machine. Calls outside the policy or by another ABI kill the process."""
    program = [
        _load(_ARCH_OFFSET),
        _jump(_JEQ, AUDIT_ARCH[machine], if_true=1),
        _give(KILL),
        _load(_NUMBER_OFFSET),
    ]
    if machine == "x86_64":
        program += [_jump(_JGE, _X32_BIT, if_false=1), _give(KILL)]
    known = numbers(machine)
    present = {known[name]: rule for name, rule in policy.items() if name in known}
    for number, rule in present.items():
        if rule.checks:
            body = list(_body(rule))
            program += [_jump(_JEQ, number, if_false=len(body)), *body]
    plain = {number: rule.action for number, rule in present.items() if not rule.checks}
    for action in sorted(set(plain.values())):
        program += _group([number for number, its in plain.items() if its == action], action)
    program.append(_give(KILL))
    return b"".join(program)


def _body(rule: Rule) -> Iterator[bytes]:
    """One rule's instructions. Every path through them returns: the call number need not be loaded again."""
    for check in rule.checks:
        for shift in (0, 32):
            mask = check.mask >> shift & _WORD
            if not mask:
                continue
            yield _load(_ARGUMENTS_OFFSET + 8 * check.argument + shift // 8)
            if mask != _WORD:
                yield _INSTRUCTION(_AND, 0, 0, mask)
            for after, value in zip(reversed(range(len(check.values))), check.values, strict=True):
                yield _jump(_JEQ, value >> shift & _WORD, if_true=after + 1)
            yield _give(rule.otherwise)
    yield _give(rule.action)


def _group(members: list[int], action: int) -> Iterator[bytes]:
    """One comparison per call, all of them jumping to one shared return. A jump reaches 255 instructions."""
    for after, number in zip(reversed(range(len(members))), sorted(members), strict=True):
        yield _jump(_JEQ, number, if_true=after, if_false=0 if after else 1)
    yield _give(action)


def _load(offset: int) -> bytes:
    return _INSTRUCTION(_LOAD, 0, 0, offset)


def _jump(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return _INSTRUCTION(code, if_true, if_false, value)


def _give(action: int) -> bytes:
    return _INSTRUCTION(_RET, 0, 0, action)
