"""Tool Search asks the policy about the caller of each call, and takes no document with another policy."""

from __future__ import annotations

import pytest

from codemode import CallContext, ConfigError, Engine
from tests.harness.tool_search import MODES, Log, call

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SANDBOXED = CallContext(sandbox="docker")
RULES = {"sandbox": {"tools": {"deny": ["sink_*"]}}, "bySender": {"bob": {"deny": ["*"]}}}


@pytest.mark.guarantee("tool-search-fails-closed")
@pytest.mark.parametrize("mode", MODES)
async def test_a_sandboxed_run_cannot_find_or_call_what_the_sandbox_takes(mode: str) -> None:
    log = Log()

    async with Engine([log.tool("sink_ship"), log.tool("find_ship")], False, policy=RULES) as engine:
        prepared = await engine.tool_search({"mode": mode}).prepare(context=SANDBOXED)
        assert [tool.name for tool in (await prepared.catalog()).tools] == ["find_ship"]
        refused = await call(prepared, "sink_ship", {"subject": "x"})
        assert 'No tool "sink_ship"' in str(refused.to_dict())
        nobody = await engine.tool_search({"mode": mode}).prepare(context=CallContext(sender="Bob"))
        assert nobody.visible == ()
        assert nobody.warnings == ("bySender.bob: leaves no tool of the 2 before it",)
    assert log.ran == []


@pytest.mark.guarantee("tool-search-fails-closed")
async def test_the_context_of_one_call_decides_about_that_call() -> None:
    log = Log()

    async with Engine([log.tool("sink_ship"), log.tool("find_ship")], False, policy=RULES) as engine:
        prepared = await engine.tool_search({"mode": "tools"}).prepare()
        wish = {"id": "sink_ship", "args": {"subject": "x"}}
        inside = await prepared.call("tool_call", wish, context=SANDBOXED)
        outside = await prepared.call("tool_call", wish, context=CallContext(sender="ada"))
        sandboxed = await engine.tool_search({"mode": "tools"}).prepare(context=SANDBOXED)
        # which says nothing of a sandbox, and so leads nowhere out of it
        still = await sandboxed.call("tool_call", wish, context=CallContext(sender="ada"))

    assert (inside.code, outside.status, still.code) == ("unknown_tool", "completed", "unknown_tool")
    assert len(log.ran) == 1


@pytest.mark.guarantee("policy-is-never-ignored")
async def test_a_document_with_a_policy_that_the_engine_does_not_have_is_refused() -> None:
    document = {"tools": {"toolSearch": {"mode": "tools"}, "deny": ["sink_*"]}}
    tools = [Log().tool("sink_ship"), Log().tool("find_ship")]

    async with Engine(tools, False) as engine:
        with pytest.raises(ConfigError, match=r"^policy: this document has a tool policy that is not in"):
            engine.tool_search(document)
    async with Engine(tools, document) as engine:
        prepared = await engine.tool_search(document).prepare()
        assert [tool.name for tool in (await prepared.catalog()).tools] == ["find_ship"]
