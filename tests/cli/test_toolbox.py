"""`--toolbox`, the section `toolbox` of a configuration, and `codemode init`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.cli import Cli


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hello.txt").write_text("hello\n")
    return tmp_path


def test_programs_work_in_the_workspace_and_nowhere_else(cli: Cli, folder: Path) -> None:
    program = """
    await tools.write({ path: "new.txt", text: "made" });
    return [(await tools.read({ path: "hello.txt" })).text,
            await tools.read({ path: "../outside" }).catch((e) => e.code)];
    """
    told = cli("run", "-e", program, "--toolbox", "coding", "--json")
    assert told.json["value"] == ["hello\n", "outside_workspace"]
    assert (folder / "new.txt").read_text() == "made"


def test_a_command_runs_if_it_is_allowed_and_waits_for_a_person_if_not(cli: Cli) -> None:
    program = "return (await tools.exec({ command: 'cat hello.txt' })).output"
    allowed = cli("run", "-e", program, "--toolbox", "coding", "--allow-command", "cat", "--json")
    assert allowed.json["value"] == "hello\n"
    asked = cli("run", "-e", program, "--toolbox", "coding", "--no-wait", "--json", "--store", "runs.sqlite")
    assert (asked.code, asked.json["reason"]) == (3, "approval")


def test_a_configuration_that_init_wrote_works_and_is_not_overwritten(cli: Cli, folder: Path) -> None:
    assert cli("init").code == 0
    text = (folder / "codemode.toml").read_text()
    told = cli(
        "run", "--config", "codemode.toml", "-e", "return Object.keys(tools).includes('edit')", "--json"
    )
    assert told.json["value"] is True
    again = cli("init")
    assert again.code != 0
    assert "exists: edit it, or replace it with --force" in again.err
    assert cli("init", "--force", "--toolbox", "minimal").code == 0
    assert (folder / "codemode.toml").read_text() == text.replace('profile = "coding"', 'profile = "minimal"')


def test_every_commented_setting_of_a_new_configuration_is_its_default(cli: Cli, folder: Path) -> None:
    cli("init")
    lines = (folder / "codemode.toml").read_text().partition("[tools.codeMode]\n")[2].splitlines()
    settings = [line[2:] for line in lines if line.startswith("# ") and " = " in line and line[2].islower()]
    real = [line for line in settings if line.split(" = ")[0].isidentifier()]
    assert "timeoutMs = 10000" in real
    (folder / "all.toml").write_text("[tools.codeMode]\nenabled = true\n" + "\n".join(real) + "\n")
    told = cli("run", "--config", "all.toml", "-e", "return 1", "--json")
    assert (told.json["value"], told.err) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--workspace", "."), "go with --toolbox"),
        (("--toolbox", "coding", "--workspace", "missing"), "cannot be opened as a folder"),
        (("--config", "odd.toml"), "toolbox: Object contains unknown field `profil`"),
        (("--config", "ask.toml"), "Invalid enum value 'never'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_name(
    cli: Cli, folder: Path, arguments: tuple[str, ...], told: str
) -> None:
    (folder / "odd.toml").write_text('[toolbox]\nprofil = "coding"\n')
    (folder / "ask.toml").write_text('[toolbox]\nprofile = "coding"\ncommands.ask = "never"\n')
    refused = cli("run", "-e", "return 1", *arguments)
    assert refused.code == 2
    assert told in refused.err
