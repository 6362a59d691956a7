"""Each mode of Tool Search from the payload to the tool: the same call as without it, for far fewer bytes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from codemode import CallContext, Engine
from codemode.executor import AuditEvent
from codemode.tool_search import comparison_report
from tests.harness.tool_samples import make
from tests.harness.tool_search import MODES, Log, catalog_of_300, payload, reach

pytestmark = pytest.mark.usefixtures("leaves_nothing")

WISH = "update record_20"  # a plugin's, so that a directory may name it
ARGUMENTS = {"subject": "x", "count": 3}


@pytest.mark.guarantee("tool-search-reaches-the-same-call")
@pytest.mark.parametrize("mode", MODES)
async def test_each_mode_reaches_the_tool_that_direct_exposure_reaches_with_the_same_call(mode: str) -> None:
    async def reached(config: object) -> Any:
        log, audited = Log(), list[AuditEvent]()
        async with Engine(catalog_of_300(log), False, hooks=log, audit=audited.append) as engine:
            prepared = await engine.tool_search(config).prepare(
                session="s1", agent="a1", context=CallContext(sender="ann", channel="mail")
            )
            answer = await reach(prepared, WISH, ARGUMENTS)
        assert answer.status == "completed", answer
        [context], [event] = log.contexts, audited
        who = (context.agent_id, context.session_id, context.sender, context.channel, context.tool_id)
        heard = (event.tool, event.tool_id, event.outcome, event.argument_names, event.agent_id)
        return answer.value, log.ran, log.before, log.after, who, heard

    direct = await reached(False)
    searched = await reached({"mode": mode})
    assert direct == searched
    tool = "update_record_20"
    assert direct == (
        {"did": tool, **ARGUMENTS},
        [(tool, ARGUMENTS)],
        [(tool, f"plugin:crm:{tool}", ARGUMENTS)],
        [(tool, "ok")],
        ("a1", "s1", "ann", "mail", f"plugin:crm:{tool}"),
        (tool, f"plugin:crm:{tool}", "ok", ("subject", "count"), "a1"),
    )


@pytest.mark.guarantee("tool-search-is-compared")
async def test_the_payload_of_300_tools_shrinks_in_each_mode_by_what_telemetry_says() -> None:
    async with Engine(catalog_of_300(Log()), False) as engine:
        found: dict[str, Any] = {}
        for mode in MODES:
            prepared = await engine.tool_search({"mode": mode}).prepare()
            found[mode] = (payload(prepared), await prepared.telemetry())
        direct = await engine.tool_search(False).prepare()
        whole = payload(direct)
        told = await direct.telemetry()
    direct_bytes = len(msgspec.json.encode(whole["tools"]))
    assert len(whole["tools"]) == 300
    assert told.direct == told.shown
    assert told.direct.schema_bytes == direct_bytes
    names = {mode: [one["function"]["name"] for one in sent["tools"]] for mode, (sent, _) in found.items()}
    three = ["tool_search", "tool_describe", "tool_call"]
    assert names == {"code": ["tool_search_code"], "tools": three, "directory": three}
    for sent, telemetry in found.values():
        assert telemetry.direct.schema_bytes == direct_bytes
        assert telemetry.shown.schema_bytes == len(msgspec.json.encode(sent["tools"]))
        assert telemetry.shown.schema_bytes < direct_bytes // 50
        assert telemetry.catalog_size == 300
        assert telemetry.sources == {"mcp": 150, "plugin": 150}
    assert found["directory"][1].shown.prompt_bytes == len(
        found["directory"][0]["messages"][0]["content"].encode()
    )
    report = comparison_report(*(telemetry for _, telemetry in found.values())).splitlines()
    assert [line.split()[0] for line in report[:5]] == ["mode", "direct", "code", "tools", "directory"]
    assert f"{direct_bytes:,}" in report[1]


@pytest.mark.guarantee("core-tools-are-never-deferred")
@pytest.mark.parametrize("mode", MODES)
async def test_core_tools_stay_as_they_are_and_are_in_no_catalog(mode: str) -> None:
    log = Log()
    read, write = (log.tool(name, source="openclaw") for name in ("read", "write"))
    status, other = log.tool("session_status", source="openclaw"), log.tool("other")
    async with Engine([read, other, write, status], False) as engine:
        search = engine.tool_search({"mode": mode, "coreTools": ["group:fs", "SESSION_*"]})
        prepared = await search.prepare()
        called = await prepared.call("read", {"subject": "it"})
        visible = [tool.name for tool in prepared.visible]
        listed = [t.name for t in (await prepared.catalog()).tools]
    assert visible[:3] == ["read", "write", "session_status"]
    assert set(visible[3:]) <= {"tool_search_code", "tool_search", "tool_describe", "tool_call"}
    assert (called.status, called.value) == ("completed", {"did": "read", "subject": "it"})
    assert listed == ["other"]


async def test_client_tools_stay_direct_in_a_directory_and_are_found_in_the_other_modes() -> None:
    pick = make("pick_file", source="client", owner="app")
    found: dict[str, Any] = {}
    async with Engine([make("other", source="plugin")], False) as engine:
        for mode in MODES:
            prepared = await engine.tool_search({"mode": mode}).prepare(tools=[pick])
            is_direct = "pick_file" in [tool.name for tool in prepared.visible]
            found[mode] = (is_direct, "client:app:pick_file" in await prepared.catalog())
        assert found == {"code": (False, True), "tools": (False, True), "directory": (True, False)}


async def test_controls_run_by_a_host_that_runs_its_tools_itself_answer_the_same() -> None:
    log = Log()
    async with Engine([log.tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        control = next(tool for tool in prepared.visible if tool.name == "tool_call")
        found = await control.run({"id": "ship", "args": {"subject": "x"}}, CallContext(call_id="call_7"))
    assert found == {"status": "completed", "value": {"did": "ship", "subject": "x"}}
    assert [context.call_id for context in log.contexts] == ["call_7"]


@pytest.mark.parametrize("mode", MODES)
async def test_controls_are_marked_as_such_and_their_schemas_are_flat(mode: str) -> None:
    async with Engine([make("a", source="plugin")], False) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare()
    for control in prepared.visible:
        assert control.control
        assert control.parameters["type"] == "object"
        assert not {"oneOf", "anyOf", "allOf"} & control.parameters.keys()


@pytest.mark.guarantee("code-mode-supersedes-tool-search")
async def test_where_code_mode_is_active_the_model_has_exec_and_wait_and_no_control() -> None:
    log = Log()
    async with Engine([log.tool("ship")], True) as engine:
        prepared = await engine.tool_search(True).prepare(session="s1")
        ran = await prepared.call("exec", {"code": "return await tools.ship({ subject: 'x' })"})
        refused = await prepared.call("tool_call", {"id": "ship", "args": {"subject": "x"}})
        visible = [tool.name for tool in prepared.visible]
        mode = prepared.mode
        why = prepared.decision.why
    assert (visible, mode, why) == (["exec", "wait"], None, "code_mode")
    assert ran.value["value"] == {"did": "ship", "subject": "x"}
    assert refused.code == "unknown_tool"
    assert log.ran == [("ship", {"subject": "x"})]


async def test_events_of_a_call_through_a_control_name_the_real_tool() -> None:
    async with Engine([Log().tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        subscription = engine.events()
        await prepared.call("tool_call", {"id": "ship", "args": {"subject": "x"}})
        started, finished = [(await anext(subscription)).to_dict() for _ in range(2)]
    assert (started["type"], started["name"], started["tool"]) == ("call_started", "ship", "plugin:acme:ship")
    assert (finished["type"], finished["name"], finished["status"]) == ("call_finished", "ship", "ok")
