"""Where a subject's programs really run and what a suspended one takes, read from /proc while it happens."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.side_by_side.lineup import Subject
from bench.side_by_side.programs import HOLD_TINY, NEVER_ANSWERED, Program
from bench.side_by_side.samples import AnyCell, NoCell, summarise
from bench.side_by_side.session import Session, SubjectFailed

IN_HOST = "host"
OWN_PROCESS = "own process"
CONFINED = "confined process"


def escape_lands_in(subject: Subject) -> str:
    """Where code is that left the VM: the host's own process, another, or one the kernel has confined."""
    with Session(subject) as session:
        reply = session.ask(_request("pend", NEVER_ANSWERED, subject, 1))
        if "columns" not in reply:
            raise SubjectFailed(str(reply))
        others = _descendants(session.pid)
        ends = [pid for pid in others if not _children(pid)]  # programs run in the leaves
        if not ends:
            return IN_HOST
        return CONFINED if all(_is_confined(pid) for pid in ends) else OWN_PROCESS


def memory_per_run(subject: Subject) -> tuple[AnyCell, str]:
    """KiB that one suspended program takes, and what is kept: its snapshot, or the VM where there is none.

    A snapshot lies in the host. Processes below it are counted only where they hold live VMs: how many stand
    ready in a pool has nothing to do with what is suspended, and one of them outweighs a thousand snapshots.
    """
    with Session(subject) as session:
        verb, kept, program = "keep", "snapshot", HOLD_TINY
        reply = session.ask(_request(verb, program, subject, subject.keeps))  # loads what any run needs
        if "lacks" in reply:
            verb, kept, program = "pend", "live VM", NEVER_ANSWERED
            reply = session.ask(_request(verb, program, subject, subject.keeps))
        if "columns" not in reply:
            return NoCell(str(reply), failed=True), kept
        measure = _tree_kib if kept == "live VM" else _pss_kib
        before = measure(session.pid)
        reply = session.ask(_request(verb, program, subject, subject.keeps))
        if "columns" not in reply:
            return NoCell(str(reply), failed=True), kept
        return per_run(before, measure(session.pid), subject.keeps), kept


def per_run(before_kib: int, after_kib: int, runs: int) -> AnyCell:
    """Memory that did not grow says nothing of what a run takes, least of all that it takes nothing."""
    if after_kib <= before_kib:
        return NoCell(f"memory went from {before_kib} to {after_kib} KiB with {runs} runs more", failed=True)
    return summarise([[(after_kib - before_kib) / runs]])


def _request(verb: str, program: Program, subject: Subject, count: int) -> dict[str, Any]:
    return {"verb": verb, "program": program.text_for(subject.language), "count": count}


def _is_confined(pid: int) -> bool:
    """A system call filter, and no way to new privileges."""
    fields = _status(pid)
    return fields.get("Seccomp") == "2" and fields.get("NoNewPrivs") == "1"


def _tree_kib(root: int) -> int:
    """Of the process and of those below it; pages they share are counted once where the kernel tells."""
    return sum(_pss_kib(pid) for pid in [root, *_descendants(root)])


def _pss_kib(pid: int) -> int:
    with suppress(OSError):
        return _field(Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines(), "Pss")
    return int(_status(pid).get("VmRSS", "0").split()[0])


def _field(lines: Iterable[str], name: str) -> int:
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def _status(pid: int) -> dict[str, str]:
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return {}


def _descendants(root: int) -> list[int]:
    found: list[int] = []
    for child in _children(root):
        found += [child, *_descendants(child)]
    return found


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                children += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
    return children
