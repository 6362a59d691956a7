"""What narrows a run by its circumstances: whether it is sandboxed, its channel, its sender, its own list."""

from typing import Any

import pytest

from codemode.config import ConfigError
from codemode.policy import Policy
from tests.harness.policy_samples import ALL, EVERYTHING, FS, MESSAGING, RUNTIME, allowed

SANDBOXED = {"sandbox": "docker"}


def names(tools: Any) -> set[str]:
    return {tool.name for tool in tools}


@pytest.mark.parametrize(
    ("own", "left"),
    [
        ({"allow": ["group:fs"]}, FS),
        ({"deny": ["group:runtime"]}, EVERYTHING - RUNTIME),
        ({"allow": ["group:fs"], "deny": ["write"]}, FS - {"write"}),
        ({"allow": ["group:fs"], "alsoAllow": ["message"]}, FS | {"message"}),
        ({"allow": ["group:fs"], "alsoAllow": ["write"], "deny": ["write"]}, FS - {"write"}),
        ({"alsoAllow": ["read"]}, EVERYTHING),
        ({"allow": []}, set[str]()),
        ({}, EVERYTHING),
    ],
)
@pytest.mark.guarantee("policy-of-the-caller")
def test_sandboxed_runs_and_no_others_are_narrowed_by_the_sandbox(
    own: dict[str, Any], left: set[str]
) -> None:
    config = {"sandbox": {"tools": own}}

    assert allowed(config, **SANDBOXED) == left
    assert allowed(config) == EVERYTHING
    assert allowed(config, sandbox="") == EVERYTHING


@pytest.mark.guarantee("policy-only-narrows")
def test_also_allow_adds_back_what_the_sandbox_took_and_no_more_than_there_was() -> None:
    config = {
        "profile": "messaging",
        "deny": ["message"],
        "sandbox": {"tools": {"allow": ["session_status"], "alsoAllow": ["sessions_*", "message", "exec"]}},
    }

    assert allowed(config, **SANDBOXED) == MESSAGING - {"message"}


def test_an_agents_also_allow_adds_back_what_the_global_sandbox_took() -> None:
    config = {
        "sandbox": {"tools": {"allow": ["group:fs"], "deny": ["edit"], "alsoAllow": ["image"]}},
        "agents": {
            "builder": {"sandbox": {"tools": {"alsoAllow": ["exec", "edit"]}}},
            "reader": {"sandbox": {"tools": {"allow": ["read", "exec"]}}},
        },
    }

    assert allowed(config, agent="builder", **SANDBOXED) == FS - {"edit"} | {"exec", "image"}
    assert allowed(config, agent="reader", **SANDBOXED) == {"read"}
    assert allowed(config, agent="main", **SANDBOXED) == FS - {"edit"} | {"image"}
    assert allowed(config, agent="builder") == EVERYTHING


@pytest.mark.parametrize("step", ["byChannel", "bySender"])
@pytest.mark.guarantee("policy-of-the-caller")
def test_channels_and_senders_are_narrowed_by_every_key_that_fits(step: str) -> None:
    who = "channel" if step == "byChannel" else "sender"
    config = {
        "deny": ["exec"],
        step: {
            "Tele*": {"allow": ["group:fs", "exec"]},
            "telegram": {"deny": ["write"]},
            "*@example.org": {"profile": "minimal", "allow": ["read"]},
        },
    }

    assert allowed(config, **{who: "telegram"}) == FS - {"write"}
    assert allowed(config, **{who: "TELEGRAM"}) == FS - {"write"}
    assert allowed(config, **{who: "telex"}) == FS
    assert allowed(config, **{who: "ada@example.org"}) == {"session_status", "read"}
    assert allowed(config, **{who: "tele@example.org"}) == {"read"}
    assert allowed(config, **{who: "slack"}) == EVERYTHING - {"exec"}
    assert allowed(config) == EVERYTHING - {"exec"}


@pytest.mark.parametrize("step", ["byChannel", "bySender"])
def test_a_run_that_does_not_say_whose_it_is_fits_only_the_key_for_all(step: str) -> None:
    assert allowed({step: {"*": {"deny": ["exec"]}}}) == EVERYTHING - {"exec"}
    assert allowed({step: {"a*": {"deny": ["exec"]}}}) == EVERYTHING


def test_agents_have_channels_and_senders_of_their_own() -> None:
    config = {
        "byChannel": {"slack": {"deny": ["write"]}},
        "agents": {"main": {"bySender": {"bob": {"allow": ["group:fs"]}}}},
    }

    assert allowed(config, agent="main", channel="slack", sender="Bob") == FS - {"write"}
    assert allowed(config, agent="other", channel="slack", sender="bob") == EVERYTHING - {"write"}


@pytest.mark.parametrize(
    "config",
    [
        {"sandbox": {"tools": {"allow": ["voice_call"]}}},
        {"byChannel": {"slack": {"allow": ["voice_call"]}}},
        {"bySender": {"*": {"allow": ["voice_call"]}}},
    ],
)
def test_a_boundary_that_names_only_unknown_tools_is_not_ignored(config: dict[str, Any]) -> None:
    """A sender who may use one plugin has nothing where that plugin is not loaded, and not everything."""
    resolved = Policy(config).resolve(ALL, channel="slack", sandbox="docker")

    assert resolved.tools == ()
    assert [warning.partition(": ")[2] for warning in resolved.warnings] == [
        '"voice_call" in the allowlist matches no tool',
        f"leaves no tool of the {len(ALL)} before it",
    ]


def test_a_runs_own_list_knows_the_groups_of_the_policy() -> None:
    policy = Policy({"groups": {"mine": ["read", "group:web"]}, "deny": ["web_fetch"]})
    narrowed = policy.narrow(policy.resolve(ALL), ["group:mine"])

    assert names(narrowed.tools) == {"read", "web_search"}
    with pytest.raises(ConfigError, match=r'^allow: unknown group "group:yours"\.'):
        policy.narrow(policy.resolve(ALL), ["group:yours"])


def test_a_runs_own_list_explains_itself_and_warns_if_it_leaves_nothing() -> None:
    policy = Policy({"allow": ["read", "write"]})
    narrowed = policy.narrow(policy.resolve(ALL), ["read"])

    told = {str(why) for why in narrowed.explanations}
    assert 'openclaw:core:read is allowed by the run\'s own allow: allow "read"' in told
    assert "openclaw:core:write is denied by the run's own allow: not in its allowlist" in told
    assert "openclaw:core:edit is denied by global: not in its allowlist" in told
    assert policy.narrow(policy.resolve(ALL), ["edit"]).warnings == (
        "the run's own allow: leaves no tool of the 2 before it",
    )
