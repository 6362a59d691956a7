"""What the numbers were measured on, and how busy it was."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

from bench.side_by_side.lineup import PROJECT


def describe_machine() -> dict[str, Any]:
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30), 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "wasmtime": metadata.version("wasmtime"),
        "commit": _commit(),
        "at": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
    }


def busyness() -> dict[str, float]:
    """Load over the last minute, and a fixed stretch of computing, longer where others compute too."""
    return {"load": round(os.getloadavg()[0], 2), "fixed_ms": round(median(_compute() for _ in range(5)), 2)}


def _compute() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(200_000):
        total += number * number
    return (time.perf_counter() - began) * 1000


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _commit() -> str:
    """Of this project, with a plus if there are changes; empty where this is no clone."""
    command = ["git", "-C", str(PROJECT), "describe", "--always", "--dirty=+", "--exclude=*"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
