"""Policy in a host's own document: read wherever hosts write it, or refused by its key; never ignored."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.config import ConfigError, load_config
from codemode.policy import Policy
from tests.harness.policy_samples import (
    ALL,
    CODING,
    EVERYTHING,
    FS,
    MESSAGING,
    WITH_CHAT,
    allowed,
)


def of(document: object, **who: str) -> set[str]:
    return allowed(None, WITH_CHAT, document, **who)


CHAT = {"slack", "discord"}


@pytest.mark.parametrize(
    ("tools", "names"),
    [
        ({"codeMode": True, "deny": ["browser"], "profile": "coding"}, CODING),
        ({"deny": ["browser"]}, EVERYTHING - {"browser"} | CHAT),
        ({"allow": ["group:fs"]}, FS),
        ({"profile": "messaging", "allow": ["slack", "discord"]}, MESSAGING | CHAT),
        ({"allow": ["group:fs"], "byProvider": {"acme/large": {"deny": ["write"]}}}, FS - {"write"}),
        ({"sandbox": {"tools": {"allow": ["group:fs"], "alsoAllow": ["exec"]}}}, FS | {"exec"}),
        ({"byChannel": {"tele*": {"allow": ["group:fs"]}}}, FS),
        ({"bySender": {"*": {"allow": ["group:fs"]}}}, FS),
        ({"groups": {"mine": ["read"]}, "profiles": {"own": ["group:mine"]}, "profile": "own"}, {"read"}),
        ({"codeMode": True, "toolSearch": False, "allow": None, "deny": None}, EVERYTHING | CHAT),
        ({"exec": {"security": "full"}, "web": {"search": {"enabled": True}}}, EVERYTHING | CHAT),
    ],
)
@pytest.mark.guarantee("policy-is-never-ignored")
def test_the_tools_section_of_a_document_is_a_policy(tools: dict[str, Any], names: set[str]) -> None:
    who = {"provider": "acme", "model": "large", "channel": "telegram", "sender": "ada", "sandbox": "yes"}

    assert of({"tools": tools}, **who) == names
    assert allowed(None, WITH_CHAT, load_config({"tools": tools}), **who) == names


SUPPORT = {"profile": "messaging", "allow": ["slack"]}


@pytest.mark.parametrize(
    "agents",
    [
        {"list": [{"id": "main"}, {"id": "support", "tools": SUPPORT}]},
        {"defaults": {"model": "large"}, "list": [{"id": "Support", "name": "S", "tools": SUPPORT}]},
        [{"id": "support", "tools": SUPPORT}],
        {"support": {"tools": SUPPORT, "model": "large"}, "main": {"model": "small"}, "limit": 4},
        {"support": SUPPORT},
        {"list": [{"id": "support", **SUPPORT}]},
    ],
)
@pytest.mark.guarantee("policy-is-never-ignored")
def test_the_agents_of_a_document_have_policies_in_a_list_or_by_id(agents: Any) -> None:
    document = {"tools": {"profile": "coding"}, "agents": agents}

    assert of(document, agent="support") == MESSAGING | {"slack"}
    assert of(document, agent="main") == CODING
    assert of({"agents": agents}, agent="support") == MESSAGING | {"slack"}


def test_steps_of_a_document_are_explained_by_where_they_are_written() -> None:
    document = {
        "tools": {"profile": "coding", "byProvider": {"acme": {"deny": ["read"]}}},
        "agents": {"list": [{"id": "support", "tools": {"deny": ["exec"]}}]},
    }
    policy = Policy(document=document)
    told = {
        why.tool_id: str(why) for why in policy.resolve(ALL, agent="support", provider="acme").explanations
    }

    for name, step in {
        "message": "denied by tools.profile coding: not in its allowlist",
        "read": 'denied by tools.byProvider.acme: deny "read"',
        "exec": 'denied by agents.support.tools: deny "exec"',
        "write": 'allowed by tools.profile coding: allow "group:fs"',
    }.items():
        assert told[f"openclaw:core:{name}"] == f"openclaw:core:{name} is {step}"


@pytest.mark.guarantee("policy-only-narrows")
def test_a_run_has_what_the_argument_and_the_document_both_leave() -> None:
    document = {
        "tools": {"allow": ["group:fs", "exec"]},
        "agents": {"main": {"tools": {"deny": ["edit"]}}},
        "policy": {"deny": ["write"], "groups": {"mine": ["read", "browser"]}},
    }
    argument = {"profile": "minimal", "allow": ["group:mine", "group:fs"]}

    assert of(document, agent="main") == {"read", "apply_patch", "exec"}
    assert allowed(argument, ALL, document, agent="main") == {"read", "apply_patch"}
    assert allowed(argument, ALL, document) == FS - {"write"}


def test_two_policies_may_define_the_same_group_but_not_two_things_under_one_name() -> None:
    same = {"groups": {"mine": ["read"]}}

    assert allowed(same | {"allow": ["group:mine"]}, ALL, {"tools": same}) == {"read"}
    with pytest.raises(ConfigError) as refused:
        Policy({"groups": {"Mine": ["read", "write"]}}, {"tools": same})
    assert str(refused.value) == "policy.groups.Mine: another policy says something else under this name."


HIDDEN = "there is a tool policy in this place, where nothing reads it"
BESIDE = "nothing reads this beside `tools`: write it as tools."


WRONG: list[tuple[dict[Any, Any], str, str]] = [
    # what is understood to be policy, and is wrong
    ({"tools": {"deny": "browser"}}, "tools.deny", "must be a list of tool names"),
    ({"tools": {"profile": "codign"}}, "tools.profile", 'Did you mean "coding"?'),
    ({"tools": {"allow": ["group:nope"]}}, "tools.allow", 'unknown group "group:nope"'),
    ({"tools": {"byProvider": {"acme": {"dney": []}}}}, "tools.byProvider.acme.dney", "unknown key"),
    ({"tools": {"sandbox": {"mode": "all"}}}, "tools.sandbox.mode", "unknown key. Allowed: tools."),
    ({"tools": {"sandbox": {"tools": {"dney": []}}}}, "tools.sandbox.tools.dney", "unknown key"),
    ({"tools": ["read"]}, "tools", "must be an object, not a list."),
    ({"tools": {}, "policy": "strict"}, "policy", 'must be an object, not "strict".'),
    ({"tools": {}, "policy": {"dney": []}}, "policy.dney", "unknown key"),
    # what was probably meant to be policy
    ({"tools": {"dney": ["browser"]}}, "tools.dney", 'a tool policy. Did you mean "deny"?'),
    ({"tools": {"denylist": "browser"}}, "tools.denylist", 'Did you mean "deny"?'),
    ({"tools": {"alsoAllow": ["read"]}}, "tools.alsoAllow", "unknown key of a tool policy."),
    ({"tools": {"by_provider": {}}}, "tools.by_provider", 'Did you mean "byProvider"?'),
    ({"tools": {"byModel": {"large": {}}}}, "tools.byModel", "unknown key of a tool policy."),
    ({"tools": {"Profile": "coding"}}, "tools.Profile", 'Did you mean "profile"?'),
    ({"tools": {"disabled": ["browser"]}}, "tools.disabled", "unknown key of a tool policy."),
    ({"tools": {"subagents": {"tools": {"deny": []}}}}, "tools.subagents.tools", HIDDEN),
    ({"tools": {1: ["browser"]}}, "tools", "must be an object whose keys are strings."),
    # policy in a wrong place
    ({"tools": {}, "deny": ["browser"]}, "deny", f"{BESIDE}deny."),
    ({"tools": {}, "allow": "browser"}, "allow", f"{BESIDE}allow."),
    ({"tools": {}, "profile": "coding"}, "profile", f"{BESIDE}profile."),
    ({"tools": {}, "bySender": {}}, "bySender", f"{BESIDE}bySender."),
    ({"tools": {}, "groups": {"fs": ["read"]}}, "groups", f"{BESIDE}groups."),
    ({"tools": {}, "sandbox": {"tools": {}}}, "sandbox", f"{BESIDE}sandbox."),
    (
        {"tools": {}, "channels": {"x": {"groups": [{"tools": {"deny": ["exec"]}}]}}},
        "channels.x.groups.0.tools",
        HIDDEN,
    ),
    ({"tools": {}, "channels": {"x": {"toolsBySender": {}}}}, "channels.x.toolsBySender", HIDDEN),
    # agents
    ({"agents": 7}, "agents", "must be an object, not 7."),
    ({"agents": {"list": {}}}, "agents.list", "must be a list of agents, not an object."),
    ({"agents": {"list": ["main"]}}, "agents.list[0]", 'must be an object, not "main".'),
    ({"agents": {"list": [{"tools": {"deny": []}}]}}, "agents.list[0].id", "must be the name of"),
    ({"agents": {"list": [{"id": "a", "deny": []}] * 2}}, "agents.list[1].id", "is there twice."),
    ({"agents": {"a": {"deny": []}, "A": {"deny": []}}}, "agents.A", "this name is there twice."),
    ({"agents": {"main": ["read"]}}, "agents.main", "must be an object, not a list."),
    ({"agents": {"main": {"tools": 7}}}, "agents.main.tools", "must be an object, not 7."),
    ({"agents": {"main": {"tools": {"dney": []}}}}, "agents.main.tools.dney", 'Did you mean "deny"?'),
    ({"agents": {"main": {"tools": {"groups": {"a": []}}}}}, "agents.main.tools.groups", "unknown key"),
    ({"agents": {"main": {"tools": {"deny": 7}}}}, "agents.main.tools.deny", "must be a list"),
    ({"agents": {"main": {"tools": {}, "deny": []}}}, "agents.main.deny", "write it into agents.main."),
    ({"agents": {"main": {"alsoAllow": []}}}, "agents.main.alsoAllow", "write it into agents."),
    ({"agents": {"main": {"sandbox": {"tools": {}}}}}, "agents.main.sandbox", "write it into"),
    ({"agents": {"main": {"sub": {"tools": {"deny": []}}}}}, "agents.main.sub.tools", HIDDEN),
    ({"agents": {"defaults": {"tools": {"deny": ["x"]}}}}, "agents.defaults", "is written into tools."),
    ({"agents": {"defaults": {"deny": ["x"]}}}, "agents.defaults", "is written into tools."),
]  # fmt: skip


@pytest.mark.parametrize(("document", "key", "said"), WRONG)
@pytest.mark.guarantee("policy-is-never-ignored")
def test_policy_that_cannot_be_understood_is_refused_by_its_key(
    document: dict[str, Any], key: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        Policy(document=document)
    assert refused.value.key == key
    assert said in str(refused.value)
    assert refused.value.code == "invalid_config"


@pytest.mark.parametrize(
    "document",
    [
        {"tools": {"codeMode": True}, "version": 3, "gateway": {"port": 1}, "mode": "dev"},
        {"tools": {"agentToAgent": {"enabled": True, "allow": ["main"]}, "process": {"limit": 3}}},
        {"tools": {"exec": {"allow": ["ls"]}, "elevated": {"allowFrom": {"x": ["y"]}}, "delay": 5}},
        {"agents": {"main": {"sandbox": {"mode": "all"}, "skills": ["a"], "profile": {"name": "M"}}}},
        {"tools": {}, "groups": {"family": {"members": 3}}, "sandbox": "docker", "allow": True},
        {"tools": {}, "mcpServers": {"x": {"tools": {"allow": ["a"]}}}},
        True,
        None,
        {"enabled": True},
    ],
)
def test_what_is_the_hosts_own_in_a_document_is_left_alone(document: object) -> None:
    assert of(document) == EVERYTHING | CHAT


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["read", "coding", "*", "group:fs", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["allow", "deny", "profile", "tools", "list", "id", "main", "byProvider", "sandbox"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(PLAIN, PLAIN, PLAIN)
def test_any_document_is_read_or_refused_in_one_way(tools: Any, agents: Any, other: Any) -> None:
    try:
        policy = Policy(document={"tools": tools, "agents": agents, "other": other})
    except ConfigError:
        return
    assert set(policy.resolve(ALL, agent="main").tools) <= set(ALL)


@given(
    st.sampled_from(["deny", "allow"]), st.lists(st.sampled_from(["read", "exec", "group:fs"]), min_size=1)
)
def test_a_list_in_a_document_has_the_meaning_of_the_argument(key: str, entries: list[str]) -> None:
    own = {key: entries}

    assert of({"tools": own}) == allowed(own, WITH_CHAT)
    assert of({"agents": {"list": [{"id": "main", "tools": own}]}}, agent="main") == allowed(
        {"agents": {"main": own}}, WITH_CHAT, agent="main"
    )
