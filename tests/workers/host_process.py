"""A host of its own, to be killed or to leave: starts runs that compute, prints every pid, then does as told.

python -m tests.workers.host_process waits | leaves | raises
"""

from __future__ import annotations

import asyncio
import os
import sys

from codemode.config import EngineSettings
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor
from tests.harness.leftovers import descendants
from tests.harness.loops import until
from tests.harness.workers import start


async def main(ending: str) -> None:
    supervisor = Supervisor(WorkerSettings(EngineSettings(warm_workers=2)))
    await supervisor.start()
    workers = [await supervisor.lease() for _ in range(2)]
    computing = [asyncio.create_task(start(worker, "for (;;);", budget_ms=60_000)) for worker in workers]
    await until(lambda: supervisor.stats().warm == 2 and all(worker.pid for worker in workers))
    print(*sorted(descendants(os.getpid())), flush=True)
    match ending:
        case "leaves":
            os._exit(0)
        case "raises":
            raise SystemExit(3)
        case _:
            await asyncio.gather(*computing)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
