"""What confinement amounts to, as the processes themselves report it. Judged in the host, applied there."""

from __future__ import annotations

from dataclasses import dataclass

from codemode_runtime.shapes import Layer

Stage = tuple[Layer, ...]


@dataclass(frozen=True, slots=True)
class Confinement:
    """All layers of a worker by name, and the guarantees that none of them gives."""

    layers: Stage = ()
    unmet: tuple[str, ...] = ()
    stages: tuple[Stage, Stage] = ((), ())

    def updated(self, zygote: Stage, worker: Stage) -> Confinement:
        """Free while workers report what the one before reported."""
        if (zygote, worker) == self.stages:
            return self
        # loads ctypes and the call tables, which a host that only imports the package need not pay for
        from codemode_runtime.confine.layers import combine, unmet

        layers = combine(zygote, worker)
        return Confinement(tuple(layers), tuple(unmet(layers)), (zygote, worker))
