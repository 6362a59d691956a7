"""Policy through the engine: from a host's document, and by what the host says about the caller of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, ConfigError, Engine, load_config, read_config
from codemode.config import read_document
from tests.harness.engine import echo, engine, value_of, waiting
from tests.harness.tool_samples import make

pytestmark = pytest.mark.usefixtures("leaves_nothing")

NAMES = "return ALL_TOOLS.map((entry) => entry.name)"


def tools_named(*names: str) -> list[Any]:
    return [make(name) for name in names]


@pytest.mark.guarantee("policy-is-never-ignored")
async def test_the_policy_of_a_hosts_document_holds_for_what_is_shown_and_what_runs(tmp_path: Path) -> None:
    document = {
        "tools": {"codeMode": True, "deny": ["browser"], "profile": "coding"},
        "agents": {"list": [{"id": "support", "tools": {"profile": "messaging"}}]},
    }
    file = tmp_path / "host.json"
    file.write_text(json.dumps(document))
    tools = tools_named("browser", "canvas", "message", "read")

    for config in (document, load_config(document), read_document(file), read_config(file)):
        async with Engine(tools, config, settings={"warmWorkers": 1}) as made:
            prepared = await made.prepare()
            assert prepared.catalog is not None
            assert [tool.name for tool in prepared.catalog.tools] == ["read"]
            assert value_of(await made.exec(NAMES)) == ["read"]
            assert value_of(await made.exec(NAMES, agent="support")) == ["message"]


@pytest.mark.guarantee("policy-is-never-ignored")
def test_an_engine_is_not_made_of_a_document_whose_policy_cannot_be_understood() -> None:
    for document in (
        {"tools": {"codeMode": True, "dney": ["browser"]}},
        {"tools": {"codeMode": True, "profile": "codign"}},
        {"tools": {"codeMode": True}, "deny": ["browser"]},
        {"tools": {"codeMode": True}, "agents": {"list": [{"tools": {"deny": ["browser"]}}]}},
    ):
        with pytest.raises(ConfigError):
            Engine([echo], document)


@pytest.mark.guarantee("policy-only-narrows")
async def test_a_policy_and_a_document_both_apply() -> None:
    document = {"tools": {"codeMode": True, "allow": ["read", "write", "exec"]}}
    policy = {"deny": ["exec"], "groups": {"mine": ["write", "exec"]}}

    tools = tools_named("read", "write", "exec", "edit")
    async with Engine(tools, document, policy=policy, settings={"warmWorkers": 1}) as made:
        assert value_of(await made.exec(NAMES)) == ["read", "write"]
        assert value_of(await made.exec(NAMES, allow=["group:mine"])) == ["write"]


@pytest.mark.guarantee("policy-of-the-caller")
async def test_channel_sender_and_sandbox_decide_what_a_program_has_each_time() -> None:
    policy = {
        "sandbox": {"tools": {"allow": ["read"], "alsoAllow": ["message"]}},
        "byChannel": {"public-*": {"deny": ["exec"]}},
        "bySender": {"Bob": {"deny": ["write"]}},
    }
    everything = ["exec", "message", "read", "write"]
    callers: list[tuple[CallContext | None, list[str]]] = [
        (None, everything),
        (CallContext(channel="PUBLIC-1"), ["message", "read", "write"]),
        (CallContext(channel="private"), everything),
        (CallContext(sender="bob"), ["exec", "message", "read"]),
        (CallContext(sender="bob", channel="public-2"), ["message", "read"]),
        (CallContext(sandbox="docker"), ["message", "read"]),
        (CallContext(sandbox="docker", sender="ada"), ["message", "read"]),
        (CallContext(), everything),
    ]

    async with engine(tools_named(*everything), policy=policy) as made:
        for _ in range(2):  # the second time from what the engine kept
            for context, names in callers:
                assert value_of(await made.exec(NAMES, context=context)) == names, context
                prepared = await made.prepare(context=context)
                assert prepared.catalog is not None
                assert [tool.name for tool in prepared.catalog.tools] == names, context


@pytest.mark.guarantee("policy-of-the-caller")
async def test_more_callers_than_an_engine_keeps_catalogs_for_each_have_their_own() -> None:
    names = [f"tool_{number}" for number in range(80)]
    policy = {"bySender": {name: {"allow": [name]} for name in names}}

    async with engine(tools_named(*names), policy=policy) as made:
        for name in (*names, *names[:3]):
            prepared = await made.prepare(context=CallContext(sender=name))
            assert prepared.catalog is not None
            assert [tool.name for tool in prepared.catalog.tools] == [name]
        for name in (names[0], names[79], names[0]):
            result = await made.exec(NAMES, context=CallContext(sender=name))
            assert value_of(result) == [name]


@pytest.mark.guarantee("policy-of-the-caller")
async def test_a_restart_does_not_lead_a_run_out_of_its_sandbox(tmp_path: Path) -> None:
    rules = {"sandbox": {"tools": {"deny": ["exec"]}}, "bySender": {"bob": {"deny": ["write"]}}}
    tools, store = tools_named("exec", "read", "write"), tmp_path / "runs.sqlite"
    program = "await yield_control(); return Object.keys(tools).slice(3)"

    async with engine(tools, policy=rules, store=store) as first:
        context = CallContext(sender="bob", sandbox="docker")
        asked = waiting(await first.exec(program, context=context))
    async with engine(tools, policy=rules, store=store) as second:
        assert value_of(await second.wait(asked.run_id)) == ["read"]


@pytest.mark.guarantee("deny-sees-through-disguises")
async def test_a_disguised_tool_of_a_run_is_denied_under_its_plain_name() -> None:
    disguised = [make("browser\u200b", source="client"), make("ｂrowser ", source="client"), make("read")]

    async with engine([echo], policy={"deny": ["browser"]}) as made:
        assert value_of(await made.exec(NAMES, tools=disguised)) == ["echo", "read"]


@pytest.mark.guarantee("no-tools-no-code-mode")
async def test_a_policy_that_leaves_no_tool_is_told_with_the_step() -> None:
    async with engine([echo], policy={"bySender": {"*": {"allow": ["vault"]}}}) as made:
        prepared = await made.prepare()
        assert (prepared.active, prepared.visible) == (False, ())
        assert prepared.warnings == (
            'bySender.*: "vault" in the allowlist matches no tool',
            "bySender.*: leaves no tool of the 1 before it",
        )
