"""`codemode runs export` and `codemode replay`: from a run in a store to a test that replays it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.harness.cli import TOOLS, Cli

PROGRAM = """\
text(`${Date.now()} ${Math.random()}`);
await yield_control();
return await tools.echo({ value: { a: 1, b: 2 } });
"""


def recorded(cli: Cli, *options: str) -> str:
    """Runs the program in a store; the id of its run."""
    Path("order.js").write_text(PROGRAM)
    left = cli("run", "order.js", "--tools", TOOLS, "--store", "runs.sqlite", "--no-wait", "--json", *options)
    assert left.code == 3, left
    run_id: str = left.json["runId"]
    done = cli("wait", run_id, "--tools", TOOLS, "--store", "runs.sqlite", "--json", *options)
    assert done.json["value"] == {"a": 1, "b": 2}
    return run_id


def test_a_run_is_exported_replayed_tried_with_another_text_and_made_a_test(cli: Cli, tmp_path: Path) -> None:
    run_id = recorded(cli, "--values")
    told = cli("runs", "export", run_id, "--to", "order.json", "--store", "runs.sqlite")
    assert (told.code, told.err) == (0, "wrote order.json\n")

    told = cli("replay", "order.json")
    assert (told.code, told.out) == (
        0,
        "no difference: 1 call, 1 item of output and the outcome are the same\n",
    )
    Path("other.js").write_text(PROGRAM.replace("b: 2", "b: 3"))
    told = cli("replay", "order.json", "--update-program", "other.js")
    assert (told.code, told.out.splitlines()[0]) == (1, "call 1 differs")
    told = cli("replay", "order.json", "--update-program", "other.js", "--json")
    assert (told.code, told.json["difference"]["where"]) == (1, "call")

    Path("tests").mkdir()
    assert cli("replay", "order.json", "--pytest", "tests/test_order.py").code == 0
    told = cli("replay", "order.json", "--pytest", "tests/test_order.py")
    assert (told.code, "is there already" in told.err) == (2, True)
    changed = cli("replay", "order.json", "--update-program", "other.js", "--pytest", "tests/test_other.py")
    assert changed.code == 0
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 failed, 1 passed" in ran.stdout
    assert "call 1 differs" in ran.stdout


def test_what_cannot_be_replayed_says_why_and_what_to_do(cli: Cli) -> None:
    run_id = recorded(cli)
    told = cli("runs", "export", run_id, "--store", "runs.sqlite")
    assert (told.code, told.err) == (
        2,
        "codemode runs: export needs --to FILE, where the bundle is written\n",
    )
    unknown = cli("runs", "export", "run_none", "--to", "x.json", "--store", "runs.sqlite")
    assert (unknown.code, "no such run" in unknown.err) == (1, True)
    missing = cli("replay", "nowhere.json")
    assert (missing.code, missing.err) == (
        2,
        "codemode replay: nowhere.json: it cannot be read: No such file or directory\n",
    )
    Path("no.json").write_text("{}")
    assert "this is no bundle of `codemode runs export`" in cli("replay", "no.json").err


def test_a_bundle_without_values_is_written_and_refused(cli: Cli) -> None:
    Path("order.js").write_text(PROGRAM)
    left = cli("run", "order.js", "--tools", TOOLS, "--store", "runs.sqlite", "--no-wait", "--json")
    told = cli("runs", "export", left.json["runId"], "--to", "bare.json", "--store", "runs.sqlite")
    assert told.code == 0
    assert "it has no values, and cannot be replayed: the engine records no values of runs" in told.err
    refused = cli("replay", "bare.json")
    assert (refused.code, "so its program cannot be run again" in refused.err) == (2, True)
    assert cli("replay", "bare.json", "--pytest", "test_bare.py").code == 2
