"""`--config` with a host's document: its policy holds, and nothing in it is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.cli import TOOLS, Cli, Told

pytestmark = pytest.mark.usefixtures("leaves_nothing")
NAMES = "return ALL_TOOLS.map(t => t.name)"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)


def run_with(cli: Cli, folder: Path, document: Any, *more: str) -> Told:
    path = folder / "config.json"
    path.write_text(json.dumps(document))
    return cli("run", "-e", NAMES, "--tools", TOOLS, "--config", path, *more)


@pytest.mark.parametrize(
    ("document", "names"),
    [
        ({"tools": {"deny": ["shout", "pay"]}}, ["echo", "fail", "until_there"]),
        ({"tools": {"codeMode": {"timeoutMs": 9000}, "allow": ["echo"]}}, ["echo"]),
        ({"tools": {"deny": ["shout"]}, "policy": {"deny": ["pay"]}}, ["echo", "fail", "until_there"]),
        ({"policy": {"allow": ["echo"]}}, ["echo"]),
        ({"agents": {"list": [{"id": "main", "tools": {"allow": ["pay"]}}]}}, ["pay"]),
        ({"agents": {"other": {"deny": ["*"]}}}, ["echo", "fail", "pay", "shout", "until_there"]),
        ({"timeoutMs": 9000}, ["echo", "fail", "pay", "shout", "until_there"]),
        ({"settings": {"warmWorkers": 1}}, ["echo", "fail", "pay", "shout", "until_there"]),
    ],
)
@pytest.mark.guarantee("policy-is-never-ignored")
def test_the_policy_of_a_configuration_file_holds(
    cli: Cli, tmp_path: Path, document: dict[str, Any], names: list[str]
) -> None:
    done = run_with(cli, tmp_path, document)
    assert (done.code, json.loads(done.out)) == (0, names)


@pytest.mark.guarantee("policy-is-never-ignored")
def test_the_policy_of_an_agent_holds_for_the_agent_that_is_named(cli: Cli, tmp_path: Path) -> None:
    document = {"agents": {"list": [{"id": "Clerk", "tools": {"allow": ["echo"]}}]}}
    assert run_with(cli, tmp_path, document, "--agent", "clerk").out == '["echo"]\n'


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"tools": {}, "timeoutMs": 500}, "timeoutMs: nothing reads this beside `tools`"),
        ({"policy": {}, "maxOutputBytes": 5000}, "maxOutputBytes: nothing reads this beside `tools`"),
        ({"settings": {}, "deny": ["pay"]}, "deny: nothing reads this beside `tools`"),
        ({"tools": {"dney": ["pay"]}}, 'tools.dney: unknown key of a tool policy. Did you mean "deny"?'),
        ({"tools": {"profile": "codign"}}, "tools.profile: must be one of coding, full, messaging, minimal."),
        ({"policy": {"dney": ["pay"]}}, 'policy.dney: unknown key. Did you mean "deny"?'),
        ({"agents": 5}, "agents: must be an object, not 5."),
        ({"deny": ["pay"]}, "tools.codeMode.deny: unknown key."),
    ],
)  # fmt: skip
@pytest.mark.guarantee("policy-is-never-ignored")
def test_what_would_be_lost_in_a_configuration_file_is_refused(
    cli: Cli, tmp_path: Path, document: dict[str, Any], told: str
) -> None:
    done = run_with(cli, tmp_path, document)
    assert (done.code, done.out) == (2, "")
    assert told in done.err


def test_a_policy_that_leaves_no_tool_is_told_on_stderr_with_its_step(cli: Cli, tmp_path: Path) -> None:
    done = run_with(cli, tmp_path, {"tools": {"profile": "minimal"}})
    assert (done.code, done.out) == (0, "[]\n")
    assert "tools.profile minimal: leaves no tool of the 5 before it" in done.err
