"""What test_ray.py runs in a process of its own: a real Ray with two engines, and one of them is killed.

python -m tests.cluster.ray_host STORE FOLDER
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

from codemode import Engine, Waiting, tool
from codemode.cluster.ray import ActorGone, RayEngines, ray
from tests.harness.postgres import run_sql


@tool(idempotent=True)
def where() -> int:
    """The process that makes the call."""
    return os.getpid()


def make_engine(store: str) -> Engine:
    return Engine([where], {"enabled": True}, store=store, settings={"warmWorkers": 1})


async def once_restarted(engines: RayEngines) -> object:
    """The value of a program at the next actor, which may still be on its way back."""
    while True:
        try:
            return (await engines.exec("return 1", session="s")).unwrap()
        except ActorGone:
            await asyncio.sleep(0.05)  # Ray tells nobody when an actor is back


async def main(store: str) -> dict[str, object]:
    engines = RayEngines(partial(make_engine, store), nodes=2, num_cpus=0)
    first = await engines.exec(
        "const at = await tools.where({}); await yield_control(); return at", session="s"
    )
    assert isinstance(first, Waiting), first
    on_other = (await engines.wait(first.run_id, session="s")).unwrap()
    left = await engines.exec(
        "const at = await tools.where({}); text(at); await yield_control();"
        " return [at, await tools.where({})]",
        session="s",
    )
    assert isinstance(left, Waiting), left
    victim = int(left.to_dict()["output"][0]["text"])
    os.kill(victim, signal.SIGKILL)
    run_sql(store, f"UPDATE codemode.nodes SET lease_until = now() WHERE process LIKE '% {victim} %'")
    before, after = (await engines.wait(left.run_id, session="s")).unwrap()
    begun_anew = [await once_restarted(engines) for _ in range(2)]
    await engines.close()
    return {
        "went on": on_other is not None,
        "killed": before == victim,
        "elsewhere": before != after,
        "restarted": begun_anew,
    }


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=str(folder))
    try:
        print(json.dumps(asyncio.run(main(sys.argv[1]))))
    finally:
        ray.shutdown()
