"""A nightly job on DBOS: a workflow whose steps are exec and wait, over runs that any process can go on with.

    pip install "codemode[postgres]" dbos
    CODEMODE_STORE_KEY=$(openssl rand -hex 32) python nightly_dbos.py postgresql://user@host/database

Killed at any moment and started again, DBOS recovers the workflow and repeats the step whose end it does not
know: `request_id` makes that harmless, because an exec that was sent already runs nothing. Here the job runs
once; in a service, `@DBOS.scheduled("0 3 * * *")` starts it each night.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from importlib import import_module
from typing import Any

from codemode import Engine, tool

DBOS: Any = import_module("dbos").DBOS
PROGRAM = """
const accounts = await tools.open_accounts({});
const bills = await Promise.all(accounts.map((account) => tools.bill({ account })));
return bills.reduce((sum, cents) => sum + cents, 0);
"""


@tool(read_only=True, idempotent=True)
async def open_accounts() -> list[str]:
    """All accounts that have something to pay."""
    return ["ada", "ben"]


@tool(idempotent=True)
async def bill(account: str) -> int:
    """Sends a bill; with the same key again it sends nothing."""
    await asyncio.sleep(0.3)  # longer than exec waits: the program is suspended
    return len(account) * 100


async def main(store: str) -> None:
    config = {"enabled": True, "timeoutMs": 100}
    async with Engine([open_accounts, bill], config, store=store) as engine:

        @DBOS.step()
        async def start(request_id: str) -> dict[str, Any]:
            return (await engine.exec(PROGRAM, session="nightly", request_id=request_id)).to_dict()

        @DBOS.step()
        async def go_on(run_id: str) -> dict[str, Any]:
            return (await engine.wait(run_id, session="nightly")).to_dict()

        @DBOS.workflow()
        async def nightly() -> Any:
            result = await start(f"{DBOS.workflow_id}:exec")
            while result["status"] == "waiting":
                result = await go_on(result["runId"])
            return result["value"]

        DBOS(config={"name": "nightly", "system_database_url": store, "run_admin_server": False})
        DBOS.launch()
        print("billed", await nightly(), "cents", flush=True)
        DBOS.destroy()


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    migrate = [sys.executable, "-m", "codemode", "store", "migrate", "--store", sys.argv[1]]
    subprocess.run(migrate, check=True, stdout=subprocess.DEVNULL)
    asyncio.run(main(sys.argv[1]))
