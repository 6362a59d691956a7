"""Policy through the engine: what is denied does not exist for a program, in whatever way it asks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, Engine, tool
from codemode.namespaces import Namespace, namespace_tool
from tests.harness.engine import echo, engine, value_of, waiting
from tests.harness.result_samples import without_times
from tests.harness.tool_samples import make, takes

pytestmark = pytest.mark.usefixtures("leaves_nothing")

GUESSES = (
    "vault_read", "VAULT_READ", "Vault_Read", "vaultRead", "vault_rea", "openclaw:core:vault_read",
    "OpenClaw:Core:Vault_Read", "core:vault_read", ":vault_read", "plugin:core:vault_read",
    "mcp:core:vault_read", " vault_read", "vault_read ",
)  # fmt: skip
QUERIES = ("vault_read", "openclaw:core:vault_read", "vault", "read the vault", "combination", "vaultread")
# Each asks for the tool in another way; a failure that is not caught is part of the comparison.
PROGRAMS = (
    "return ALL_TOOLS",
    "return [Object.keys(tools), 'vault_read' in tools, typeof tools.vault_read, JSON.stringify(tools)]",
    f"return await Promise.all({list(QUERIES)}.map((query) => tools.search(query, {{ limit: 50 }})))",
    *(
        f"try {{ await tools.{method}('{guess}', {{ combination: '1' }}) }} "
        "catch (e) { return [e.name, e.message, e.code, e.data ?? null, Object.keys(e), String(e)] }"
        for guess in GUESSES
        for method in ("call", "describe")
    ),
    "return await tools.call('vault_read', { combination: 1 })",
    "return await tools.describe('openclaw:core:vault_read')",
    "return await tools.vault_read({ combination: '1' })",
    "return tools.vault_read.length",
)


def vault(opened: list[str]) -> Any:
    @tool
    async def vault_read(combination: str) -> str:
        """Reads the vault."""
        opened.append(combination)
        return "gold"

    return vault_read


@pytest.mark.guarantee("denied-is-nonexistent")
async def test_a_denied_tool_gives_the_very_results_of_one_that_never_existed() -> None:
    opened: list[str] = []

    async def answers(made: Engine) -> list[dict[str, Any]]:
        return [without_times(await made.exec(program)) for program in PROGRAMS]

    async with engine([echo]) as plain:  # first: nothing can have heard of the tool yet
        expected = await answers(plain)
    async with engine([echo, vault(opened)], policy={"deny": ["Vault*"]}) as denying:
        denied = await answers(denying)
    assert denied == expected
    assert opened == []
    for program, said in zip(PROGRAMS, denied, strict=True):
        codes = {said.get("code"), *(said["value"][2:3] if "catch (e)" in program else ())}
        assert codes in ({None}, {None, "unknown_tool"}, {"nested_tool_failed"}, {"guest_error"}), program


@pytest.mark.guarantee("denied-is-nonexistent")
async def test_a_guessed_id_fails_with_the_words_of_any_wrong_id() -> None:
    program = """
    const said = [];
    for (const id of ["openclaw:core:vault_read", "openclaw:core:xyzzyxyzz"])
      for (const ask of [tools.call, tools.describe])
        await ask(id).catch((e) => said.push([e.code, e.name, e.message.replaceAll(id, "ID")]));
    return said;
    """
    async with engine([echo, vault([])], policy={"deny": ["group:openclaw"], "allow": ["*"]}) as made:
        denied_call, denied_describe, wrong_call, wrong_describe = value_of(await made.exec(program))
        assert denied_call == wrong_call
        assert denied_describe == wrong_describe
        assert denied_call[:2] == denied_describe[:2] == ["unknown_tool", "UnknownTool"]


@pytest.mark.guarantee("denied-is-nonexistent")
async def test_a_namespace_over_a_denied_tool_is_not_there() -> None:
    bank = make("open_vault", source="plugin", owner="bank")
    program = """
    const forged = await tools.call("plugin:bank:open_vault", {}).catch((e) => e.code);
    return [typeof globalThis.vault, Object.keys(namespaces), forged];
    """
    async with engine([echo, bank], policy={"agents": {"intern": {"deny": ["open_vault"]}}}) as made:
        made.register_namespace(
            "bank",
            Namespace(
                id="vault",
                global_name="vault",
                required_tool_names=("open_vault",),
                create_scope=lambda _: {"open": namespace_tool("open_vault")},
            ),
        )
        assert value_of(await made.exec("return await vault.open({ door: 1 })")) == {"door": 1}
        assert value_of(await made.exec(program, agent="intern")) == ["undefined", [], "unknown_tool"]


@pytest.mark.guarantee("policy-of-the-caller")
async def test_agent_provider_and_model_decide_what_a_program_has() -> None:
    tools = [make(name) for name in ("read", "write", "exec", "web_search", "session_status")]
    policy = {
        "deny": ["web_*"],
        "byProvider": {"acme": {"profile": "minimal"}, "acme/large": {"allow": ["group:fs", "exec"]}},
        "agents": {"intern": {"deny": ["write", "group:runtime"]}},
    }
    callers: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["exec", "read", "session_status", "write"]),
        ({"agent": "intern"}, ["read", "session_status"]),
        ({"agent": "INTERN"}, ["read", "session_status"]),
        ({"provider": "acme"}, ["session_status"]),
        ({"provider": "acme", "model": "small"}, ["session_status"]),
        ({"provider": "acme", "model": "large"}, ["exec", "read", "write"]),
        ({"provider": "acme", "model": "large", "agent": "intern"}, ["read"]),
        ({"provider": "other", "model": "large"}, ["exec", "read", "session_status", "write"]),
    ]
    async with engine(tools, policy=policy) as made:
        for _ in range(2):  # the second time from what the engine kept
            for caller, names in callers:
                result = await made.exec("return ALL_TOOLS.map((entry) => entry.name)", **caller)
                assert value_of(result) == names, caller
                assert result.telemetry.catalog is not None
                assert result.telemetry.catalog.size == len(names)


@pytest.mark.guarantee("policy-of-the-caller")
async def test_tools_of_one_run_are_under_the_policy_too() -> None:
    async with engine([echo], policy={"deny": ["vault_read"]}) as made:
        result = await made.exec(
            "return ALL_TOOLS.map((entry) => entry.name)", tools=[vault([]), make("other")]
        )
        assert value_of(result) == ["echo", "other"]


@pytest.mark.guarantee("all-tools-and-no-more")
async def test_all_tools_lists_every_effective_tool_but_those_of_mcp() -> None:
    issue = make("create_issue", source="mcp", owner="github")
    tools = [make("read"), make("browse", source="plugin", owner="web"), issue, make("banned")]
    program = """
    const refused = await tools.call("mcp:github:create_issue", {}).catch((e) => [e.code, e.message]);
    const described = await tools.describe("mcp:github:create_issue").catch((e) => e.code);
    const found = await tools.search("create issue");
    return { ids: ALL_TOOLS.map((entry) => entry.id), names: Object.keys(tools), refused, found, described };
    """
    async with engine(tools, policy={"deny": ["banned"]}) as made:
        own = [make("pick_file", source="client", owner="app")]
        result = await made.exec(program, tools=own)
        assert value_of(result) == {
            "ids": ["client:app:pick_file", "openclaw:core:read", "plugin:web:browse"],
            "names": ["search", "describe", "call", "browse", "pick_file", "read"],
            "refused": [
                "unknown_tool",
                'No tool "mcp:github:create_issue" in tools. MCP tools are called as '
                "MCP.github.createIssue(); API.list() names the files that declare them.",
            ],
            "found": [
                {
                    "id": "mcp:github:create_issue",
                    "name": "create_issue",
                    "description": "",
                    "source": "mcp",
                    "sourceName": "github",
                    "call": "MCP.github.createIssue()",
                }
            ],
            "described": "unknown_tool",
        }
        assert result.telemetry.catalog is not None
        assert result.telemetry.catalog.sources == {"client": 1, "mcp": 1, "openclaw": 1, "plugin": 1}


@pytest.mark.guarantee("search-describe-call")
async def test_what_search_finds_can_be_described_and_called() -> None:
    weather = make(
        "get_weather", "Tells the weather of a city.", parameters=takes("city"), returns={"type": "object"}
    )
    program = """
    const [hit] = await tools.search("what is the weather like", { limit: 1 });
    const described = await tools.describe(hit.id);
    const byId = await tools.call(hit.id, { city: "Rome" });
    const byExpression = await new Function("tools", "city", `return ${hit.call}`)(tools, "Oslo");
    return { hit, described, byId, byExpression, empty: await tools.search(" ") };
    """
    entry = {
        "id": "openclaw:core:get_weather",
        "name": "get_weather",
        "description": "Tells the weather of a city.",
        "source": "openclaw",
    }
    async with engine([echo, weather]) as made:
        assert value_of(await made.exec(program)) == {
            "hit": entry | {"call": "tools.get_weather({ city })"},
            "described": entry
            | {"parameters": takes("city"), "returns": {"type": "object"}, "returnsSource": "declared"},
            "byId": {"city": "Rome"},
            "byExpression": {"city": "Oslo"},
            "empty": [],
        }


@pytest.mark.guarantee("policy-of-the-caller")
async def test_a_restart_does_not_widen_the_policy_a_run_was_started_under(tmp_path: Path) -> None:
    rules = {"byProvider": {"acme": {"deny": ["secret"]}}}

    @tool
    async def secret() -> str:
        """Not for everybody."""
        raise AssertionError("it ran")

    @tool
    async def whoami(context: CallContext) -> str:
        """Who asks."""
        return f"{context.sender} of {context.session_id}"

    program = "await yield_control(); return [typeof tools.secret, await tools.whoami({})]"
    store = tmp_path / "runs.sqlite"
    async with engine([secret, whoami], policy=rules, store=store) as first:
        context = CallContext(sender="ada")
        asked = waiting(await first.exec(program, session="s", provider="acme", context=context))
    async with engine([secret, whoami], policy=rules, store=store) as second:
        result = await second.wait(asked.run_id, session="s")
    assert value_of(result) == ["undefined", "ada of s"]
