"""Health: each state provoked for real, told at once as far as it is known, and found out when awaited."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from codemode import BlockingEngine, Engine
from codemode.config import EngineSettings, load_config
from codemode.executor import Decision
from codemode.health import Doctor, Health
from codemode.mcp.bridge import McpBridge
from codemode.plugins import PluginRegistry
from codemode.runs.loop_watch import LoopWatch
from codemode.runs.store_limits import store_limits
from codemode.runs.stored_runs import StoredRuns
from codemode.tools import CallContext
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor
from tests.harness.engine import Desk, echo, engine, failure_of, value_of
from tests.harness.loops import until
from tests.harness.mcp_servers import fast, fast_at, fast_listening, free_port, servers
from tests.harness.tool_search import damage_runtime, lose_runtime

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def checks(health: Health, *names: str) -> dict[str, str]:
    """The parts asked for, and their states; the confinement of the machine at hand is left out."""
    found = {check["name"]: check["status"] for check in health["checks"]}
    return {name: found[name] for name in names} if names else found


def reason_of(health: Health, name: str) -> str:
    return next(check["reason"] for check in health["checks"] if check["name"] == name)


@pytest.mark.guarantee("health-is-probed")
@pytest.mark.parametrize("store", [None, "runs.sqlite"])
async def test_an_engine_whose_parts_all_work_says_so_after_trying_them(
    store: str | None, tmp_path: Path
) -> None:
    file = None if store is None else tmp_path / store
    async with engine([echo], mcp=servers(fast=fast()), store=file) as made:
        known, probed = made.health(), await made.health()
        again = await probed
        left = await made.runs()
        value = value_of(await made.exec("return 1"))
    parts = {"workers": "healthy", "MCP server fast": "healthy"}
    assert checks(known, *parts) == parts
    for found in (probed, again):
        assert checks(found, *parts, "store") == parts | {"store": "healthy"}
    assert {check["name"] for check in probed["checks"]} == {*parts, "store", "confinement"}
    assert probed["mcp"][0]["state"] == "connected"
    assert (left, value) == ([], 1)  # probes leave nothing, and keep nothing from working
    # Layers that this machine does not have are the only reason there may be.
    assert [reason for reason in probed["reasons"] if not reason.startswith("confinement: ")] == []
    assert probed["status"] == ("degraded" if probed["reasons"] else "healthy")


@pytest.mark.guarantee("health-is-probed")
async def test_a_server_that_is_down_degrades_the_engine_and_its_return_heals_it() -> None:
    port = free_port()
    given = servers(fast=fast(), gone=fast_at(port, connect="lazy"))
    names = ("workers", "store", "MCP server fast", "MCP server gone")
    async with engine((), mcp=given) as made:
        async with fast_listening(port) as server:
            value_of(await made.exec("return 1"))  # connects the lazy one
            up = await made.health()
            server.send_signal(signal.SIGKILL)
            await server.wait()
            down = await made.health()
            works = value_of(await made.exec("return (await MCP.fast.add({ a: 1 })).result"))
        async with fast_listening(port):
            await until(lambda: made.health()["mcp"][1]["state"] == "connected")
            back = await made.health()
    fine = dict.fromkeys(names, "healthy")
    assert checks(up, *names) == checks(back, *names) == fine
    assert checks(down, *names) == fine | {"MCP server gone": "degraded"}
    assert down["status"] == "degraded"
    assert reason_of(down, "MCP server gone") != ""
    assert f"MCP server gone: {reason_of(down, 'MCP server gone')}" in down["reasons"]
    assert works == 2


async def test_a_server_that_cannot_be_started_degrades_the_engine_from_the_start() -> None:
    given = servers(bad={"command": "/nowhere/server"}, fast=fast())
    async with engine((), mcp=given) as made:
        known, probed = made.health(), await made.health()
    for found in (known, probed):
        assert checks(found, "MCP server bad", "MCP server fast", "workers") == {
            "MCP server bad": "degraded",
            "MCP server fast": "healthy",
            "workers": "healthy",
        }
        assert found["status"] == "degraded"


@pytest.mark.guarantee("health-is-probed")
async def test_a_layer_of_confinement_that_is_missing_is_named() -> None:
    async def nobody(context: CallContext, tool: str, summary: str, details: dict[str, Any]) -> Decision:
        return Decision(False)

    settings = WorkerSettings(EngineSettings(warm_workers=1), entry="tests.workers.open_zygote")
    async with Supervisor(settings) as supervisor:
        limits = store_limits(load_config(True), EngineSettings())
        stored, bridge = StoredRuns(None, limits), McpBridge(None, nobody)
        doctor = Doctor(supervisor, stored, bridge, PluginRegistry(()), LoopWatch(print))
        found = doctor.look(lambda: (True, None))
    assert found["status"] == "degraded"
    assert "seccomp: as if it were not there" in reason_of(found, "confinement")


async def test_confinement_that_is_switched_off_is_a_degradation_too() -> None:
    async with engine(settings={"confinement": "off"}) as made:
        found = await made.health()
    assert (found["status"], found["reasons"]) == (
        "degraded",
        ['confinement: switched off by the setting confinement: "off"'],
    )


@pytest.mark.guarantee("health-is-probed")
async def test_a_damaged_guest_image_makes_the_engine_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_runtime(tmp_path, monkeypatch)
    async with engine() as made:
        known = made.health()
        probed = await made.health()
        result = await made.exec("return 1")
    for found in (known, probed):
        assert (found["status"], checks(found, "workers")) == ("unavailable", {"workers": "unavailable"})
        assert "the guest image is damaged" in reason_of(found, "workers")
    assert "the guest image is damaged" in failure_of(result, "runtime_unavailable").error


@pytest.mark.guarantee("health-is-probed")
async def test_workers_that_cannot_be_started_any_more_are_found_by_the_probe_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with engine(settings={"warmWorkers": 0}) as made:
        [zygote] = made.stats()["workers"]["zygotes"]
        with monkeypatch.context() as patched:
            lose_runtime(patched)
            os.kill(zygote["pid"], signal.SIGKILL)
            await until(lambda: not made.stats()["workers"]["zygotes"])
            known, probed = made.health(), await made.health()
        healed = await made.health()
    assert checks(known, "workers") == {"workers": "healthy"}  # nothing is known until somebody asks
    assert (probed["status"], checks(probed, "workers")) == ("unavailable", {"workers": "unavailable"})
    assert "there is no native runner in /nowhere" in reason_of(probed, "workers")
    assert checks(healed, "workers") == {"workers": "healthy"}


async def test_a_full_queue_is_a_degradation_and_no_failure() -> None:
    desk = Desk()
    async with engine(desk.tools, settings={"maxWorkers": 1, "queueLimit": 0}) as made:
        running = asyncio.create_task(made.exec("return await tools.hold({ name: 'a' })"))
        await desk.asked("a")
        busy = await made.health()
        desk.answer("a")
        value_of(await running)
        free = await made.health()
    assert (busy["status"], checks(busy, "workers")) == ("degraded", {"workers": "degraded"})
    assert checks(free, "workers") == {"workers": "healthy"}


@pytest.mark.guarantee("health-is-probed")
async def test_a_store_that_cannot_be_written_degrades_the_engine(tmp_path: Path) -> None:
    async with engine(store=tmp_path / "runs.sqlite") as made:
        before = await made.health()
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))  # no file of this process can grow
        try:
            full = await made.health()
            works = value_of(await made.exec("return 1"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        after = await made.health()
    assert checks(before, "store") == checks(after, "store") == {"store": "healthy"}
    assert (full["status"], checks(full, "store", "workers")) == (
        "degraded",
        {"store": "degraded", "workers": "healthy"},
    )
    assert reason_of(full, "store").startswith("no run can be suspended: ")
    assert works == 1


async def test_a_store_without_room_for_another_run_degrades_the_engine() -> None:
    async with engine(settings={"maxSuspendedRuns": 1}) as made:
        await made.exec("await yield_control()")
        found = await made.health()
    assert checks(found, "store", "workers") == {"store": "degraded", "workers": "healthy"}
    assert reason_of(found, "store").startswith("no room for another suspended run: ")


async def test_an_engine_that_is_not_open_is_unavailable_and_probes_nothing() -> None:
    made = Engine([echo])
    before = await made.health()
    async with made:
        pass
    for found in (before, made.health(), await made.health()):
        assert (found["status"], found["reasons"][0]) == ("unavailable", "workers: the engine is not started")


async def test_health_that_is_awaited_after_the_engine_was_closed_says_so() -> None:
    engine = Engine()
    await engine.start()
    asked = engine.health()
    await engine.close()
    assert (asked["status"], (await asked)["status"]) == ("healthy", "unavailable")


async def test_health_is_typed_and_runs_no_probe_while_probe_tries_everything() -> None:
    async with engine([echo]) as made:
        known, probed = made.health(), await made.probe()
    assert [check.name for check in known.checks] == ["workers", "confinement"]
    assert [check.name for check in probed.checks] == ["workers", "store", "confinement"]
    assert {check.status for check in probed.checks if check.name != "confinement"} == {"healthy"}
    assert (probed.status, probed.reasons, probed.mcp) == (probed["status"], probed["reasons"], [])
    assert probed.to_dict() == dict(probed)
    assert "mcp" not in probed


def test_the_health_of_a_blocking_engine_is_probed_by_a_call_and_cannot_be_awaited() -> None:
    with BlockingEngine([echo], settings={"warmWorkers": 1}) as made:
        known, probed = made.health(), made.probe()
    assert [check.name for check in known.checks] == ["workers", "confinement"]
    assert [check.name for check in probed.checks] == ["workers", "store", "confinement"]
    with pytest.raises(TypeError, match=r"call its probe\(\)"):
        probed.__await__()
