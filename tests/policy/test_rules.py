"""Tool policy: groups, profiles, wildcards, providers, agents, and why."""

import logging
from typing import Any

import pytest

from codemode.config import ConfigError
from codemode.policy import Policy
from tests.harness.policy_samples import (
    ALL,
    CODING,
    EVERYTHING,
    FS,
    MEMORY,
    MESSAGING,
    PLUGIN,
    RUNTIME,
    SESSIONS,
    allowed,
)
from tests.harness.tool_samples import make


def test_no_policy_allows_everything_in_the_order_given() -> None:
    assert Policy().resolve(ALL).tools == tuple(ALL)


@pytest.mark.parametrize(
    ("profile", "names"),
    [
        ("minimal", {"session_status"}),
        ("coding", CODING),
        ("messaging", MESSAGING),
        ("full", EVERYTHING),
        ("Coding", CODING),
    ],
)
def test_a_profile_gives_the_base(profile: str, names: set[str]) -> None:
    assert allowed({"profile": profile}) == names


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("group:runtime", RUNTIME),
        ("group:fs", FS),
        ("GROUP:FS", FS),
        ("group:sessions", SESSIONS),
        ("group:memory", MEMORY),
        ("group:web", {"web_search", "web_fetch"}),
        ("group:ui", {"browser", "canvas"}),
        ("group:automation", {"cron", "gateway"}),
        ("group:messaging", {"message"}),
        ("group:nodes", {"nodes"}),
        ("group:openclaw", EVERYTHING - {"browser_request", "create_issue"}),
        ("*", EVERYTHING),
        ("web_*", {"web_search", "web_fetch"}),
        ("*_s*h", {"web_search", "memory_search"}),
        ("WEB_Search", {"web_search"}),
        ("mcp:*", {"create_issue"}),
        ("plugin:browser:browser_request", {"browser_request"}),
        ("*:github:*", {"create_issue"}),
    ],
)
def test_an_entry_names_its_tools(entry: str, names: set[str]) -> None:
    assert allowed({"allow": [entry]}) == names
    assert allowed({"deny": [entry]}) == EVERYTHING - names


@pytest.mark.guarantee("policy-only-narrows")
def test_deny_wins_over_allow() -> None:
    assert allowed({"allow": ["group:fs"], "deny": ["write"]}) == FS - {"write"}
    assert allowed({"allow": ["*"], "deny": ["*"]}) == set()


def test_an_empty_allowlist_allows_nothing() -> None:
    assert allowed({"allow": []}) == set()


@pytest.mark.guarantee("policy-only-narrows")
def test_an_agent_can_only_narrow() -> None:
    config = {"allow": ["group:fs"], "agents": {"main": {"allow": ["*"], "deny": ["edit"]}}}

    assert allowed(config) == FS
    assert allowed(config, agent="main") == FS - {"edit"}
    assert allowed(config, agent="MAIN") == FS - {"edit"}
    assert allowed(config, agent="other") == FS


@pytest.mark.guarantee("policy-of-the-caller")
def test_an_agents_own_profile_and_providers_count() -> None:
    config = {"agents": {"main": {"profile": "coding", "byProvider": {"acme": {"deny": ["group:runtime"]}}}}}

    assert allowed(config, agent="main", provider="acme") == CODING - RUNTIME


@pytest.mark.guarantee("policy-of-the-caller")
def test_provider_and_model_beat_the_provider() -> None:
    config = {"byProvider": {"acme": {"profile": "minimal"}, "Acme/Large": {"allow": ["group:fs"]}}}

    assert allowed(config, provider="acme") == {"session_status"}
    assert allowed(config, provider="acme", model="small") == {"session_status"}
    assert allowed(config, provider="ACME", model="large") == FS
    assert allowed(config, provider="other", model="large") == EVERYTHING
    assert allowed(config) == EVERYTHING


def test_hosts_define_groups_and_profiles() -> None:
    config = {
        "groups": {"mine": ["read", "group:web"], "group:yours": ["edit"]},
        "profiles": {"ours": ["group:mine", "group:yours"]},
        "profile": "ours",
    }

    assert allowed(config) == {"read", "edit", "web_search", "web_fetch"}


def test_an_allowlist_of_unknown_tools_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "codemode.policy"):
        resolved = Policy({"allow": ["voice_call", "lobster_*"]}).resolve(ALL)

    told = "global: the allowlist names only unknown tools (voice_call, lobster_*) and is ignored"
    assert resolved.tools == tuple(ALL)
    assert resolved.warnings == (told,)
    assert caplog.messages == [told]


def test_denying_still_counts_where_the_allowlist_is_ignored() -> None:
    assert allowed({"allow": ["voice_call"], "deny": ["exec"]}) == EVERYTHING - {"exec"}


def test_an_allowlist_of_core_tools_that_are_not_loaded_is_meant() -> None:
    assert allowed({"allow": ["group:web"]}, [PLUGIN]) == set()
    assert allowed({"allow": ["web_search"]}, [PLUGIN]) == set()


def test_unknown_names_among_known_ones_are_warned_about() -> None:
    resolved = Policy({"allow": ["read", "raed"]}).resolve(ALL)

    assert [tool.name for tool in resolved.tools] == ["read"]
    assert resolved.warnings == ('global: "raed" in the allowlist matches no tool',)


@pytest.mark.parametrize(
    ("config", "tool", "text"),
    [
        ({}, "exec", "openclaw:core:exec is allowed by default: no step restricts it"),
        (
            {"profile": "minimal"},
            "exec",
            "openclaw:core:exec is denied by profile minimal: not in its allowlist",
        ),
        ({"deny": ["group:runtime"]}, "exec", 'openclaw:core:exec is denied by global: deny "group:runtime"'),
        ({"allow": ["e*"]}, "exec", 'openclaw:core:exec is allowed by global: allow "e*"'),
        (
            {"byProvider": {"acme": {"deny": ["exec"]}}},
            "exec",
            'openclaw:core:exec is denied by byProvider.acme: deny "exec"',
        ),
        (
            {"byProvider": {"acme": {"profile": "coding"}}, "deny": ["exec"]},
            "message",
            "openclaw:core:message is denied by byProvider.acme.profile coding: not in its allowlist",
        ),
        (
            {"profile": "coding", "agents": {"main": {"deny": ["read"]}}},
            "read",
            'openclaw:core:read is denied by agents.main: deny "read"',
        ),
    ],
)
def test_an_explanation_names_the_step_that_decided(config: dict[str, Any], tool: str, text: str) -> None:
    found = next(one for one in ALL if one.name == tool)

    assert str(Policy(config).explain(found, ALL, agent="main", provider="acme")) == text


@pytest.mark.parametrize(
    ("config", "problem"),
    [
        ({"alow": []}, 'policy.alow: unknown key. Did you mean "allow"?'),
        ({"profile": "codign"}, 'Did you mean "coding"?'),
        ({"profile": 3}, "policy.profile: must be one of"),
        ({"allow": "read"}, "policy.allow: must be a list"),
        ({"deny": ["group:filez"]}, 'policy.deny: unknown group "group:filez"'),
        ({"deny": [""]}, "policy.deny: must be a list"),
        ({"deny": ["\u200b"]}, "policy.deny: must be a list"),
        ({"alsoAllow": ["read"]}, "policy.alsoAllow: unknown key"),
        ({"sandbox": {"allow": ["read"]}}, "policy.sandbox.allow: unknown key. Allowed: tools."),
        ({"sandbox": {"tools": {"profile": "coding"}}}, "policy.sandbox.tools.profile: unknown key"),
        ({"sandbox": {"tools": ["read"]}}, "policy.sandbox.tools: must be an object, not a list."),
        ({"byChannel": ["read"]}, "policy.byChannel: must be an object, not a list."),
        ({"bySender": {"ada": {"alow": []}}}, 'policy.bySender.ada.alow: unknown key. Did you mean "allow"?'),
        ({"bySender": {"ada": {"agents": {}}}}, "policy.bySender.ada.agents: unknown key"),
        ({"bySender": {" ": {}}}, "policy.bySender. : must be a name."),
        ({"agents": {"main": {"groups": {}}}}, "policy.agents.main.groups: unknown key"),
        ({"agents": {"Main": {}, "main": {}}}, "policy.agents.main: this name is there twice."),
        ({"agents": {"*": {"deny": ["exec"]}}}, "policy.agents.*: wildcards are for tools, channels and"),
        ({"byProvider": {"acme/*": {}}}, "policy.byProvider.acme/*: wildcards are for tools, channels and"),
        ({"byProvider": {"acme": {"bySender": {}}}}, "policy.byProvider.acme.bySender: unknown key"),
        ({"agents": {"main": {"agents": {}}}}, "policy.agents.main.agents: unknown key"),
        ({"agents": []}, "policy.agents: must be an object, not an empty list."),
        ({"byProvider": {"acme": {"byProvider": {}}}}, "policy.byProvider.acme.byProvider: unknown key"),
        ({"groups": {"a": ["group:b"], "b": ["group:a"]}, "allow": ["group:a"]}, "contains itself"),
    ],
)
def test_a_wrong_policy_is_refused_by_key(config: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Policy(config)
    assert problem in str(refused.value)
    assert refused.value.code == "invalid_config"


def test_a_pattern_full_of_wildcards_is_quick_on_a_long_name() -> None:
    """Backtracking would take longer than the test's time limit."""
    name = "a" * 256

    assert allowed({"deny": ["*a" * 100 + "b"]}, [make(name)]) == {name}
