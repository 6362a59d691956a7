"""What confinement reports: one `Layer` per mechanism, and the guarantees they give together. Pure.

A layer that the system lacks is reported, never raised. The configuration decides whether a gap stops the
engine. `unmet` tells the gaps: some guarantees have two mechanisms, and one of them is enough.
"""

import errno
from collections.abc import Callable, Iterable
from typing import Final

from codemode_runtime.shapes import Layer, LayerStatus

# Each guarantee and the layers that give it; any one of them is enough.
GUARANTEES: Final[dict[str, tuple[str, ...]]] = {
    "no inherited descriptors": ("descriptors",),
    "no inherited environment": ("environment",),
    "no new privileges": ("no_new_privs",),
    "no network": ("namespaces", "seccomp"),
    "dies with its parent": ("death_signal",),
    "not readable by other processes": ("not_dumpable",),
    "no file by path": ("landlock",),
    "no capabilities": ("capabilities",),
    "bounded resources": ("limits",),
    "no new executable memory": ("no_new_code", "seccomp"),
    "few system calls": ("seccomp",),
}

# The answers of a kernel that was built or booted without something, or is older than it.
_ABSENT: Final = frozenset({errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL})


def attempt(name: str, act: Callable[[], str]) -> Layer:
    """Run one measure and report what it did, or why the system refused."""
    try:
        return Layer(name, "active", act())
    except OSError as error:
        status: LayerStatus = "missing" if error.errno in _ABSENT else "failed"
        return Layer(name, status, error.strerror or str(error))


def combine(*reports: Iterable[Layer]) -> list[Layer]:
    """Join the reports of several stages: a layer applied twice counts as the worse of the two."""
    combined: dict[str, Layer] = {}
    for report in reports:
        for layer in report:
            earlier = combined.get(layer.name)
            if earlier is None or (earlier.status == "active" and layer.status != "active"):
                combined[layer.name] = layer
            elif earlier.status == layer.status == "active" and earlier.detail != layer.detail:
                combined[layer.name] = Layer(layer.name, "active", f"{earlier.detail}; {layer.detail}")
    return list(combined.values())


def unmet(layers: Iterable[Layer]) -> list[str]:
    """The guarantees that no active layer gives."""
    active = {layer.name for layer in layers if layer.status == "active"}
    return [guarantee for guarantee, names in GUARANTEES.items() if active.isdisjoint(names)]
