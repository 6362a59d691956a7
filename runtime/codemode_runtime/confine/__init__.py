"""Confinement of the processes that run guests: defence in depth behind WebAssembly, without root.

Layers: closed descriptors, empty environment, no_new_privs, namespaces (no network), death signal, not
dumpable, Landlock without any path, no capabilities, resource limits, no new executable memory, seccomp.
Each is applied where the system has it, and reported by name; a gap is visible and never an exception.
The zygote calls `prepare_zygote` and `confine_zygote`, each worker `confine_worker`; `probe` tries them out.
"""

from codemode_runtime.confine.layers import GUARANTEES, Layer, combine, unmet
from codemode_runtime.confine.limits import writable_bytes
from codemode_runtime.confine.probe import probe
from codemode_runtime.confine.stages import confine_worker, confine_zygote, prepare_zygote

__all__ = [
    "GUARANTEES",
    "Layer",
    "combine",
    "confine_worker",
    "confine_zygote",
    "prepare_zygote",
    "probe",
    "unmet",
    "writable_bytes",
]
