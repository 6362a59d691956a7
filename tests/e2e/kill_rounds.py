"""Kills a busy engine with SIGKILL at random moments, again and again, and looks at what is left.

    python tests/e2e/kill_rounds.py --rounds 200

After each kill another engine opens the same file. Every run whose id its caller got must then be resumable
to its end, or cleanly absent; no call that is not idempotent may have run twice; no process may be left.
Prints one line per round and a summary; the first thing that is not so ends it with exit code 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import tempfile
import time
from collections import Counter
from pathlib import Path

from codemode import Completed, Engine, Failed, Waiting
from tests.e2e.durable_host import Witness
from tests.e2e.hosts import Host
from tests.e2e.kill_subject import CONFIG, STEPS, make_tools
from tests.harness.leftovers import descendants, ends

MAX_SECONDS = 0.25  # from ready to kill


class Violation(AssertionError):
    """What must never be so."""


async def check(store: Path, witness: Witness, known: set[str]) -> Counter[str]:
    """Resumes everything that is there; how each known run ended."""
    found: Counter[str] = Counter()
    async with Engine(make_tools(witness), CONFIG, settings={"warmWorkers": 1}, store=store) as engine:
        listed = {run["runId"] for run in await engine.runs()}
        for run_id in sorted(known | listed):
            result = await engine.wait(run_id, session="s")
            while isinstance(result, Waiting):
                result = await engine.wait(run_id, session="s")
            match result:
                case Completed() if run_id in listed:
                    require_plausible(run_id, result, witness)
                    found["resumed"] += 1
                case Completed():
                    require_plausible(run_id, result, witness)  # its result is kept, and told again
                    found["ended before"] += 1
                case Failed(code="aborted" | "invalid_input" as code) if run_id not in listed:
                    found["gone" if code == "aborted" else "ended before"] += 1
                case _:
                    raise Violation(f"run {run_id} is neither resumable nor absent: {result}")
        if left := await engine.runs():
            raise Violation(f"runs are left in the store: {left}")
    return found


def require_plausible(run_id: str, result: Completed, witness: Witness) -> None:
    """What a program saw as done was done; an idempotent call is never interrupted."""
    done = {line["key"] for line in witness.lines()}
    steps = result.value
    if len(steps) != STEPS:
        raise Violation(f"run {run_id} took {len(steps)} steps")
    statuses = {call.id: call.status for call in result.telemetry.calls}
    for (once, again), number in zip(steps, range(STEPS), strict=True):
        first, second = 3 * number + 1, 3 * number + 2  # each step makes two calls and a yield
        if once not in ("done", "interrupted") or again != "done":
            raise Violation(f"run {run_id} saw {once}, {again}")
        if statuses[str(first)] != ("ok" if once == "done" else "error"):
            raise Violation(f"run {run_id} has another ledger than it saw")
        claimed = {f"{run_id}:{first}", f"{run_id}:{second}"} if once == "done" else {f"{run_id}:{second}"}
        if claimed - done:
            raise Violation(f"run {run_id} saw a call as done that never ran")


def require_once(witness: Witness) -> int:
    keys = Counter(line["key"] for line in witness.lines() if line["what"] == "once")
    twice = [key for key, count in keys.items() if count > 1]
    if twice:
        raise Violation(f"these ran twice: {twice}")
    return len(keys)


def kill_after(host: Host, seconds: float) -> set[str]:
    """The ids that callers got before the engine died."""
    assert host.process.stdout is not None
    descriptor = host.process.stdout.fileno()
    until, data = time.monotonic() + seconds, b""
    while (left := until - time.monotonic()) > 0:
        if select.select([descriptor], [], [], left)[0]:
            data += os.read(descriptor, 1 << 16)
    host.process.kill()
    while chunk := os.read(descriptor, 1 << 16):
        data += chunk
    host.kill()
    return {json.loads(line)["answer"] for line in data.split(b"\n")[:-1]}


def run_round(folder: Path, seconds: float) -> Counter[str]:
    """One engine killed after this time, and what is left of it. Raises Violation."""
    witness = Witness(folder / "witness")
    before = descendants(os.getpid())
    host = Host(folder / "runs.sqlite", folder / "witness", module="tests.e2e.kill_subject")
    family = descendants(os.getpid()) - before
    known = kill_after(host, seconds)
    if left := [pid for pid in family | (descendants(os.getpid()) - before) if not ends(pid)]:
        raise Violation(f"processes are left: {left}")
    found = asyncio.run(check(folder / "runs.sqlite", witness, known))
    found["calls"] = require_once(witness)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=200)
    options.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    given = options.parse_args()
    dice = random.Random(given.seed)
    print(f"seed {given.seed}", flush=True)
    totals: Counter[str] = Counter()
    calls = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(given.rounds):
            seconds = dice.random() * MAX_SECONDS
            found = run_round(Path(folder), seconds)
            calls = found.pop("calls")
            totals += found
            print(f"round {number + 1}: killed after {seconds * 1000:.0f} ms, {dict(found)}", flush=True)
    print(f"{given.rounds} rounds: {dict(totals)}, {calls} calls and none of them twice", flush=True)


if __name__ == "__main__":
    main()
