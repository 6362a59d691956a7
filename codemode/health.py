"""Whether an engine can do its work: the last known status, and probes that find out.

`engine.health()` returns the last known status and runs no probe; `await engine.probe()` tries each part for
real: it runs a program in a worker, writes and deletes a snapshot, and asks each MCP server for a list.
Probes change nothing that lasts.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import msgspec
from codemode_runtime import wire
from codemode_runtime.shapes import Limits
from codemode_snapshots import RunScope, SnapshotError, StoreFull
from codemode_snapshots.label import NO_VALUE
from msgspec import Struct

from codemode.catalog import Catalog
from codemode.contract.error_codes import HealthStatus
from codemode.contract.report import Report, WorkerStats
from codemode.contract.results import Failed
from codemode.executor import Executor
from codemode.gate.heartbeat import within
from codemode.mcp.bridge import McpBridge
from codemode.plugins import PluginRegistry
from codemode.runs.environment import Environment
from codemode.runs.loop_watch import LoopWatch
from codemode.runs.stored_runs import StoredRuns
from codemode.workers.errors import QueueFull, SupervisorError
from codemode.workers.supervisor import Supervisor

_ORDER: tuple[HealthStatus, ...] = ("healthy", "degraded", "unavailable")
_PATIENCE_SECONDS = 10.0
_PLUGIN = "plugin "
_PROBE_MS = 1_000
_STALL_SECONDS = 1.0  # a loop that was held up for longer is told of
_WHO = RunScope(NO_VALUE, "-health", NO_VALUE, NO_VALUE)


class HealthCheck(Struct, frozen=True):
    """The status of one part of the engine, with a reason unless it is healthy."""

    name: str
    status: HealthStatus = "healthy"
    reason: str = ""


class Health(Report):
    """The status of an engine: `reasons` has a line for each check that is not healthy.

    It is a dict with the same keys too, with `mcp` only if there are servers. `await engine.health()` is the
    older spelling of `await engine.probe()`.
    """

    status: HealthStatus
    reasons: list[str]

    def __init__(
        self, known: dict[str, Any], probe: Callable[[], Coroutine[Any, Any, Health]] | None = None
    ) -> None:
        super().__init__(known)
        object.__setattr__(self, "_probe", probe)

    @property
    def checks(self) -> tuple[HealthCheck, ...]:
        return msgspec.convert(self["checks"], tuple[HealthCheck, ...])

    @property
    def mcp(self) -> list[dict[str, Any]]:
        """Each MCP server: its name, state, tools, and the reason why it is not connected."""
        return self.get("mcp", [])

    def __await__(self) -> Generator[Any, None, Health]:
        probe: Callable[[], Coroutine[Any, Any, Health]] | None = self.__dict__["_probe"]
        if probe is None:
            raise TypeError("this health was asked of a blocking engine: call its probe().")
        return probe().__await__()


class Doctor:
    """Examines one engine."""

    def __init__(
        self,
        supervisor: Supervisor,
        stored: StoredRuns,
        mcp: McpBridge,
        plugins: PluginRegistry,
        loop: LoopWatch,
    ) -> None:
        self._supervisor = supervisor
        self._stored = stored
        self._mcp = mcp
        self._plugins = plugins
        self._loop_watch = loop

    def look(self, state: Callable[[], tuple[bool, Failed | None]]) -> Health:
        """The last known status; runs no probe. `state`: whether the engine is open, and what stopped it."""
        blocked = _blocked(*state())
        known = [blocked or HealthCheck("workers"), *self._common()]

        async def probe() -> Health:
            if _blocked(*state()) is not None:  # again: the probe may run long after `look`
                return self.look(state)
            workers, store, _, _ = await asyncio.gather(
                self._probe_workers(),
                self._probe_store(),
                self._mcp.probe(_PATIENCE_SECONDS),
                self._plugins.probe(_PATIENCE_SECONDS),
            )
            return Health(self._report([workers, store, *self._common()]), probe)

        return Health(self._report(known), probe)

    def _common(self) -> list[HealthCheck]:
        is_off = self._supervisor.settings.engine.confinement == "off"
        return [
            _confinement(self._supervisor.stats(), is_off),
            *_loop(self._loop_watch),
            *_servers(self._mcp),
            *(
                HealthCheck(f"{_PLUGIN}{name}", own.status, own.reason)
                for name, own in self._plugins.health().items()
            ),
        ]

    def _report(self, checks: list[HealthCheck]) -> dict[str, Any]:
        worst = max(map(_share, checks), key=_ORDER.index)
        found: dict[str, Any] = {
            "status": worst,
            "reasons": [f"{check.name}: {check.reason}" for check in checks if check.status != "healthy"],
            "checks": [{"name": c.name, "status": c.status, "reason": c.reason} for c in checks],
        }
        servers = self._mcp.health()
        return found | {"mcp": servers} if servers else found

    async def _probe_workers(self) -> HealthCheck:
        """Runs a small program, through the same queue as every run."""
        catalog = Catalog(())
        environment = Environment(catalog, Executor(catalog))
        limits = Limits(memory_bytes=1 << 20, output_bytes=1 << 10, pending_calls=1)
        try:
            async with within(_PATIENCE_SECONDS):
                with await self._supervisor.lease(session=_WHO.session) as worker:
                    outcome = await worker.start("return 6 * 7", "javascript", limits, _PROBE_MS, environment)
        except TimeoutError:
            return HealthCheck("workers", "degraded", f"no worker was free within {_PATIENCE_SECONDS:g} s")
        except QueueFull as error:
            return HealthCheck("workers", "degraded", str(error))
        except SupervisorError as error:
            return HealthCheck("workers", "unavailable", str(error))
        if isinstance(outcome, wire.Done) and bytes(outcome.result.value) == b"42":
            return HealthCheck("workers")
        return HealthCheck("workers", "unavailable", "a worker did not run a program as it should")

    async def _probe_store(self) -> HealthCheck:
        run_id = f"probe_{secrets.token_hex(8)}"
        try:
            await self._stored.save("probe", run_id, _WHO, _PROBE_MS, b"", b"", None)
            await self._stored.end(run_id, _WHO, "aborted", is_kept=False)
        except StoreFull as error:
            return HealthCheck("store", "degraded", f"no room for another suspended run: {error}")
        except SnapshotError as error:
            return HealthCheck("store", "degraded", f"no run can be suspended: {error}")
        return HealthCheck("store")


def _share(check: HealthCheck) -> HealthStatus:
    """What a check means for the engine: without a plugin it still runs programs."""
    return "degraded" if check.name.startswith(_PLUGIN) and check.status != "healthy" else check.status


def _blocked(is_open: bool, start_failure: Failed | None) -> HealthCheck | None:
    if not is_open:
        return HealthCheck("workers", "unavailable", "the engine is not started")
    return None if start_failure is None else HealthCheck("workers", "unavailable", start_failure.error)


def _confinement(workers: WorkerStats, is_off: bool) -> HealthCheck:
    """The check of the confinement. A missing layer degrades the engine, and does not fail it."""
    if is_off:  # workers then report few layers, and all of them active
        return HealthCheck("confinement", "degraded", 'switched off by the setting confinement: "off"')
    missing = [f"{layer.name}: {layer.detail}" for layer in workers.confinement if layer.status != "active"]
    return HealthCheck("confinement", "degraded" if missing else "healthy", "; ".join(missing))


def _loop(watch: LoopWatch) -> list[HealthCheck]:
    """Only after it was held up: whatever computes in it holds up every run."""
    found = watch.lately()
    if found is None or found[0] < _STALL_SECONDS:
        return []
    seconds, ago = found
    reason = f"held up for {seconds:.1f} s, {ago:.0f} s ago: something in this process computes in it"
    return [HealthCheck("event loop", "degraded", reason)]


def _servers(mcp: McpBridge) -> list[HealthCheck]:
    """A check for each server. An unreachable one degrades the engine, and never makes it unavailable."""
    return [
        HealthCheck(f"MCP server {one['server']}", "degraded" if one["reason"] else "healthy", one["reason"])
        for one in mcp.health()
    ]
