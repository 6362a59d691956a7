"""durable_host on a machine whose clock is wrong: python -m tests.e2e.odd_clock_host OFF_MS STORE WITNESS."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from codemode import clock
from tests.e2e.durable_host import Witness, serve

if __name__ == "__main__":
    off_ms = int(sys.argv[1])
    clock.wall_ms = lambda: int(time.time() * 1000) + off_ms
    asyncio.run(
        serve(sys.argv[2], Witness(Path(sys.argv[3])), lambda found: print(json.dumps(found), flush=True))
    )
