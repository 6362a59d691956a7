"""`tools.codeMode` from Python objects: the only activation gate, defaults, clamps, overlays, refusals."""

from __future__ import annotations

from typing import Any

import pytest

from codemode.config import (
    CodeModeConfig,
    ConfigError,
    EngineSettings,
    load_config,
    load_settings,
    resolve_config,
)

MIB = 1 << 20
DEFAULTS = {
    "enabled": False,
    "runtime": "quickjs-wasi",
    "mode": "only",
    "languages": ["javascript", "typescript"],
    "timeoutMs": 10000,
    "memoryLimitBytes": 67108864,
    "maxOutputBytes": 65536,
    "maxContentBytes": 8 * MIB,
    "maxSnapshotBytes": 10485760,
    "maxPendingToolCalls": 16,
    "maxQueuedToolCalls": 0,
    "maxToolCalls": 10_000,
    "snapshotTtlSeconds": 900,
    "sessionState": "none",
    "worldTtlSeconds": 3600,
    "worldBusy": "fork",
    "checkpoints": "suspensions",
    "searchDefaultLimit": 8,
    "maxSearchLimit": 50,
    "learnResultShapes": True,
}


def test_nothing_set_gives_every_default_of_the_contract() -> None:
    assert load_config().to_dict() == DEFAULTS
    assert load_config({}).to_dict() == DEFAULTS


@pytest.mark.parametrize("value", [None, False, {}, {"timeoutMs": 500}, {"enabled": False}])
def test_anything_but_true_or_enabled_true_is_off(value: object) -> None:
    assert load_config(value).enabled is False


@pytest.mark.parametrize("value", [True, {"enabled": True}, {"tools": {"codeMode": True}}])
def test_true_or_enabled_true_is_on(value: object) -> None:
    assert load_config(value).enabled is True


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [
        ("timeoutMs", 100, 60_000),
        ("memoryLimitBytes", MIB, 1024 * MIB),
        ("maxOutputBytes", 1024, 10 * MIB),
        ("maxContentBytes", 0, 64 * MIB),
        ("maxSnapshotBytes", 1024, 256 * MIB),
        ("maxPendingToolCalls", 1, 128),
        ("maxQueuedToolCalls", 0, 10_000),
        ("maxToolCalls", 1, 1_000_000),
        ("snapshotTtlSeconds", 1, 86_400),
        ("worldTtlSeconds", 1, 604_800),
        ("searchDefaultLimit", 1, 50),
        ("maxSearchLimit", 1, 50),
    ],
)
def test_a_number_outside_its_clamp_is_clamped(key: str, low: int, high: int) -> None:
    for written, used in [
        (low - 1, low),
        (-(10**400), low),
        (low, low),
        (high, high),
        (high + 1, high),
        (1e300, high),
    ]:
        assert load_config({key: written}).to_dict()[key] == used


def test_a_fraction_is_cut_to_a_whole_number() -> None:
    assert load_config({"timeoutMs": 1500.9}).timeout_ms == 1500


@pytest.mark.parametrize(
    ("value", "key", "said"),
    [
        ({"timeoutMs": True}, "tools.codeMode.timeoutMs", "a number from 100 to 60000, not true"),
        ({"timeoutMs": "500"}, "tools.codeMode.timeoutMs", 'a number from 100 to 60000, not "500"'),
        ({"timeoutMs": None}, "tools.codeMode.timeoutMs", "not null"),
        ({"timeoutMs": float("nan")}, "tools.codeMode.timeoutMs", "not nan"),
        ({"timeoutMs": float("inf")}, "tools.codeMode.timeoutMs", "not inf"),
        ({"enabled": 1}, "tools.codeMode.enabled", "true or false, not 1"),
        ({"enabled": "true"}, "tools.codeMode.enabled", 'true or false, not "true"'),
        ({"runtime": "v8"}, "tools.codeMode.runtime", 'must be "quickjs-wasi", not "v8"'),
        ({"mode": "all"}, "tools.codeMode.mode", 'must be "only", not "all"'),
        ({"languages": []}, "tools.codeMode.languages", 'one or more of "javascript" and "typescript"'),
        ({"languages": "javascript"}, "tools.codeMode.languages", "must be a list"),
        ({"languages": ["typescrpt"]}, "tools.codeMode.languages", 'Did you mean "typescript"?'),
        ({"languages": [["javascript"]]}, "tools.codeMode.languages", "not a list"),
        ({"timeoutMS": 1}, "tools.codeMode.timeoutMS", 'Did you mean "timeoutMs"?'),
        ({"timeout_ms": 1}, "tools.codeMode.timeout_ms", 'Did you mean "timeoutMs"?'),
        ({"zzz": 1}, "tools.codeMode.zzz", "unknown key. Allowed: enabled, runtime, mode"),
        ({7: 1}, "tools.codeMode.7", "unknown key."),
        ("yes", "tools.codeMode", 'true, false or an object, not "yes"'),
        (1, "tools.codeMode", "true, false or an object, not 1"),
        ([], "tools.codeMode", "true, false or an object, not an empty list"),
        ({"tools": True}, "tools", "must be an object, not true"),
    ],
)
def test_a_wrong_key_or_type_is_refused_with_the_key_and_what_is_allowed(
    value: object, key: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(value)
    assert refused.value.code == "invalid_config"
    assert refused.value.key == key
    assert said in str(refused.value)


def test_a_value_that_may_be_a_secret_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as refused:
        load_config({"runtime": {"token": "hunter2"}})
    assert "hunter2" not in str(refused.value)


def test_languages_are_a_subset_in_a_fixed_order() -> None:
    written = {"languages": ["typescript", "javascript", "typescript"]}
    assert load_config(written).languages == ("javascript", "typescript")
    assert load_config({"languages": ["typescript"]}).languages == ("typescript",)


def test_an_agent_overlays_the_global_configuration_field_by_field() -> None:
    overall = {"enabled": True, "timeoutMs": 500, "maxPendingToolCalls": 4}
    config = load_config(overall, overlay={"timeoutMs": 700})
    assert (config.enabled, config.timeout_ms, config.max_pending_tool_calls) == (True, 700, 4)
    assert resolve_config(overall, False).enabled is False
    assert resolve_config(overall, False).timeout_ms == 500
    assert resolve_config(False, {"enabled": True}).enabled is True
    assert resolve_config(True, {"timeoutMs": 700}).enabled is True


def test_the_default_search_limit_stays_within_the_largest_after_the_overlay() -> None:
    assert load_config({"maxSearchLimit": 5}).search_default_limit == 5
    assert load_config({"searchDefaultLimit": 40}, overlay={"maxSearchLimit": 10}).search_default_limit == 10
    assert load_config({"maxSearchLimit": 5}, overlay={"maxSearchLimit": 50}).search_default_limit == 8


def test_a_struct_made_by_hand_is_clamped_when_it_is_loaded() -> None:
    assert load_config(CodeModeConfig(timeout_ms=1)).timeout_ms == 100


def test_other_sections_of_a_host_document_are_left_alone() -> None:
    document: dict[str, Any] = {"tools": {"codeMode": {"enabled": True}, "web": 7}, "gateway": [7]}
    assert load_config(document).enabled is True
    assert load_config({"tools": {}}).enabled is False
    assert load_config({"agents": {}}).enabled is False


def test_the_policy_of_a_document_stays_with_the_configuration_that_is_made_of_it() -> None:
    loaded = load_config({"tools": {"codeMode": True, "deny": ["exec"]}})
    assert [policy.shared for policy in loaded.policies] == [{"deny": ["exec"]}]
    assert load_config(loaded, overlay={"timeoutMs": 700}).policies == loaded.policies
    assert load_config({"tools": {"codeMode": True}}).policies == ()
    assert sorted(loaded.to_dict()) == sorted(DEFAULTS)


def test_a_policy_in_an_agents_overlay_is_refused() -> None:
    document = {"tools": {"codeMode": True, "deny": ["exec"]}}
    for overlay in (document, load_config(document)):
        with pytest.raises(
            ConfigError, match=r"^agent_config: has a tool policy, which is not read from here"
        ):
            load_config(True, overlay=overlay)


@pytest.mark.parametrize(
    ("document", "key"),
    [
        ({"enabled": True, "tools": {}}, "enabled"),
        ({"enabled": True, "tools": {"codeMode": {"timeoutMs": 500}}}, "enabled"),
        ({"enabled": False, "tools": {"browser": {"enabled": True}}}, "enabled"),
        ({"timeoutMs": 500, "tools": {"codeMode": True}}, "timeoutMs"),
        ({"mode": "only", "tools": {"allow": ["*"]}}, "mode"),
    ],
)
def test_a_key_of_our_section_beside_tools_is_refused_and_told_where_it_belongs(
    document: dict[str, Any], key: str
) -> None:
    told = f"{key}: nothing reads this beside `tools`: write it as tools.codeMode.{key}. If it is"
    for given in ({"value": document}, {"value": True, "overlay": document}):
        with pytest.raises(ConfigError) as refused:
            load_config(**given)
        assert refused.value.key == key
        assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    "beside",
    [
        {"agents": {}, "mcpServers": {}, "version": 3},
        {"mode": "dev", "runtime": "node", "languages": "de"},  # values that ours never have
        {"enabled": True},  # which is said in our section already
    ],
)
def test_a_whole_document_of_a_host_works_with_keys_of_its_own_that_are_called_as_ours(
    beside: dict[str, Any],
) -> None:
    assert load_config({**beside, "tools": {"codeMode": {"enabled": False}}}).enabled is False
    assert load_config({**beside, "tools": {"codeMode": True, "allow": ["*"]}}).enabled is True


def test_engine_settings_are_no_keys_of_the_contract() -> None:
    with pytest.raises(ConfigError):
        load_config({"workerReuse": 4})


def test_workers_may_be_used_again_within_a_session_so_many_times_or_not_at_all() -> None:
    assert [load_settings({"workerReuse": said}).worker_reuse for said in ("session", 1, 7.9, 10**9)] == [
        "session",
        1,
        7,
        1_000_000,
    ]
    with pytest.raises(ConfigError) as refused:
        load_settings({"workerReuse": "sesion"})
    assert str(refused.value) == (
        'settings.workerReuse: must be a number from 1 to 1000000 or "session", not "sesion".'
        ' Did you mean "session"?'
    )


def test_engine_settings_are_loaded_by_the_same_rules() -> None:
    settings = load_settings({"workerReuse": 0, "confinement": "require", "queueLimit": 10**9})
    assert (settings.worker_reuse, settings.confinement, settings.queue_limit) == (1, "require", 1_000_000)
    assert load_settings() == load_settings(EngineSettings()) == EngineSettings()
    for wrong in ({"workerReus": 1}, {"maxWorkers": True}, {"confinement": "none"}):
        with pytest.raises(ConfigError):
            load_settings(wrong)
