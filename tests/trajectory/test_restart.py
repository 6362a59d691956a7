"""What happened before an engine died is in its runs' snapshots: another process sees it, and goes on.

Run as a program this is the engine that dies: python -m tests.trajectory.test_restart FILE
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine
from codemode.trajectory import Trajectory, load_trajectory
from tests.harness.engine import Desk, engine, value_of, waiting
from tests.harness.processes import python
from tests.harness.trajectory import seen

pytestmark = pytest.mark.usefixtures("leaves_nothing")
SCOPE: dict[str, Any] = {"session": "s1", "agent": "a1"}
PROGRAM = """
text("before"); await tools.echo({ value: "early" });
const held = tools.hold({ name: "a" }).catch((e) => e.code);
await yield_control(); await tools.echo({ value: "late" });
return await held
"""


async def die_suspended(store: str) -> None:
    """Suspends a run, prints its id, and is gone without closing anything."""
    desk = Desk()
    made = Engine(desk.tools, {"enabled": True}, settings={"warmWorkers": 1}, store=store)
    await made.start()
    result = waiting(await made.exec(PROGRAM, tool_call="call-1", **SCOPE))
    await desk.asked("a")
    print(json.dumps(result.run_id), flush=True)
    os._exit(0)


def left_behind(store: Path) -> str:
    done = python("-m", "tests.trajectory.test_restart", store)
    assert done.stderr == ""
    return json.loads(done.stdout)


def outline(found: Trajectory) -> list[Any]:
    return [(c.name, c.status, c.reason, [(n.name, n.status, n.error) for n in c.calls]) for c in found.calls]


BEFORE = ("exec", "waiting", "yield", [("echo", "ok", ""), ("hold", "pending", "")])


@pytest.mark.guarantee("transcript-keeps-calls")
async def test_a_restarted_engine_shows_what_happened_before_and_goes_on_with_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id = left_behind(store)
    desk = Desk()
    async with engine(desk.tools, store=store) as made:
        assert await made.trajectory(run_id, session="s2", agent="a1") is None
        before = await seen(made, run_id, **SCOPE)
        assert outline(before) == [BEFORE]
        assert before.calls[0].tool_call_id == "call-1"
        assert before.calls[0].suspended is not None
        assert before == await seen(made, run_id, **SCOPE)
        assert desk.started == []
        session = await made.session_trajectory("s1", agent="a1")
        assert session is not None
        assert session.runs == (before,)

        assert value_of(await made.wait(run_id, **SCOPE)) == "interrupted"
        after = await seen(made, run_id, **SCOPE)
        assert outline(after) == [
            ("exec", "waiting", "yield", [("echo", "ok", ""), ("hold", "error", "interrupted")]),
            ("wait", "completed", "", [("echo", "ok", "")]),
        ]
        assert after.started_at_ms == before.started_at_ms
        assert after.calls[0].started_at_ms == before.calls[0].started_at_ms
        after.save(tmp_path / "run.json")
        assert load_trajectory(tmp_path / "run.json") == after


async def test_looking_at_a_run_does_not_stand_in_the_way_of_its_wait(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id = left_behind(store)
    async with engine(Desk().tools, store=store) as made:
        looking = [asyncio.create_task(made.trajectory(run_id, **SCOPE)) for _ in range(3)]
        waits = asyncio.create_task(made.wait(run_id, **SCOPE))
        looking += [asyncio.create_task(made.trajectory(run_id, **SCOPE)) for _ in range(3)]
        assert value_of(await waits) == "interrupted"
        assert None not in await asyncio.gather(*looking)
        assert len((await seen(made, run_id, **SCOPE)).calls) == 2


async def test_a_run_of_another_living_engine_is_seen_as_it_was_last_suspended_and_goes_on_there(
    tmp_path: Path,
) -> None:
    store = tmp_path / "runs.sqlite"
    async with engine(store=store) as owner, engine(store=store) as onlooker:
        program = "text('one'); await yield_control(); text('two'); return 'done'"
        result = waiting(await owner.exec(program, **SCOPE))
        found = await seen(onlooker, result.run_id, **SCOPE)
        assert (found.status, [call.name for call in found.calls]) == ("waiting", ["exec"])
        assert await onlooker.trajectory(result.run_id, session="s2", agent="a1") is None
        assert value_of(await owner.wait(result.run_id, **SCOPE)) == "done"


async def test_whoever_looks_and_gives_up_leaves_the_run_as_it_was(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id = left_behind(store)
    for turns in range(6):
        async with engine(Desk().tools, store=store) as made:
            looking = asyncio.create_task(made.trajectory(run_id, **SCOPE))
            for _ in range(turns):
                await asyncio.sleep(0)
            looking.cancel()
    async with engine(Desk().tools, store=store) as made:
        assert outline(await seen(made, run_id, **SCOPE)) == [BEFORE]
        assert value_of(await made.wait(run_id, **SCOPE)) == "interrupted"


async def test_a_run_that_ended_in_the_store_after_it_was_looked_at_is_seen_as_ended(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    run_id = left_behind(store)
    async with engine(Desk().tools, store=store) as made:
        assert (await seen(made, run_id, **SCOPE)).status == "waiting"
        assert await made.abort(run_id, **SCOPE)
        found = await seen(made, run_id, **SCOPE)
        assert (found.status, found.code) == ("aborted", "aborted")
        assert [nested.status for nested in found.calls[0].calls] == ["ok", "aborted"]


if __name__ == "__main__":
    asyncio.run(die_suspended(sys.argv[1]))
