"""Reads sizes and times as people type them. Pure; argparse shows the texts of these errors."""

from __future__ import annotations

import argparse
import re

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_BYTES = {"": 1, "b": 1, "k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mb": 1 << 20,
          "mib": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30}  # fmt: skip
_SECONDS = {"ms": 0.001, "": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def size(text: str) -> int:
    """Bytes: `65536`, `64k`, `10M`, `1GiB`."""
    return int(_read(text, _BYTES, "a size such as 65536, 64k or 10M"))


def milliseconds(text: str) -> int:
    """`10` and `10s` are seconds, `500ms`, `2m`."""
    return int(seconds(text) * 1000)


def seconds(text: str) -> float:
    return _read(text, _SECONDS, "a time such as 10, 500ms or 2m (seconds without a unit)")


def _read(text: str, units: dict[str, int] | dict[str, float] | dict[str, int | float], wanted: str) -> float:
    found = _QUANTITY.fullmatch(text.strip())
    unit = None if found is None else units.get(found[2].lower())
    if found is None or unit is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not {wanted}")
    return float(found[1]) * unit
