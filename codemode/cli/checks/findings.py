"""What the doctor finds about each part: its status and what to do; as data and as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from codemode.cli.errors import ExitCode
from codemode.cli.terminal.screen import Colour, Screen
from codemode.trajectory.escape import fit, plain

FindingStatus = Literal["ok", "degraded", "unavailable"]
_ORDER: tuple[FindingStatus, ...] = ("ok", "degraded", "unavailable")
_OVERALL = {"ok": "healthy", "degraded": "degraded", "unavailable": "unavailable"}
_EXIT = {"ok": ExitCode.DONE, "degraded": ExitCode.FAILED, "unavailable": ExitCode.UNAVAILABLE}
_COLOURS: dict[FindingStatus, Colour] = {"ok": "green", "degraded": "yellow", "unavailable": "red"}


class Finding(Struct, frozen=True, omit_defaults=True):
    """`fix` is set for everything that is not ok."""

    name: str
    status: FindingStatus
    detail: str
    fix: str = ""


def worst(findings: Iterable[Finding]) -> FindingStatus:
    return _ORDER[max((_ORDER.index(finding.status) for finding in findings), default=0)]


def exit_code_of(findings: Iterable[Finding]) -> ExitCode:
    return _EXIT[worst(findings)]


def to_dict(findings: list[Finding]) -> dict[str, Any]:
    """Status and reasons as in `engine.health()`, and all findings."""
    return {
        "status": _OVERALL[worst(findings)],
        "reasons": [f"{found.name}: {found.detail}" for found in findings if found.status != "ok"],
        "findings": msgspec.to_builtins(findings),
    }


def tell(findings: list[Finding], screen: Screen) -> None:
    widest = max(len(finding.name) for finding in findings)
    for found in findings:
        status = screen.painted_out(fit(found.status, 11), _COLOURS[found.status])
        screen.print(f"{status}  {fit(found.name, widest)}  {plain(found.detail)}")
        if found.fix:
            screen.print(f"{'':13}{'':{widest}}  -> {plain(found.fix)}")
    screen.print(f"\n{_OVERALL[worst(findings)]}")
