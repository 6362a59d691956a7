"""What confinement amounts to, as the processes themselves report it. Judged in the host, applied there."""

from __future__ import annotations

from dataclasses import dataclass

from codemode_runtime.wire import LayerReport

Stage = tuple[LayerReport, ...]


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
        from codemode_runtime.confine.layers import Layer, combine, unmet

        found = combine(
            *([Layer(it.name, it.status, it.detail) for it in stage] for stage in (zygote, worker))
        )
        layers = tuple(LayerReport(it.name, it.status, it.detail) for it in found)
        return Confinement(layers, tuple(unmet(found)), (zygote, worker))
