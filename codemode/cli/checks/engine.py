"""The doctor's checks of a running engine: its workers, their confinement, its store and its MCP servers."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from codemode_runtime.shapes import Layer

from codemode import clock
from codemode.cli.checks.findings import Finding, FindingStatus
from codemode.cli.engine_session import open_engine, progress
from codemode.cli.errors import CommandError
from codemode.cli.terminal.screen import Screen
from codemode.engine import Engine
from codemode.health import Health

_STATUS: dict[str, FindingStatus] = {"healthy": "ok", "degraded": "degraded", "unavailable": "unavailable"}
_SERVER = "MCP server "
_FIXES = {
    "workers": "the reason says what is missing; CODEMODE_DEBUG=1 codemode run -e 'return 1' shows the start",
    "store": "make room, or name another file with --store",
    "namespaces": "allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, or"
    " kernel.apparmor_restrict_unprivileged_userns=0), also of the container",
    "landlock": "use Linux 5.13 or newer with landlock in the boot parameter lsm=",
    "seccomp": "use a kernel with CONFIG_SECCOMP_FILTER, and a container that lets processes set filters",
}
_LAYER = (
    'use a kernel, or container settings, that have it; settings.confinement "require" refuses to run without'
)


async def check_engine(arguments: dict[str, Any], screen: Screen) -> list[Finding]:
    """Starts an engine and asks for its health. A failure to start is a finding too."""
    began = time.perf_counter()
    try:
        async with open_engine(arguments, screen) as engine:
            ms = clock.ms_since(began)
            async with progress(screen, "probing workers, store and servers"):
                health = await engine.probe()
            return [*_parts(health, ms), *_layers(engine)]
    except CommandError as error:
        problem, _, advice = str(error).partition("; ")
        return [Finding("engine", "unavailable", problem, advice or "correct what the options name")]


def _parts(health: Health, ms: float) -> list[Finding]:
    """All but the confinement, whose layers are told one by one."""
    found: list[Finding] = []
    tools = {server["server"]: server["tools"] for server in health.mcp}
    for check in health.checks:
        name, status = check.name, _STATUS[check.status]
        server = name.removeprefix(_SERVER)
        match name:
            case "confinement":
                continue
            case "workers":
                detail = f"a program ran; the engine had started in {ms:.0f} ms"
            case _ if name.startswith(_SERVER):
                detail = f"connected, {tools.get(server, 0)} tools"
            case _:
                detail = "a run could be suspended"
        fix = _FIXES.get(name, f"start the server by hand, and correct its entry in mcpServers.{server}")
        found.append(
            Finding(name, status, detail) if status == "ok" else Finding(name, status, check.reason, fix)
        )
    return found


def _layers(engine: Engine) -> list[Finding]:
    layers = engine.stats().workers.confinement
    found = [
        Finding(f"confinement: {layer.name}", "ok", layer.detail)
        if layer.status == "active"
        else Finding(
            f"confinement: {layer.name}",
            "degraded",
            f"{layer.status}: {layer.detail}{_still_given(layer.name, layers)}",
            _FIXES.get(layer.name, _LAYER),
        )
        for layer in layers
    ]
    if engine.settings.confinement == "off":  # a few layers are active even then
        off = Finding("confinement", "degraded", "switched off", "remove confinement: off from the settings")
        return [off, *found]
    return found


def _still_given(name: str, layers: Iterable[Layer]) -> str:
    """What is lost without a layer: some guarantees have another one too."""
    from codemode_runtime.confine.layers import GUARANTEES

    active = {layer.name for layer in layers if layer.status == "active"}
    lost = [told for told, givers in GUARANTEES.items() if name in givers and active.isdisjoint(givers)]
    return f"; lost: {', '.join(lost)}" if lost else "; another layer gives the same"
