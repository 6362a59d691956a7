"""The reference clients over HTTP, in Python and in JavaScript, against a real server."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.http_api import SECRETS, api_server
from tests.harness.processes import PROJECT
from tests.harness.serve import node

pytestmark = pytest.mark.usefixtures("leaves_nothing")
CLIENTS = PROJECT / "examples" / "clients"
PYTHON = """
import json, sys
sys.path.insert(0, sys.argv[1])
from codemode_http import HttpEngine, Refused
engine = HttpEngine(sys.argv[2], sys.argv[3])
events = engine.events()
next(events)
held = engine.exec("return await tools.pay({ amount: 5 })", session="s")
(asked,) = engine.approvals(session="s")
kinds = [next(events)["type"]]
engine.approve(asked)
done = engine.wait(held["runId"])
try:
    engine.wait("run_unknown")
except Refused as refused:
    print(json.dumps([asked["lines"], done["value"], kinds, refused.code]))
"""
JAVASCRIPT = """
const [folder, url, token] = process.argv.slice(1);
const { HttpEngine } = await import(`file://${folder}/codemode_http.mjs`);
const engine = new HttpEngine(url, token);
const events = engine.events();
await events.next();
const held = await engine.exec("return await tools.pay({ amount: 5 })", { session: "s" });
const [asked] = await engine.approvals({ session: "s" });
const kinds = [(await events.next()).value.type];
await engine.approve(asked);
const done = await engine.wait(held.runId);
const code = await engine.wait("run_unknown").catch((error) => error.code);
console.log(JSON.stringify([asked.lines, done.value, kinds, code]));
process.exit(0);
"""


@pytest.mark.parametrize("language", ["python", "javascript"])
async def test_a_client_runs_a_program_decides_and_hears_of_it(language: str, tmp_path: Path) -> None:
    command = {
        "python": [sys.executable, "-c", PYTHON],
        "javascript": [node(), "--input-type=module", "-e", JAVASCRIPT],
    }[language]
    async with api_server(tmp_path) as server:
        done = await asyncio.to_thread(
            subprocess.run,
            [*command, str(CLIENTS), server.url, SECRETS["all"]],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [["amount: 5"], "paid 5", ["started"], "not_found"]
