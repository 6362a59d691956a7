"""A limit of processes meets the native runner: only the workers that it refuses are missing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.patience import PATIENCE_SECONDS

USER = 54321
RIGHTS = "+dac_read_search,+dac_override"  # root's interpreter may be in root's own folder
HOST = """
import asyncio, json, resource
from pathlib import Path
from codemode import Engine, tool

def limit(most=None):
    for task in Path("/proc/self/task").iterdir():
        for pid in (task / "children").read_text().split():
            _, hard = resource.prlimit(int(pid), resource.RLIMIT_NPROC)
            resource.prlimit(int(pid), resource.RLIMIT_NPROC, (hard if most is None else most, hard))

async def main():
    begun, done = asyncio.Event(), asyncio.Event()

    @tool
    async def hold() -> int:
        begun.set()
        await done.wait()
        return 1

    async with Engine([hold], True, settings={"warmWorkers": 1}) as engine:
        held = asyncio.create_task(engine.exec("return await tools.hold({})", session="held"))
        await begun.wait()
        limit(0)
        more = await asyncio.gather(*(engine.exec("return 2", session=str(n)) for n in range(6)))
        done.set()
        limit()
        found = [await held, *more, await engine.exec("return 3")]
        print(json.dumps([one.to_dict().get("value", one.to_dict().get("error")) for one in found]))

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Linux counts the processes of a user")
def test_a_limit_of_processes_fails_the_runs_that_need_one_and_no_run_in_flight(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOST]
    if os.getuid() == 0:  # whom no such limit holds
        if shutil.which("setpriv") is None:
            pytest.skip("root is not limited, and there is no setpriv")
        os.chown(tmp_path, USER, USER)
        who = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--clear-groups"]
        command = [*who, "--inh-caps", RIGHTS, "--ambient-caps", RIGHTS, *command]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=PATIENCE_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    held, *more, last = json.loads(done.stdout)
    assert (held, last) == (1, 3)
    assert set(more) <= {2, "the system refused a process for a worker: Resource temporarily unavailable."}
    assert any(one != 2 for one in more)
