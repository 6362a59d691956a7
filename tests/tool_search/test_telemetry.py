"""What is counted, and the comparison that is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import Engine, ToolHints
from codemode.tool_search import SearchTelemetry, comparison, comparison_report
from tests.harness.tool_search import Log

pytestmark = pytest.mark.usefixtures("leaves_nothing")


def tools_of(log: Log) -> list[Any]:
    return [
        log.tool("ship"),
        log.tool("pay", hints=ToolHints(requires_approval=True)),
        log.tool("issue", source="mcp", owner="github"),
        log.tool("pick", source="client", owner="app"),
        log.tool("read", source="openclaw"),
    ]


async def asked(engine: Engine) -> SearchTelemetry:
    """A search, a description, a call of each kind, and one that waits until it is approved."""
    prepared = await engine.tool_search({"mode": "tools", "coreTools": ["read"]}).prepare()
    await prepared.call("tool_search", {"query": "ship"})
    await prepared.call("tool_describe", {"id": "ship"})
    await prepared.call("tool_call", {"id": "ship", "args": {"subject": "x"}})
    await prepared.call("tool_call", {"id": "mcp:github:issue", "subject": "x"})
    await prepared.call("tool_call", {"id": "nope"})
    await prepared.call("tool_call", {"id": "ship", "args": {"subject": 3}})
    await prepared.call("read", {"subject": "x"})
    waits = await prepared.call("tool_call", {"id": "pay", "args": {"subject": "x"}})
    assert waits.approval is not None
    await prepared.approve(waits.approval.id)
    return await prepared.telemetry()


@pytest.mark.guarantee("tool-search-is-compared")
async def test_calls_are_counted_by_kind_and_listed_by_id_and_source() -> None:
    async with Engine(tools_of(Log()), False) as engine:
        told = await asked(engine)
        totals = engine.stats()["totals"]
    assert told.counts == {"search": 1, "describe": 1, "call": 6}
    assert told.failures == {"unknown_tool": 1, "invalid_arguments": 1}
    assert told.repairs == {"flattened": 1}
    assert (told.catalog_size, told.sources) == (4, {"client": 1, "mcp": 1, "plugin": 2})
    assert [(call.control, call.tool, call.source, call.status) for call in told.calls] == [
        ("tool_call", "plugin:acme:ship", "plugin", "ok"),
        ("tool_call", "mcp:github:issue", "mcp", "ok"),
        ("tool_call", "plugin:acme:ship", "plugin", "error"),
        ("read", "openclaw:core:read", "openclaw", "ok"),
        ("tool_call", "plugin:acme:pay", "plugin", "ok"),
    ]
    assert told.calls[0].bytes_in == len(b'{"subject":"x"}')
    assert told.calls[0].bytes_out == len(b'{"did":"ship","subject":"x"}')
    assert totals["counts"] == {"search": 1, "describe": 1, "call": 7}  # the one that waited was begun twice


async def test_calls_of_a_program_are_told_one_by_one() -> None:
    text = (
        "const [hit] = await openclaw.tools.search('ship'); await openclaw.tools.describe(hit.id);\n"
        "await openclaw.tools.call(hit.id, { subject: 'x' });\n"
        "await openclaw.tools.call('nope', {}).catch(() => 0); return 1"
    )
    async with Engine(tools_of(Log()), False) as engine:
        prepared = await engine.tool_search({"mode": "code"}).prepare()
        await prepared.call("tool_search_code", {"code": text})
        told = await prepared.telemetry()
    assert told.counts == {"search": 1, "describe": 1, "call": 2, "program": 1}
    assert [(call.control, call.tool, call.status) for call in told.calls] == [
        ("tool_search_code", "plugin:acme:ship", "ok")
    ]
    assert told.failures == {}


async def test_telemetry_holds_no_argument_and_no_result() -> None:
    async with Engine([Log().tool("ship")], False) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        await prepared.call("tool_search", {"query": "secret ship"})
        await prepared.call("tool_call", {"id": "ship", "args": {"subject": "secret"}})
        told = (await prepared.telemetry()).to_dict()
    assert "secret" not in str(told)
    assert told["tokensSaved"] == told["direct"]["tokens"] - told["shown"]["tokens"]


@pytest.mark.guarantee("tool-search-is-compared")
async def test_the_comparison_has_a_row_for_direct_exposure_and_one_for_each_run() -> None:
    async with Engine(tools_of(Log()), False) as engine:
        other = await (await engine.tool_search({"mode": "directory"}).prepare()).telemetry()
        tools = await asked(engine)
        directory = other
    direct, first, second = comparison(tools, directory)
    assert (direct["mode"], direct["tools"], direct["saved"]) == ("direct", 5, "0.0 %")
    assert (first["mode"], first["tools"], first["search"], first["call"], first["failed"]) == (
        "tools",
        4,
        1,
        6,
        2,
    )
    assert (second["mode"], second["tools"], second["promptBytes"]) == (
        "directory",
        4,
        directory.shown.prompt_bytes,
    )
    lines = comparison_report(tools, directory).splitlines()
    assert lines[0].split("  ")[0] == "mode"
    assert [line.split()[0] for line in lines[1:4]] == ["direct", "tools", "directory"]
    assert "tools: 4 deferred (1 client, 1 mcp, 2 plugin)" in lines
    assert "tools: arguments repaired: flattened 1" in lines
    assert any(line.startswith("tools: tool_call -> mcp:github:issue (mcp) ok ") for line in lines)
    assert comparison_report() == "Nothing to compare."
