"""Tries out in a forked child what this system offers, so that the caller stays as it is.

A real worker's layers are reported by its zygote and itself. Call this from a process with one thread.
"""

import os
import signal

import msgspec

from codemode_runtime.confine.kernel import Kernel
from codemode_runtime.confine.layers import Layer, combine
from codemode_runtime.confine.stages import confine_worker, confine_zygote, prepare_zygote

_AMPLE_BYTES = 1 << 30


def probe(kernel: Kernel | None = None) -> list[Layer]:
    """Runs every stage, one after the other, in one child."""
    if not hasattr(os, "fork"):
        return [Layer("process", "missing", "no fork on this system")]
    caller = os.getpid()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _try_out(write_end, caller, kernel)
            code = 0
        finally:
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as reader:
        stages = [msgspec.json.decode(line, type=list[Layer]) for line in reader]
    _, status = os.waitpid(child, 0)
    report = combine(*stages)
    code = os.waitstatus_to_exitcode(status)
    if code:
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
        report.append(Layer("process", "failed", f"the trial process {how}"))
    return report


def _try_out(write_end: int, caller: int, kernel: Kernel | None) -> None:
    os.environ.clear()  # a host starts its zygote with an empty one
    # Each stage reports by itself: if one kills the child, those before it are known.
    _write(write_end, prepare_zygote([write_end], caller, kernel))
    _write(write_end, confine_zygote(kernel))
    _write(write_end, confine_worker(_AMPLE_BYTES, caller, kernel=kernel))


def _write(write_end: int, layers: list[Layer]) -> None:
    os.write(write_end, msgspec.json.encode(layers) + b"\n")
