"""What confinement a worker really has. Processes apply it and report it; the host judges the reports."""

from __future__ import annotations

from codemode_runtime.shapes import Layer
from msgspec import Struct

Stage = tuple[Layer, ...]


class Confinement(Struct, frozen=True):
    """All layers of a worker, and the guarantees that no layer gives. `stages`: the reports behind them."""

    layers: Stage = ()
    unmet: tuple[str, ...] = ()
    stages: tuple[Stage, Stage] = ((), ())

    def updated(self, zygote: Stage, worker: Stage) -> Confinement:
        """Costs nothing while each worker reports the same as the one before."""
        if (zygote, worker) == self.stages:
            return self
        # loads ctypes and the call tables, which a host that only imports the package need not pay for
        from codemode_runtime.confine.layers import combine, unmet

        layers = combine(zygote, worker)
        return Confinement(tuple(layers), tuple(unmet(layers)), (zygote, worker))
