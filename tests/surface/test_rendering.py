"""The prepared surface, in the shapes providers take, passes the guard over the final payload."""

from typing import Any, get_args

import pytest

from codemode import Engine
from codemode.surface import PayloadRefused, PreparedRun, Provider, check_payload, render_tools
from codemode.tools import CallContext
from tests.harness.tool_samples import make, takes

READ = make("read", parameters=takes("path"))


async def prepare(config: object = True, **options: Any) -> PreparedRun:
    return await Engine([READ], config).prepare(**options)


@pytest.mark.parametrize("provider", get_args(Provider))
async def test_a_prepared_run_passes_the_guard_in_every_shape(provider: Provider) -> None:
    check_payload({"tools": render_tools((await prepare()).visible, provider)})


@pytest.mark.parametrize("provider", get_args(Provider))
async def test_a_tool_that_slips_in_is_found_in_every_shape(provider: Provider) -> None:
    with pytest.raises(PayloadRefused, match='contains the tool "read"'):
        check_payload({"tools": render_tools((*(await prepare()).visible, READ), provider)})


async def test_without_code_mode_the_tools_are_shown_as_they_are() -> None:
    assert (await prepare(False)).visible == (READ,)


@pytest.mark.parametrize("options", [{"disable_tools": True}, {"allow": []}])
async def test_a_run_without_tools_on_purpose_does_not_activate_code_mode(options: dict[str, Any]) -> None:
    prepared = await prepare(**options)

    assert (prepared.active, prepared.visible) == (False, ())


@pytest.mark.usefixtures("leaves_nothing")
async def test_the_exec_of_a_prepared_run_has_its_tools_allowlist_and_scope() -> None:
    shell = make("shell", parameters=takes("command"))
    own = make("own", source="client", owner="app")
    async with Engine([READ, shell]) as engine:
        prepared = await engine.prepare(session="a", tools=[own], allow=["read", "own"])
        execute, wait = prepared.visible

        seen = await execute.run({"code": "return Object.keys(tools).sort()"}, CallContext())
        held = await execute.run({"code": "await yield_control(); return 7"}, CallContext(call_id="c1"))
        foreign = await engine.wait(held["runId"], session="b")
        mine = await wait.run({"runId": held["runId"]}, CallContext(call_id="c2"))

    assert seen["value"] == ["call", "describe", "own", "read", "search"]
    assert (foreign.status, mine["value"]) == ("failed", 7)
