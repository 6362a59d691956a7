"""durable_host of another version, with another guest image: python -m … INSTALLATION STORE WITNESS."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from codemode_runtime import native

from tests.e2e.durable_host import Witness, serve

if __name__ == "__main__":
    native.FOLDER = Path(sys.argv[1])
    asyncio.run(
        serve(sys.argv[2], Witness(Path(sys.argv[3])), lambda found: print(json.dumps(found), flush=True))
    )
