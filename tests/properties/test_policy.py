"""Policies only narrow: denying more never adds a tool, and no later step brings one back."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.policy import Policy
from tests.harness.tool_samples import make

CORE = ("read", "write", "exec", "web_search", "message", "session_status", "own_tool")
TOOLS = [
    *map(make, CORE),
    make("deploy", source="plugin"),
    make("read", source="mcp"),
    make("Pick_File", source="client"),
]
PLAIN = ["read", "WRITE", "exec", "own_tool", "deploy", "pick_file", "unloaded", "mcp:acme:read"]
NAMES = [*PLAIN, "web_*", "*s*", "*", "plugin:*", "group:fs", "group:web", "group:openclaw"]
lists = st.lists(st.sampled_from(NAMES), max_size=4)


def sections(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    own: dict[str, Any] = {
        "allow": lists,
        "deny": lists,
        "profile": st.sampled_from(["minimal", "coding", "messaging", "full"]),
    }
    return st.fixed_dictionaries({}, optional=own | more)


providers = st.dictionaries(st.sampled_from(["acme", "acme/large"]), sections(), max_size=2)
agents = st.dictionaries(st.just("main"), sections(byProvider=providers), max_size=1)
policies = sections(byProvider=providers, agents=agents)
WHO = {"agent": "main", "provider": "acme", "model": "large"}


def allowed(config: dict[str, Any]) -> set[str]:
    return {tool.id for tool in Policy(config).resolve(TOOLS, **WHO).tools}


@given(policies, st.sampled_from(NAMES))
@settings(max_examples=150)
def test_adding_a_deny_never_adds_a_tool(config: dict[str, Any], name: str) -> None:
    agent = config.get("agents", {}).get("main", {})
    stricter = [
        config | {"deny": [*config.get("deny", []), name]},
        config | {"agents": {"main": agent | {"deny": [*agent.get("deny", []), name]}}},
    ]
    for config_with_deny in stricter:
        assert allowed(config_with_deny) <= allowed(config)


@given(policies)
@settings(max_examples=150)
def test_each_later_step_only_narrows(config: dict[str, Any]) -> None:
    """The steps in their order, each added to the ones before it."""
    by_provider: dict[str, Any] = config.get("byProvider", {})
    nearest: dict[str, Any] = by_provider.get("acme/large", by_provider.get("acme", {}))
    steps: list[dict[str, Any]] = [
        {key: config[key] for key in ("profile",) if key in config},
        {"byProvider": {"acme/large": {key: nearest[key] for key in ("profile",) if key in nearest}}},
        {"byProvider": {"acme/large": nearest}},
        {key: config[key] for key in ("allow", "deny") if key in config},
        {"agents": config.get("agents", {})},
    ]
    so_far: dict[str, Any] = {}
    before = {tool.id for tool in TOOLS}
    for step in steps:
        so_far = so_far | step
        now = allowed(so_far)
        assert now <= before
        before = now
    assert before == allowed(config)


@given(policies)
@settings(max_examples=80)
def test_what_is_explained_is_what_is_resolved(config: dict[str, Any]) -> None:
    policy = Policy(config)
    resolved = policy.resolve(TOOLS, **WHO)

    assert [why.tool_id for why in resolved.explanations if why.allowed] == [
        tool.id for tool in resolved.tools
    ]
    for tool, why in zip(TOOLS, resolved.explanations, strict=True):
        assert policy.explain(tool, TOOLS, **WHO) == why


@given(policies, st.permutations(TOOLS))
@settings(max_examples=80)
def test_the_order_of_the_tools_does_not_matter(config: dict[str, Any], shuffled: list[Any]) -> None:
    assert {tool.id for tool in Policy(config).resolve(shuffled, **WHO).tools} == allowed(config)
