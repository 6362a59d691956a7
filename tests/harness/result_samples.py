"""Results made comparable: two that differ only in how long things took become equal."""

from __future__ import annotations

from typing import Any

from codemode.contract.results import CodeModeResult


def without_times(result: CodeModeResult) -> dict[str, Any]:
    said = result.to_dict()
    said["telemetry"].pop("durationsMs", None)
    said["telemetry"].pop("durationMs", None)
    for call in said["telemetry"]["calls"]:
        del call["ms"]
    return said
