"""The algebra of policies: deny wins, nothing after the base widens, and nothing unknown opens anything."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemode.config import ConfigError
from codemode.policy import Policy, Situation
from codemode.policy.rules import Vocabulary, subject_of
from tests.harness.tool_samples import make

CORE = ("read", "write", "exec", "web_search", "message", "session_status", "own_tool")
TOOLS = [
    *map(make, CORE),
    make("deploy", source="plugin"),
    make("read", source="mcp"),
    make("Pick_File", source="client"),
]
PLAIN = ["read", "WRITE", "exec", "own_tool", "deploy", "pick_file", "unloaded", "mcp:acme:read"]
NAMES = [*PLAIN, "web_*", "*s*", "*", "plugin:*", "group:fs", "group:web", "group:openclaw", "group:mine"]
GROUPS = {"mine": ["read", "deploy"]}
WHO = {
    "agent": "main",
    "provider": "acme",
    "model": "large",
    "channel": "telegram",
    "sender": "ada",
    "sandbox": "docker",
}
NARROWING = ("byProvider", "sandbox", "byChannel", "bySender")

lists = st.lists(st.sampled_from(NAMES), max_size=4)


def optional(**own: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=own)


profiles = st.sampled_from(["minimal", "coding", "messaging", "full", "ours"])
simple = optional(allow=lists, deny=lists, profile=profiles)


def keyed(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from(names), simple, max_size=3)


levels: dict[str, st.SearchStrategy[Any]] = {
    "allow": lists,
    "deny": lists,
    "profile": profiles,
    "byProvider": keyed("acme", "acme/large", "other"),
    "sandbox": st.fixed_dictionaries({"tools": optional(allow=lists, deny=lists, alsoAllow=lists)}),
    "byChannel": keyed("telegram", "TELE*", "*", "slack"),
    "bySender": keyed("Ada", "*", "b*"),
}
policies = optional(**levels, agents=st.dictionaries(st.sampled_from(["main", "other"]), optional(**levels)))
WORDS: dict[str, Any] = {"groups": GROUPS, "profiles": {"ours": ["group:mine", "message"]}}


def allowed(config: dict[str, Any], **who: str) -> set[str]:
    return {tool.id for tool in Policy(WORDS | config).resolve(TOOLS, **(who or WHO)).tools}


def named(entries: list[str]) -> set[str]:
    matcher = Vocabulary(GROUPS, {}).matcher("", entries)
    return {tool.id for tool in TOOLS if matcher.rule_for(subject_of(tool)) is not None}


def places(config: dict[str, Any]) -> list[list[str]]:
    """The way to each object of the configuration that may have a deny, and counts for the run."""
    nearest = "acme/large"
    found: list[list[str]] = []
    for level in ([], ["agents", "main"]):
        providers = lookup(config, [*level, "byProvider"])
        found += [
            level,
            [*level, "byProvider", nearest if nearest in providers or "acme" not in providers else "acme"],
            [*level, "sandbox", "tools"],
            *([*level, "byChannel", key] for key in ("telegram", "TELE*", "*")),
            *([*level, "bySender", key] for key in ("Ada", "*")),
        ]
    return found


def lookup(config: dict[str, Any], way: list[str]) -> dict[str, Any]:
    for key in way:
        config = config.get(key, {})
    return config


def changed(config: dict[str, Any], way: list[str], **own: Any) -> dict[str, Any]:
    """A copy with these members in that place."""
    if not way:
        return config | own
    return config | {way[0]: changed(config.get(way[0], {}), way[1:], **own)}


def without(config: dict[str, Any], *keys: str) -> dict[str, Any]:
    kept = {key: value for key, value in config.items() if key not in keys}
    if "agents" in kept:
        kept["agents"] = {name: without(own, *keys) for name, own in kept["agents"].items()}
    return kept


@given(policies, st.data())
@settings(max_examples=200)
@pytest.mark.guarantee("policy-only-narrows")
def test_what_is_denied_in_any_place_that_counts_is_not_there(config: dict[str, Any], data: Any) -> None:
    way = data.draw(st.sampled_from(places(config)))
    entry = data.draw(st.sampled_from(NAMES))

    stricter = changed(config, way, deny=[*lookup(config, way).get("deny", []), entry])
    assert not allowed(stricter) & named([entry])


@given(policies, st.data())
@settings(max_examples=200)
@pytest.mark.guarantee("policy-only-narrows")
def test_adding_a_deny_takes_away_what_it_names_and_changes_nothing_else(
    config: dict[str, Any], data: Any
) -> None:
    # a section that was not there may stand in another one's way: provider/model beats provider
    way = data.draw(st.sampled_from([way for way in places(config) if way[-1:] != ["acme/large"]]))
    entry = data.draw(st.sampled_from(NAMES))

    stricter = changed(config, way, deny=[*lookup(config, way).get("deny", []), entry])
    assert allowed(stricter) == allowed(config) - named([entry])


@given(policies, st.sampled_from(NARROWING))
@settings(max_examples=200)
@pytest.mark.guarantee("policy-only-narrows")
def test_providers_channels_senders_and_the_sandbox_never_widen(config: dict[str, Any], step: str) -> None:
    assert allowed(config) <= allowed(without(config, step))


@given(policies, lists)
@settings(max_examples=150)
@pytest.mark.guarantee("policy-only-narrows")
def test_also_allow_adds_no_more_than_there_was_before_the_sandbox(
    config: dict[str, Any], also: list[str]
) -> None:
    for way in (["sandbox", "tools"], ["agents", "main", "sandbox", "tools"]):
        wider = changed(config, way, alsoAllow=also)
        narrower = changed(config, way, alsoAllow=[])
        assert allowed(narrower) <= allowed(wider) <= allowed(without(config, "sandbox"))
        assert allowed(wider) <= allowed(narrower) | named(also)


@given(policies)
@settings(max_examples=100)
def test_an_unknown_caller_has_what_everybody_has(config: dict[str, Any]) -> None:
    """Sections for others change nothing; "*" is for everybody, and is left out here."""
    stranger = {"agent": "nobody", "provider": "none", "channel": "post", "sender": "eve"}
    plain = without(config, *NARROWING, "agents")
    named_only = {
        key: {name: own for name, own in value.items() if name != "*"} if key in NARROWING else value
        for key, value in config.items()
    }

    assert allowed(named_only, **stranger) == allowed(plain, agent="nobody")


@given(policies, st.data())
@settings(max_examples=100)
@pytest.mark.guarantee("policy-is-never-ignored")
def test_an_unknown_key_in_any_place_is_refused_and_opens_nothing(config: dict[str, Any], data: Any) -> None:
    way = data.draw(st.sampled_from(places(config)))
    key = data.draw(st.sampled_from(["alow", "Deny", "tools", "x", "alsoDeny", "allowAll"]))

    with pytest.raises(ConfigError):
        Policy(WORDS | changed(config, way, **{key: ["*"]}))


@given(policies, policies)
@settings(max_examples=100)
@pytest.mark.guarantee("policy-only-narrows")
def test_two_policies_leave_what_each_of_them_leaves(one: dict[str, Any], other: dict[str, Any]) -> None:
    document = {"tools": {}, "policy": WORDS | one}
    both = {tool.id for tool in Policy(WORDS | other, document).resolve(TOOLS, **WHO).tools}

    assert both == allowed(one) & allowed(other)


situations = st.builds(
    Situation,
    agent=st.sampled_from([None, "main", "MAIN", "else"]),
    provider=st.sampled_from([None, "acme", "other", "none"]),
    model=st.sampled_from([None, "large", "small"]),
    channel=st.sampled_from([None, "telegram", "telex", "post"]),
    sender=st.sampled_from([None, "ada", "ADA", "bob", "eve"]),
    sandbox=st.sampled_from([None, "", "docker", "vm"]),
)


@given(policies, situations, situations)
@settings(max_examples=200)
@pytest.mark.guarantee("policy-of-the-caller")
def test_callers_with_one_key_have_the_same_tools(config: dict[str, Any], one: Any, other: Any) -> None:
    policy = Policy(WORDS | config)

    if policy.key_for(one) == policy.key_for(other):
        assert policy.resolve_for(TOOLS, one).tools == policy.resolve_for(TOOLS, other).tools


@given(policies)
@settings(max_examples=100)
def test_what_is_explained_is_what_is_resolved(config: dict[str, Any]) -> None:
    policy = Policy(WORDS | config)
    resolved = policy.resolve(TOOLS, **WHO)

    assert [why.tool_id for why in resolved.explanations if why.allowed] == [
        tool.id for tool in resolved.tools
    ]
    for tool, why in zip(TOOLS, resolved.explanations, strict=True):
        assert policy.explain(tool, TOOLS, **WHO) == why


@given(policies, st.permutations(TOOLS))
@settings(max_examples=80)
def test_the_order_of_the_tools_does_not_matter(config: dict[str, Any], shuffled: list[Any]) -> None:
    assert {tool.id for tool in Policy(WORDS | config).resolve(shuffled, **WHO).tools} == allowed(config)
