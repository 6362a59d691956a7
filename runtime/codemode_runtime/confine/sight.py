"""What the kernel itself shows of this process: a layer is reported by looking, not by having tried.

A confined process can open nothing, so the files are opened before the measures and read after them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Final

from codemode_runtime.confine.layers import Layer
from codemode_runtime.confine.measures import writable_code

_CHUNK: Final = 64 << 10
_NO_CAPABILITY: Final = "0000000000000000"
# What /proc/self/status shows where a layer is in force.
_SHOWN: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "no_new_privs": (("NoNewPrivs", "1"),),
    "capabilities": (("CapPrm", _NO_CAPABILITY), ("CapEff", _NO_CAPABILITY)),
    "seccomp": (("Seccomp", "2"),),
}


class Sight:
    """Open it before confinement. Without /proc it sees nothing and changes nothing."""

    def __init__(self) -> None:
        self._status, self._maps = _open("/proc/self/status"), _open("/proc/self/maps")

    def __enter__(self) -> Sight:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._status, self._maps):
            if file >= 0:
                os.close(file)

    def checked(self, layers: Iterable[Layer]) -> list[Layer]:
        """The layers, with those as failed that are said to be active and do not show. Once."""
        rows = (line.partition(":") for line in _read(self._status).splitlines())
        shown = {name: value.strip() for name, _, value in rows}
        writable = len(writable_code(_read(self._maps)))
        return [_checked(layer, shown, writable) for layer in layers]


def _checked(layer: Layer, shown: dict[str, str], writable: int) -> Layer:
    if layer.status != "active":
        return layer
    if layer.name == "no_new_code" and writable:
        return Layer(layer.name, "failed", f"{writable} mappings are writable and executable")
    for name, wanted in _SHOWN.get(layer.name, ()):
        found = shown.get(name)
        if found not in (wanted, None):
            return Layer(layer.name, "failed", f"the kernel shows {name} {found}")
    return layer


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _read(file: int) -> str:
    """All of a file from its beginning; it is read for the first time."""
    parts: list[bytes] = []
    with suppress(OSError):
        while file >= 0 and (part := os.read(file, _CHUNK)):
            parts.append(part)
    return b"".join(parts).decode(errors="replace")
