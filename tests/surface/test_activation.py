"""Whether a run is in code mode, and what the model then sees."""

from typing import Any

import pytest

from codemode.config import ConfigError, load_config
from codemode.policy import Policy
from codemode.surface import PreparedRun, prepare_run
from codemode.tools import CallContext
from tests.harness.tool_samples import make, takes

READ = make("read", parameters=takes("path"))
SHELL = make("exec", "Runs a shell command.", parameters=takes("command"))
ISSUE = make("create_issue", "Creates an issue.", source="mcp", owner="github")
PICK = make("pick_file", "Picks a file.", source="client", owner="app")
SEARCH = make("tool_search", "Searches tools.")
TOOLS = [READ, SHELL, ISSUE, PICK]


def prepare(
    config: Any, tools: list[Any] = TOOLS, policy: dict[str, Any] | None = None, **who: Any
) -> PreparedRun:
    return prepare_run(tools, load_config(config), Policy(policy), **who)


@pytest.mark.parametrize("config", [None, False, {}, {"timeoutMs": 500}, {"enabled": False}])
@pytest.mark.guarantee("off-unless-enabled")
def test_without_enabled_true_the_tools_are_exposed_as_they_are(config: Any) -> None:
    prepared = prepare(config)

    assert (prepared.active, prepared.catalog, prepared.exec_description) == (False, None, "")
    assert all(shown is given for shown, given in zip(prepared.visible, TOOLS, strict=True))


@pytest.mark.parametrize("config", [True, {"enabled": True}])
@pytest.mark.guarantee("exactly-exec-and-wait")
def test_enabled_exposes_exactly_exec_and_wait(config: Any) -> None:
    prepared = prepare(config)

    assert prepared.active
    assert [tool.name for tool in prepared.visible] == ["exec", "wait"]
    assert all(tool.control for tool in prepared.visible)


def test_the_hidden_tools_are_in_the_catalog() -> None:
    catalog = prepare(True).catalog

    assert catalog is not None
    assert set(catalog.tools) == set(TOOLS)


@pytest.mark.guarantee("no-recursion")
def test_the_shell_exec_is_hidden_from_the_model_and_callable_by_id() -> None:
    prepared = prepare(True)

    assert SHELL not in prepared.visible
    assert prepared.catalog is not None
    assert prepared.catalog.resolve("openclaw:core:exec") is SHELL


@pytest.mark.guarantee("denied-is-nonexistent")
def test_denied_tools_are_in_no_surface() -> None:
    prepared = prepare(True, policy={"deny": ["group:runtime"]})

    assert prepared.catalog is not None
    assert prepared.catalog.get("openclaw:core:exec") is None
    assert "exec(" not in prepared.exec_description
    assert [tool.name for tool in prepare(False, policy={"deny": ["group:runtime"]}).visible] == [
        "read",
        "create_issue",
        "pick_file",
    ]


@pytest.mark.parametrize(
    ("tools", "options"),
    [
        ([], {}),
        (TOOLS, {"disable_tools": True}),
        (TOOLS, {"runtime_allow": []}),
        ([SEARCH], {}),
    ],
    ids=["raw", "disabled", "empty allowlist", "controls only"],
)
@pytest.mark.guarantee("no-tools-no-code-mode")
def test_a_run_without_tools_does_not_activate_code_mode(tools: list[Any], options: dict[str, Any]) -> None:
    assert prepare(True, tools, **options) == PreparedRun(False, (), None)


@pytest.mark.guarantee("no-tools-no-code-mode")
def test_a_run_whose_tools_are_all_denied_does_not_activate_code_mode_and_says_which_step_did_it() -> None:
    told = ("global: leaves no tool of the 4 before it",)

    assert prepare(True, policy={"deny": ["*"]}) == PreparedRun(False, (), None, told)


@pytest.mark.guarantee("policy-of-the-caller")
def test_the_callers_context_reaches_the_policy() -> None:
    policy = {"sandbox": {"tools": {"deny": ["exec"]}}, "bySender": {"bob": {"deny": ["read"]}}}
    context = CallContext(sender="bob", sandbox="docker")

    shown = prepare(False, policy=policy, context=context).visible
    assert [tool.name for tool in shown] == ["create_issue", "pick_file"]


@pytest.mark.guarantee("policy-is-never-ignored")
def test_the_policy_of_the_document_that_was_loaded_is_in_force() -> None:
    config = load_config({"tools": {"codeMode": True, "deny": ["exec"]}})

    prepared = prepare_run(TOOLS, config)
    assert prepared.catalog is not None
    assert SHELL not in prepared.catalog.tools
    with pytest.raises(ConfigError, match=r"^policy: this document has a tool policy that is not in force"):
        prepare_run(TOOLS, config, Policy({"deny": ["read"]}))
    both = prepare_run(TOOLS, config, Policy({"deny": ["read"]}, config))
    assert both.catalog is not None
    assert both.catalog.tools == (PICK, ISSUE)


def test_the_runs_own_allowlist_narrows_after_policy() -> None:
    prepared = prepare(True, policy={"deny": ["exec"]}, runtime_allow=["read", "exec"])

    assert prepared.catalog is not None
    assert prepared.catalog.tools == (READ,)


@pytest.mark.guarantee("search-controls-are-hidden")
def test_tool_search_controls_are_hidden_from_both_surfaces() -> None:
    prepared = prepare(True, [READ, SEARCH])

    assert prepared.catalog is not None
    assert prepared.catalog.tools == (READ,)
    assert [tool.name for tool in prepared.visible] == ["exec", "wait"]


def test_policy_warnings_are_handed_on() -> None:
    assert len(prepare(True, policy={"allow": ["not_loaded"]}).warnings) == 1


@pytest.mark.guarantee("policy-of-the-caller")
def test_agent_provider_and_model_reach_the_policy() -> None:
    policy = {"byProvider": {"acme/large": {"allow": ["read"]}}, "agents": {"main": {"deny": ["read"]}}}

    assert [tool.name for tool in prepare(False, policy=policy, provider="acme", model="large").visible] == [
        "read"
    ]
    assert prepare(False, policy=policy, provider="acme", model="large", agent="main").visible == ()


def test_plain_functions_are_accepted() -> None:
    def now() -> str:
        return "now"

    prepared = prepare(True, [now])

    assert prepared.catalog is not None
    assert prepared.catalog.convenience_names() == ["now"]


def test_the_schemas_of_the_controls_are_flat() -> None:
    execute, wait = prepare({"enabled": True, "languages": ["javascript"]}).visible

    assert set(execute.parameters["properties"]) == {"code", "command", "language"}
    assert execute.parameters["properties"]["language"]["enum"] == ["javascript"]
    assert set(wait.parameters["properties"]) == {"runId"}
    for tool in (execute, wait):
        assert not {"oneOf", "anyOf", "allOf", "not", "enum"} & set(tool.parameters)
        assert all(isinstance(own["type"], str) for own in tool.parameters["properties"].values())
