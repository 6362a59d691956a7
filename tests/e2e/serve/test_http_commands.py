"""Commands that act on a running server from another terminal, and shell completion."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.cli import COMMAND, Told, as_process
from tests.harness.http_api import SECRETS, Server, api_server
from tests.harness.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.usefixtures("leaves_nothing")
PAY = {"code": "return await tools.pay({ amount: 5 })", "session": "s"}


async def command(server: Server, *arguments: str, token: str = "all") -> Told:
    words = (*arguments, "--token", SECRETS[token])
    return await asyncio.to_thread(as_process, *words)


async def test_an_approval_is_watched_listed_and_given_from_another_terminal(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server, server.client() as client:
        at = ("--server", server.url)
        watching = await asyncio.create_subprocess_exec(
            *(str(COMMAND), "approvals", "watch", "--json", *at, "--token", SECRETS["all"]),
            stdout=subprocess.PIPE,
        )
        assert watching.stdout is not None
        held = (await client.post("/v1/exec", json=PAY)).json()
        async with asyncio.timeout(PATIENCE_SECONDS):
            asked = json.loads(await watching.stdout.readline())
        assert (asked["runId"], asked["arguments"]) == (held["runId"], {"amount": 5})

        listed = await command(server, "approvals", *at)
        assert listed.out.splitlines()[1] == "    amount: 5"
        refused = await command(server, "approvals", "approve", asked["id"], *at, token="reader")
        assert (refused.code, "has not the right 'approve'" in refused.err) == (1, True)
        given = await command(server, "approvals", "approve", asked["id"], *at)
        assert given.out == f"{asked['id']}  approved\n"
        async with asyncio.timeout(PATIENCE_SECONDS):
            closed = json.loads(await watching.stdout.readline())
        assert (closed["approvalId"], closed["outcome"]) == (asked["id"], "approved")
        done = await client.post(f"/v1/runs/{held['runId']}/wait", json={})
        assert done.json()["value"] == "paid 5"
        assert (await command(server, "approvals", "deny", *at)).code == 1

        well = await command(server, "doctor", "--json", "--http", server.url)
        found = {one["name"]: one["status"] for one in well.json["findings"]}
        assert (found["HTTP server"], found["HTTP health"] != "unavailable") == ("ok", True)
    assert await asyncio.wait_for(watching.wait(), PATIENCE_SECONDS) == 0


def test_the_store_lists_approvals_and_finished_runs_without_a_server(tmp_path: Path) -> None:
    store, tools = str(tmp_path / "runs.sqlite"), str(Path(__file__).parent / "shop.py")
    as_process("run", "-e", PAY["code"], "--no-wait", "--store", store, "--tools", tools)
    as_process("run", "-e", "return 1", "--store", store)

    approvals = as_process("approvals", "--store", store, "--json")
    runs = as_process("runs", "list", "--all", "--store", store, "--json")

    (asked,) = approvals.json
    assert asked["arguments"] == {"amount": 5}
    assert [run["status"] for run in runs.json] == ["completed", "waiting"]
    assert as_process("approvals", "approve", "x", "--store", store).code == 2
    gone = as_process("approvals", "--server", "http://127.0.0.1:1")
    assert (gone.code, "cannot be reached" in gone.err) == (4, True)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command(shell: str) -> None:
    script = as_process("completion", shell).out
    for name in ("run", "serve", "approvals", "completion"):
        assert name in script
    assert "no-tokens" in script


def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    script = tmp_path / "codemode.bash"
    script.write_text(as_process("completion", "bash").out)

    def completed(*words: str) -> list[str]:
        line = f"source {script}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _codemode;"
        done = subprocess.run(
            ["bash", "-c", line + ' printf "%s\\n" "${COMPREPLY[@]}"'],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        return done.stdout.split()

    assert completed("codemode", "appr") == ["approvals"]
    assert completed("codemode", "serve", "--no-t") == ["--no-tokens"]
    assert completed("codemode", "approvals", "wat") == ["watch"]
