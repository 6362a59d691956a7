"""`codemode serve --http` under load: event streams and concurrent execs. python bench/bench_http.py

A real server on loopback with 200 clients of its event stream and 500 callers that run programs one after the
other, each with one tool call, for a minute. Reported: how many execs, their p50 and p99, how many were
refused or failed, how late events were, whether a stream starved, and the server's memory at the start, at
its highest, and after the load. `--quick` is a tenth of it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

_TOOLS = """
import asyncio
from codemode import tool

@tool
async def look(key: str) -> dict:
    "Looks something up."
    await asyncio.sleep(0.005)
    return {"key": key, "value": 42}
"""
_PROGRAM = "const found = await tools.look({ key: 'a' }); text(found.value); return found.value + 1"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--streams", type=int, default=200)
    parser.add_argument("--callers", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    if given.quick:
        given.streams, given.callers, given.seconds = 20, 50, 6.0
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder, "tools.py")
        tools.write_text(_TOOLS)  # noqa: ASYNC240 - before anything is measured
        print(json.dumps({"bench": "http"} | await measure(given, tools)))


async def measure(given: argparse.Namespace, tools: Path) -> dict[str, Any]:
    process, url = await started(tools)
    try:
        rss = [memory_mib(process.pid)]
        latencies: list[float] = []
        outcomes: Counter[str] = Counter()
        seen = [0] * given.streams
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
        async with httpx2.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
            streams = [asyncio.create_task(listen(client, seen, number)) for number in range(given.streams)]
            ends = time.perf_counter() + given.seconds
            callers = [
                asyncio.create_task(call(client, f"s{number % 50}", ends, latencies, outcomes))
                for number in range(given.callers)
            ]
            watching = asyncio.create_task(watch(process.pid, rss))
            await asyncio.gather(*callers)
            await asyncio.sleep(1)
            watching.cancel()
            rss.append(memory_mib(process.pid))
            for stream in streams:
                stream.cancel()
            await asyncio.gather(*streams, watching, return_exceptions=True)
        latencies.sort()
        return {
            "streams": given.streams,
            "callers": given.callers,
            "seconds": given.seconds,
            "execs": len(latencies),
            "per_second": round(len(latencies) / given.seconds, 1),
            "outcomes": dict(outcomes),
            "p50_ms": round(statistics.median(latencies) * 1000, 1),
            "p99_ms": round(latencies[int(len(latencies) * 0.99)] * 1000, 1),
            "worst_ms": round(latencies[-1] * 1000, 1),
            "events_of_a_stream": {"least": min(seen), "most": max(seen)},
            "server_mib": {"start": rss[0], "highest": max(rss), "after": rss[-1]},
        }
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


async def started(tools: Path) -> tuple[asyncio.subprocess.Process, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "codemode", "serve", "--http", "127.0.0.1:0", "--no-tokens"),
        *("--tools", str(tools), "--max-connections", "2000", "--head-seconds", "60"),
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stderr is not None
    line = (await process.stderr.readline()).decode()
    return process, "http://" + line.partition("API at http://")[2].partition("/")[0]


async def call(
    client: httpx2.AsyncClient, session: str, ends: float, latencies: list[float], outcomes: Counter[str]
) -> None:
    body = {"code": _PROGRAM, "session": session}
    while time.perf_counter() < ends:
        began = time.perf_counter()
        try:
            answer = await client.post("/v1/exec", json=body)
        except httpx2.TransportError:
            outcomes["reset"] += 1
            continue
        latencies.append(time.perf_counter() - began)
        known = answer.json() if answer.status_code == 200 else {"status": str(answer.status_code)}
        outcomes[known.get("code") or known["status"]] += 1


async def listen(client: httpx2.AsyncClient, seen: list[int], number: int) -> None:
    async with client.stream("GET", "/v1/events?types=finished") as response:
        async for line in response.aiter_lines():
            seen[number] += line.startswith("event: finished")


async def watch(pid: int, rss: list[float]) -> None:
    while True:
        await asyncio.sleep(0.5)
        rss.append(memory_mib(pid))


def memory_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


if __name__ == "__main__":
    asyncio.run(main())
