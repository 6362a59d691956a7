"""What the engine adds to an MCP call, against the SDK's own client: same server, same run of the bench.

    python bench/bench_mcp.py                   a JSON line per measurement, then the ratios

The server is a child process over stdio that answers at once (tests/mcp/fast_server.py), so that the way
is measured and not the tool. "in sequence": one program that awaits call after call, against a loop that
does; "at once": sixteen calls in flight. Each is repeated in turns, engine and client, so that noise meets
both; "best" are the least disturbed rounds, which a busy machine spoils less.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from mcp import Client, StdioServerParameters

from codemode import Completed, Engine

SERVER = [str(Path(__file__).parents[1] / "tests" / "mcp" / "fast_server.py")]
CALLS = 200
AT_ONCE = 16
ROUNDS = 15
TARGETS = {"in sequence": 1.3, "16 at once": 1.15}
IN_SEQUENCE = f"for (let i = 0; i < {CALLS}; i++) await MCP.fast.add({{ a: i, b: 1 }});"
TOGETHER = f"""
for (let i = 0; i < {CALLS}; i += {AT_ONCE})
  await Promise.all(Array.from({{ length: {AT_ONCE} }}, (_, j) => MCP.fast.add({{ a: i + j, b: 1 }})));
"""


async def main() -> int:
    given = {"mcpServers": {"fast": {"command": sys.executable, "args": SERVER}}}
    parameters = StdioServerParameters(command=sys.executable, args=SERVER)
    async with (
        Engine(config={"enabled": True, "timeoutMs": 60_000}, mcp=given) as engine,
        Client(parameters) as client,
    ):

        async def bare(number: int) -> None:
            await client.call_tool("add", {"a": number, "b": 1})

        async def bare_in_sequence() -> None:
            for number in range(CALLS):
                await bare(number)

        async def bare_together() -> None:
            for start in range(0, CALLS, AT_ONCE):
                await asyncio.gather(*(bare(start + number) for number in range(AT_ONCE)))

        async def program(text: str) -> None:
            result = await engine.exec(text)
            assert isinstance(result, Completed), result

        ratios = {
            "in sequence": await compare("in sequence", bare_in_sequence, lambda: program(IN_SEQUENCE)),
            f"{AT_ONCE} at once": await compare(
                f"{AT_ONCE} at once", bare_together, lambda: program(TOGETHER)
            ),
        }
    for name, ratio in ratios.items():
        print(f"{name}: {ratio:.2f}x of the bare client (target {TARGETS[name]}x)")
    return 0 if all(ratio <= TARGETS[name] for name, ratio in ratios.items()) else 1


async def compare(
    name: str, bare: Callable[[], Awaitable[None]], ours: Callable[[], Awaitable[None]]
) -> float:
    """The medians' ratio. The first round of each is for caches and is not counted."""
    times: dict[str, list[float]] = {"client": [], "engine": []}
    for _ in range(ROUNDS + 1):
        for side, work in (("client", bare), ("engine", ours)):
            began = time.perf_counter()
            await work()
            times[side].append((time.perf_counter() - began) * 1000 / CALLS)
    medians = {side: statistics.median(found[1:]) for side, found in times.items()}
    best = {side: min(found) for side, found in times.items()}
    print(json.dumps({"bench": "mcp", "case": name, "ms per call": medians, "best": best}))
    return medians["engine"] / medians["client"]


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
