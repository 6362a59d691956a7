"""Policy by what tools say of themselves: the permissions they need, and their hints."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import ApprovalRequest, BeforeToolCall, Block, ConfigError, Engine, Policy, tool
from codemode.tools import ToolHints
from tests.harness.engine import engine, failure_of, value_of, waiting
from tests.harness.tool_samples import make

NET = make("fetch", hints=ToolHints(read_only=True, required_permissions=("net",)))
BOTH = make("sync", hints=ToolHints(required_permissions=("net", "fs:write")))
DISK = make("store", hints=ToolHints(destructive=True, required_permissions=("fs:write",)))
PLAIN = make("add", hints=ToolHints(read_only=True))
SERVER = make("peek", source="mcp", hints=ToolHints(read_only=True, destructive=False))
TOOLS = (NET, BOTH, DISK, PLAIN, SERVER)


def left(policy: dict[str, Any]) -> list[str]:
    return [own.name for own in Policy(policy).resolve(TOOLS).tools]


@pytest.mark.guarantee("policy-by-what-tools-say")
@pytest.mark.parametrize(
    ("policy", "names"),
    [
        ({"deny": ["permission:net"]}, ["store", "add", "peek"]),
        ({"deny": ["Permission: NET "]}, ["store", "add", "peek"]),
        ({"deny": ["permission:fs:*"]}, ["fetch", "add", "peek"]),
        ({"deny": ["permission:*"]}, ["add", "peek"]),
        ({"allow": ["permission:net"]}, ["fetch"]),  # sync needs the disk too
        ({"allow": ["permission:net", "permission:fs:write"]}, ["fetch", "sync", "store"]),
        ({"allow": ["permission:net", "add"]}, ["fetch", "add"]),
        ({"allow": ["permission:gpu"]}, []),  # never ignored, although no tool needs it
        ({"allow": ["hint:read-only"]}, ["fetch", "add"]),  # a server's word counts for nothing here
        ({"allow": ["hint:read_only"]}, ["fetch", "add"]),
        ({"deny": ["hint:destructive"]}, ["fetch", "sync", "add", "peek"]),
        ({"deny": ["group:bad"], "groups": {"bad": ["hint:destructive", "permission:net"]}}, ["add", "peek"]),
        ({"profile": "safe", "profiles": {"safe": ["hint:read-only"]}, "deny": ["permission:net"]}, ["add"]),
    ],
)  # fmt: skip
def test_permissions_and_hints_name_tools_in_lists(policy: dict[str, Any], names: list[str]) -> None:
    assert left(policy) == names


def test_explain_names_the_entry_that_decided() -> None:
    told = str(Policy({"deny": ["permission:net"]}).explain(NET, TOOLS))
    assert told == 'openclaw:core:fetch is denied by global: deny "permission:net"'
    asks = str(Policy({"requireApproval": ["hint:destructive"]}).explain(DISK, TOOLS))
    assert asks == (
        "openclaw:core:store is allowed by default: no step restricts it, "
        'and needs an approval by requireApproval "hint:destructive"'
    )


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ({"deny": ["hint:destructiv"]}, 'unknown hint "destructiv". Did you mean "destructive"?'),
        ({"deny": ["permission:"]}, 'policy.deny: "permission:" names no permission'),
        ({"requireApproval": "exec"}, "policy.requireApproval: must be a list"),
        ({"requireAproval": ["exec"]}, 'policy.requireAproval: unknown key. Did you mean "requireApproval"?'),
        ({"byProvider": {"x": {"requireApproval": []}}}, "policy.byProvider.x.requireApproval: unknown key."),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused_with_its_key(policy: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Policy(policy)
    assert told in str(refused.value)


@pytest.mark.parametrize("given", ["net", [1], [""], {"net": True}])
def test_permissions_are_a_list_of_names(given: Any) -> None:
    with pytest.raises(ConfigError, match="required_permissions: must be a list of names"):
        ToolHints(required_permissions=given)


def test_the_decorator_takes_permissions() -> None:
    @tool(required_permissions=["net"])
    async def get() -> None: ...

    assert get.hints.required_permissions == ("net",)


# ---- approvals ---------------------------------------------------------------------------------------------


@tool(destructive=True, required_permissions=["disk"])
async def wipe() -> str:
    """Wipes."""
    return "wiped"


@tool(read_only=True)
async def look() -> str:
    """Looks."""
    return "seen"


@pytest.mark.usefixtures("leaves_nothing")
@pytest.mark.guarantee("policy-by-what-tools-say")
@pytest.mark.parametrize(
    "options",
    [
        {"policy": {"requireApproval": ["hint:destructive"]}},
        {"policy": {"requireApproval": ["permission:disk"]}},
        {"policy": {"agents": {"main": {"requireApproval": ["wi*"]}}}},
        {"config": {"tools": {"codeMode": True, "requireApproval": ["hint:destructive"]}}},
    ],
)
async def test_the_policy_says_which_calls_need_an_approval(options: dict[str, Any]) -> None:
    async with Engine([wipe, look], **options) as made:
        assert value_of(await made.exec("return await tools.look()")) == "seen"
        result = waiting(await made.exec("return await tools.wipe()"), "approval")
        (call,) = result.pending_tool_calls
        assert call.approval is not None
        assert await made.approve(result.run_id, call.approval.id)
        assert value_of(await made.wait(result.run_id)) == "wiped"


@pytest.mark.usefixtures("leaves_nothing")
async def test_an_agent_s_list_adds_to_the_global_one_and_holds_for_no_other_agent() -> None:
    policy = {"requireApproval": ["wipe"], "agents": {"careful": {"requireApproval": ["look"]}}}
    asked: list[str] = []

    def approve(request: ApprovalRequest) -> bool:
        asked.append(request.tool)
        return True

    async with engine([wipe, look], policy=policy, approve=approve) as made:
        program = "return [await tools.look(), await tools.wipe()]"
        for agent in ("main", "careful", "main"):
            assert value_of(await made.exec(program, agent=agent)) == ["seen", "wiped"]
            asked.append("-")
    assert asked == ["wipe", "-", "look", "wipe", "-", "wipe", "-"]


def test_a_tool_that_asks_is_the_same_one_each_time_and_the_first_is_left_as_it_was() -> None:
    policy = Policy({"requireApproval": ["wipe"]})
    first, second = policy.resolve([wipe, look]).tools, policy.resolve([wipe, look]).tools
    assert first == second
    assert (first[0].hints.requires_approval, wipe.hints.requires_approval) == (True, False)
    assert first[1] is look


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_hook_sees_what_the_tool_says_of_itself() -> None:
    class Rule:
        def before_tool_call(self, event: BeforeToolCall) -> Block | None:
            return Block("no") if event.hints.destructive else None

    async with engine([wipe, look], hooks=Rule()) as made:
        assert value_of(await made.exec("return await tools.look()")) == "seen"
        assert (
            "wipe was blocked: no"
            in failure_of(await made.exec("await tools.wipe()"), "nested_tool_failed").error
        )
