"""What confinement a worker really has. Processes apply it and report it; the host judges the reports."""

from __future__ import annotations

from dataclasses import dataclass

from codemode_runtime.wire import LayerReport

Stage = tuple[LayerReport, ...]


@dataclass(frozen=True, slots=True)
class Confinement:
    """All layers of a worker, and the guarantees that no layer gives. `stages`: the reports behind them."""

    layers: Stage = ()
    unmet: tuple[str, ...] = ()
    stages: tuple[Stage, Stage] = ((), ())

    def updated(self, zygote: Stage, worker: Stage) -> Confinement:
        """Costs nothing while each worker reports the same as the one before."""
        if (zygote, worker) == self.stages:
            return self
        # imported here: it loads ctypes and the call tables, which a host that starts no worker does not need
        from codemode_runtime.confine.layers import Layer, combine, unmet

        found = combine(
            *([Layer(it.name, it.status, it.detail) for it in stage] for stage in (zygote, worker))
        )
        layers = tuple(LayerReport(it.name, it.status, it.detail) for it in found)
        return Confinement(layers, tuple(unmet(found)), (zygote, worker))
