"""How the levels of a policy combine: profiles and what is beside them, agents, providers, and warnings."""

from typing import Any

import pytest

from codemode.policy import Policy
from tests.harness.policy_samples import (
    ALL,
    CODING,
    EVERYTHING,
    FS,
    MESSAGING,
    RUNTIME,
    SLACK,
    WITH_CHAT,
    allowed,
)


def warnings(config: dict[str, Any], **who: str) -> tuple[str, ...]:
    return Policy(config).resolve(WITH_CHAT, **who).warnings


def test_messaging_with_slack_and_discord_allowed_is_messaging_plus_slack_and_discord() -> None:
    config = {"profile": "messaging", "allow": ["slack", "discord"]}

    assert allowed(config, WITH_CHAT) == MESSAGING | {"slack", "discord"}


def test_an_agent_with_messaging_and_slack_under_a_global_coding_has_messaging_and_slack() -> None:
    config = {"profile": "coding", "agents": {"support": {"profile": "messaging", "allow": ["slack"]}}}

    assert allowed(config, WITH_CHAT, agent="support") == MESSAGING | {"slack"}
    assert allowed(config, WITH_CHAT, agent="main") == CODING


def test_what_is_added_to_a_profile_by_a_plugin_that_is_not_loaded_leaves_the_profile() -> None:
    config = {"profile": "messaging", "allow": ["slack", "discord"]}
    resolved = Policy(config).resolve(ALL)

    assert {tool.name for tool in resolved.tools} == MESSAGING
    assert resolved.warnings == (
        'profile messaging: "slack" in the allowlist matches no tool',
        'profile messaging: "discord" in the allowlist matches no tool',
    )


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"profile": "minimal", "allow": []}, {"session_status"}),
        (
            {"profile": "minimal", "allow": ["group:fs"], "deny": ["write"]},
            FS - {"write"} | {"session_status"},
        ),
        ({"profile": "minimal", "allow": ["read"], "deny": ["session_status"]}, {"read"}),
        ({"profile": "full", "allow": ["read"]}, EVERYTHING),
        ({"allow": ["read"]}, {"read"}),
    ],
)
def test_allow_beside_a_profile_adds_and_without_one_is_the_whole_list(
    config: dict[str, Any], names: set[str]
) -> None:
    assert allowed(config) == names


@pytest.mark.parametrize(
    ("level", "own", "names"),
    [
        # a profile takes the place of the global one, with what was added to that
        ({"profile": "coding", "allow": ["browser"]}, {"profile": "messaging"}, MESSAGING),
        ({"profile": "minimal"}, {"profile": "full"}, EVERYTHING),
        # but not of a global list without a profile
        ({"allow": ["group:fs", "message"]}, {"profile": "messaging", "allow": ["exec"]}, {"message"}),
        ({}, {"profile": "messaging"}, MESSAGING),
        # without a profile an agent's list narrows
        ({"profile": "coding"}, {"allow": ["group:fs", "browser"]}, FS),
        ({"profile": "coding", "allow": ["browser"]}, {"allow": ["group:fs", "browser"]}, FS | {"browser"}),
        ({"allow": ["read", "write"]}, {"allow": ["write", "edit"]}, {"write"}),
        ({"allow": ["read"]}, {}, {"read"}),
        # what is denied anywhere is denied
        ({"profile": "coding", "deny": ["message"]}, {"profile": "messaging"}, MESSAGING - {"message"}),
        (
            {"profile": "coding", "deny": ["read"]},
            {"profile": "full", "allow": ["read"]},
            EVERYTHING - {"read"},
        ),
        ({"allow": ["read", "write"]}, {"deny": ["read"]}, {"write"}),
        # the providers of the global level still narrow an agent that has a profile of its own
        (
            {"profile": "coding", "byProvider": {"acme": {"allow": ["message", "read"]}}},
            {"profile": "messaging"},
            {"message"},
        ),
    ],
)
@pytest.mark.guarantee("policy-of-the-caller")
def test_an_agents_level_replaces_the_profile_and_narrows_the_rest(
    level: dict[str, Any], own: dict[str, Any], names: set[str]
) -> None:
    assert allowed({**level, "agents": {"main": own}}, agent="main", provider="acme") == names


@pytest.mark.parametrize(
    ("by_provider", "names"),
    [
        ({"acme": {"allow": ["read", "message"]}}, {"read"}),
        ({"acme": {"profile": "messaging"}}, {"session_status", *MESSAGING} & CODING),
        ({"acme": {"profile": "minimal", "allow": ["read", "browser"]}}, {"session_status", "read"}),
        ({"acme": {"deny": ["group:runtime"]}}, CODING - RUNTIME),
        ({"acme": {"profile": "full", "allow": ["browser"]}}, CODING),
        ({"acme": {"allow": ["read"]}, "acme/large": {"allow": ["write"]}}, {"write"}),
        ({"acme": {"deny": ["read"]}, "acme/large": {"allow": ["group:fs"]}}, FS),
        ({"acme/small": {"allow": ["read"]}}, CODING),
    ],
)
@pytest.mark.guarantee("policy-only-narrows")
def test_a_provider_only_narrows_and_provider_with_model_beats_it(
    by_provider: dict[str, Any], names: set[str]
) -> None:
    config = {"profile": "coding", "byProvider": by_provider}

    assert allowed(config, provider="Acme", model="large") == names


def test_what_is_added_to_a_profile_does_not_come_back_after_a_provider() -> None:
    config = {"profile": "coding", "allow": ["browser"], "byProvider": {"acme": {"profile": "minimal"}}}

    assert allowed(config, provider="acme") == {"session_status"}


@pytest.mark.parametrize(
    ("config", "who", "told"),
    [
        ({"deny": ["*"]}, {}, "global: leaves no tool of the 27 before it"),
        ({"allow": []}, {}, "global: leaves no tool of the 27 before it"),
        (
            {"profile": "minimal", "agents": {"support": {"allow": ["slack"]}}},
            {"agent": "support"},
            "agents.support: leaves no tool of the 1 before it",
        ),
        (
            {"profile": "minimal", "byProvider": {"acme": {"profile": "coding", "deny": ["session*"]}}},
            {"provider": "acme"},
            "byProvider.acme: leaves no tool of the 1 before it",
        ),
        (
            {"allow": ["read"], "sandbox": {"tools": {"allow": ["write"]}}},
            {"sandbox": "docker"},
            "sandbox.tools: leaves no tool of the 1 before it",
        ),
        (
            {"bySender": {"*": {"profile": "minimal"}}, "allow": ["read"]},
            {},
            "bySender.*.profile minimal: leaves no tool of the 1 before it",
        ),
        (
            {"profile": "full", "allow": ["read"]},
            {},
            "profile full: allows every tool already, so the allow beside it adds nothing",
        ),
    ],
)
def test_a_step_that_leaves_no_tool_or_says_nothing_is_warned_about_by_its_name(
    config: dict[str, Any], who: dict[str, str], told: str
) -> None:
    assert warnings(config, **who) == (told,)


def test_a_run_without_tools_is_warned_of_nothing() -> None:
    assert Policy({"deny": ["*"]}).resolve([]).warnings == ()


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"profile": "messaging", "allow": ["sl*"]},
            'plugin:chat:slack is allowed by global: allow "sl*"',
        ),
        (
            {"profile": "messaging"},
            "plugin:chat:slack is denied by profile messaging: not in its allowlist",
        ),
        (
            {"profile": "minimal", "agents": {"Main": {"profile": "messaging", "allow": ["slack"]}}},
            'plugin:chat:slack is allowed by agents.Main: allow "slack"',
        ),
        (
            {"profile": "minimal", "agents": {"Main": {"profile": "messaging"}}},
            "plugin:chat:slack is denied by agents.Main.profile messaging: not in its allowlist",
        ),
        (
            {"profile": "minimal", "deny": ["slack"]},
            'plugin:chat:slack is denied by global: deny "slack"',
        ),
        (
            {"byProvider": {"ACME": {"profile": "minimal", "allow": ["slack"]}}},
            'plugin:chat:slack is allowed by byProvider.acme: allow "slack"',
        ),
        (
            {"sandbox": {"tools": {"allow": ["read"]}}},
            "plugin:chat:slack is denied by sandbox.tools: not in its allowlist",
        ),
        (
            {"sandbox": {"tools": {"allow": ["read"], "alsoAllow": ["slack"]}}},
            'plugin:chat:slack is allowed by sandbox.tools.alsoAllow: allow "slack"',
        ),
        (
            {"agents": {"main": {"sandbox": {"tools": {"deny": ["slack"]}}}}},
            'plugin:chat:slack is denied by agents.main.sandbox.tools: deny "slack"',
        ),
        (
            {"byChannel": {"Tele*": {"deny": ["slack"]}}},
            'plugin:chat:slack is denied by byChannel.Tele*: deny "slack"',
        ),
        (
            {"bySender": {"ada": {"profile": "messaging"}}},
            "plugin:chat:slack is denied by bySender.ada.profile messaging: not in its allowlist",
        ),
    ],
)
def test_an_explanation_tells_the_step_of_each_kind(config: dict[str, Any], text: str) -> None:
    who = {"agent": "main", "provider": "acme", "channel": "telegram", "sender": "ada", "sandbox": "docker"}

    assert str(Policy(config).explain(SLACK, WITH_CHAT, **who)) == text
