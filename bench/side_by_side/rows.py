"""What is compared, in the words of the page: each table's metrics and what this engine's numbers include."""

from __future__ import annotations

from dataclasses import dataclass

from bench.side_by_side.programs import KERNELS


@dataclass(frozen=True, slots=True)
class Row:
    """`includes` is what is in this engine's number by design: said where it is behind."""

    metric: str
    title: str
    unit: str = "ms"
    includes: str = ""
    higher_is_better: bool = False


CROSSING = "two messages between processes for each step of a program, host to worker and back"
COPYING = "the way out of another process, compression, and a seal over the bytes"

HOLDS = ("tiny", "rows 1 MB", "text 1 MB", "rows 8 MB", "text 8 MB")
STARTS = (
    Row(
        "cold.ms",
        "cold start",
        includes="a Python host, and the first zygote and worker started before its first answer",
    ),
    Row("warm.ms", "1 + 1", includes=CROSSING),
    Row("one.ms", "one call", includes=CROSSING),
    Row("seq100.ms", "100 calls in sequence", includes=CROSSING),
    Row("par16.ms", "16 calls at once", includes=CROSSING),
)
SUSPENDS = tuple(Row(f"hold {held}.suspend_ms", f"suspend, {held}", includes=COPYING) for held in HOLDS)
RESUMES = tuple(
    Row(f"hold {held}.resume_ms", f"resume, {held}", includes="a process and the bytes' way into it")
    for held in HOLDS
)
SIZES = tuple(
    Row(
        f"hold {held}.bytes",
        f"snapshot, {held}",
        "bytes",
        "the state of the run and its seal beside the VM's",
    )
    for held in HOLDS
)
PACKED = tuple(Row(f"hold {held}.packed_bytes", f"after zlib, {held}", "bytes") for held in HOLDS)
MEMORY = (
    Row(
        "memory.kib", "memory of a suspended run", "KiB", "the run's scope, ledger and trajectory in the host"
    ),
)
KERNEL_ROWS = tuple(Row(f"cpu {name}.inner_ms", name) for name in KERNELS)
OTHERS = (
    Row(
        "limit.ms",
        "100 ms limit, endless loop",
        includes="the message that brings the program and the one that reports",
    ),
    Row("typescript.ms", "TypeScript cell"),
    Row("typescript enum.ms", "TypeScript cell with an enum"),
)
THROUGHPUT = tuple(
    Row(f"crowd {callers}.per_second", f"{callers} callers" if callers > 1 else "1 caller", "runs/s",
        "a fork for every run: a worker serves one and ends", higher_is_better=True)
    for callers in (1, 2, 8, 32)
)  # fmt: skip
FLOOR = (
    Row("copy 1 MB.inner_ms", "copy 1 MB of memory"),
    Row("copy 8 MB.inner_ms", "copy 8 MB of memory"),
    Row("pipe.inner_ms", "64 bytes to another process and back"),
    Row("fork.inner_ms", "fork, exit, wait"),
)
JUDGED = (*STARTS, *SUSPENDS, *RESUMES, *SIZES, *MEMORY, *KERNEL_ROWS, OTHERS[0], *THROUGHPUT)
