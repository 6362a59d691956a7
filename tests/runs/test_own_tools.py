"""What belongs to one run alone, its own tools and its allowlist, holds after a restart too."""

from __future__ import annotations

from pathlib import Path

import pytest

from codemode import ConfigError, Engine
from codemode.contract.results import CodeModeResult, Waiting
from tests.harness.tool_samples import make

pytestmark = pytest.mark.usefixtures("leaves_nothing")
READ, SHELL = make("read"), make("shell")
OWN = make("own", source="client", owner="app")


async def suspended(engine: Engine, program: str) -> str:
    held = await engine.exec(program, tools=[OWN], allow=["read", "own"])
    assert isinstance(held, Waiting)
    return held.run_id


async def after_a_restart(path: Path, program: str, *own: object) -> CodeModeResult:
    async with Engine([READ, SHELL], store=path) as engine:
        run_id = await suspended(engine, program)
    async with Engine([READ, SHELL], store=path) as engine:
        return await engine.wait(run_id, tools=own)


async def test_a_runs_own_allowlist_holds_after_a_restart(tmp_path: Path) -> None:
    program = "await yield_control(); await tools.call('read'); return await tools.call('shell')"
    result = await after_a_restart(tmp_path / "runs.sqlite", program)

    assert result.status == "failed"
    assert result.code == "nested_tool_failed"
    assert [(call.name, call.status) for call in result.telemetry.calls] == [
        ("read", "ok"),
        ("shell", "error"),
    ]


async def test_a_runs_own_tools_can_be_given_again_after_a_restart(tmp_path: Path) -> None:
    program = "await yield_control(); return (await tools.own({})) !== undefined"
    result = await after_a_restart(tmp_path / "runs.sqlite", program, OWN)

    assert result.status == "completed"
    assert result.value is True


@pytest.mark.parametrize("allow", [["raed"], ["plugin:gone:tool"], []])
async def test_an_allowlist_of_a_run_that_names_nothing_leaves_nothing(allow: list[str]) -> None:
    async with Engine([READ, SHELL]) as engine:
        result = await engine.exec("return ALL_TOOLS.length", allow=allow)
    assert result.status == "completed"
    assert result.value == 0


async def test_a_text_is_no_allowlist() -> None:
    with pytest.raises(ConfigError, match="must be a list of names"):
        await Engine([READ]).prepare(allow="read")


async def test_own_tools_that_clash_after_a_restart_are_refused_and_the_run_stays(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with Engine([READ], store=path) as engine:
        run_id = await suspended(engine, "await yield_control(); return 7")
    async with Engine([READ], store=path) as engine:
        clash = await engine.wait(run_id, tools=[make("read")])
        result = await engine.wait(run_id, tools=[OWN])
    assert (clash.status, result.status) == ("failed", "completed")
    assert clash.to_dict()["code"] == "invalid_config"
