"""What test_dbos.py runs in processes of its own: an agent's turn as a DBOS workflow over an engine.

    python -m tests.cluster.dbos_host STORE WITNESS begin|recover

`begin` is killed in the middle of the workflow, after its exec; `recover` is the same program started again:
DBOS finds the workflow, repeats the step whose end it does not know, and the run is finished.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from codemode import CallContext, Engine, tool
from tests.e2e.durable_host import Witness

dbos: Any = import_module("dbos")
DBOS: Any = dbos.DBOS
PROGRAM = "const done = await tools.once({}); await yield_control(); return done + ' and finished'"
WORKFLOW = "turn-1"


def make_engine(store: str, witness: Witness) -> Engine:
    @tool
    async def once(context: CallContext) -> str:
        """Must not be done twice."""
        witness.saw("once", context)
        return "done"

    return Engine([once], store=store, settings={"warmWorkers": 1})


async def main(store: str, witness: Witness, is_first: bool) -> None:
    async with make_engine(store, witness) as engine:

        @DBOS.step()
        async def run_exec(program: str, request_id: str) -> dict[str, Any]:
            """Repeated with the same request id it runs nothing, and answers as before."""
            result = await engine.exec(program, session="s", request_id=request_id)
            if is_first:
                os.kill(os.getpid(), signal.SIGKILL)  # the program ran, and DBOS does not know it
            return result.to_dict()

        @DBOS.step()
        async def run_wait(run_id: str) -> dict[str, Any]:
            return (await engine.wait(run_id, session="s")).to_dict()

        @DBOS.workflow()
        async def turn(program: str) -> Any:
            result = await run_exec(program, f"{DBOS.workflow_id}:exec")
            while result["status"] == "waiting":
                result = await run_wait(result["runId"])
            return result["value"]

        DBOS(config={"name": "codemode", "system_database_url": store, "run_admin_server": False})
        DBOS.launch()
        if is_first:
            with dbos.SetWorkflowID(WORKFLOW):
                await turn(PROGRAM)
        handle = await DBOS.retrieve_workflow_async(WORKFLOW)  # launch has begun to recover it
        print(json.dumps(await handle.get_result()), flush=True)
        DBOS.destroy()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Witness(Path(sys.argv[2])), sys.argv[3] == "begin"))
