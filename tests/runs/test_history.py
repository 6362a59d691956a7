"""The past of a run: which moments are kept, and that a fork goes on from one of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import Completed, Engine, ForkError, Waiting
from codemode.runs.history import MAX_CHECKPOINTS
from tests.harness.engine import Desk

STEPS = """
const log = [];
for (const name of ["a", "b", "c"]) {
  const call = tools.hold({ name });
  await yield_control();
  log.push(await call);
}
return log;
"""


async def led(engine: Engine, desk: Desk, session: str = "s") -> tuple[str, Any]:
    """The three calls are answered with 1, 2, 3."""
    result = await engine.exec(STEPS, session=session)
    assert isinstance(result, Waiting)
    run_id = result.run_id
    for at, name in enumerate("abc", 1):
        await desk.asked(name)
        desk.answer(name, at)
        await told(engine, run_id, session)
        result = await engine.wait(run_id, session=session)
    assert isinstance(result, Completed), result
    return run_id, result.value


async def told(engine: Engine, run_id: str, session: str) -> None:
    """Returns when the answer has reached the suspended run."""
    for _ in range(10_000):
        info = await engine.run_info(run_id, session=session)
        assert info is not None
        if info.settled:
            return
        await asyncio.sleep(0)
    raise AssertionError("the answer did not come")


async def finished(engine: Engine, run_id: str) -> Any:
    result = await engine.wait(run_id, session="s")
    while isinstance(result, Waiting):
        result = await engine.wait(run_id, session="s")
    return result


async def test_a_run_keeps_the_moments_at_which_it_went_on() -> None:
    desk = Desk()
    async with Engine(desk.tools) as engine:
        run_id, value = await led(engine, desk)
        assert value == [1, 2, 3]
        found = await engine.history(run_id, session="s")
        assert [(one.at, one.answered, one.pending, one.calls) for one in found] == [
            (1, {"1": "hold"}, {}, 1), (2, {"3": "hold"}, {}, 2), (3, {"5": "hold"}, {}, 3),
        ]  # fmt: skip
        assert sorted(found[0].to_dict()) == ["answered", "at", "bytes", "calls", "keptAtMs", "pending"]
        assert await engine.history(run_id, session="other") == []
        assert await engine.history("run_nope", session="s") == []
        assert await engine.runs() == []


@pytest.mark.guarantee("forks-leave-the-original")
async def test_a_fork_goes_on_from_an_earlier_moment_with_the_same_or_other_answers() -> None:
    desk = Desk()
    async with Engine(desk.tools) as engine:
        run_id, _ = await led(engine, desk)
        desk.started.clear()
        other = await engine.fork(run_id, at=3, settle={"5": "other"}, session="s")
        assert (await finished(engine, other)).value == [1, 2, "other"]
        assert (await finished(engine, await engine.fork(run_id, at=3, session="s"))).value == [1, 2, 3]
        earlier = await engine.fork(run_id, at=2, settle={"3": 20}, session="s")
        assert (await engine.wait(earlier, session="s")).status == "waiting"
        await desk.asked("c")
        desk.answer("c", 30)
        assert (await finished(engine, earlier)).value == [1, 20, 30]
        assert desk.started == ["c"]
        with pytest.raises(ForkError, match="There is no moment 9 of this run"):
            await engine.fork(run_id, at=9, session="s")
        with pytest.raises(ForkError):
            await engine.fork(run_id, at=1, session="other")


async def test_with_awaits_every_answer_is_a_moment_and_the_last_ones_are_kept() -> None:
    desk = Desk()
    async with Engine(desk.tools, {"enabled": True, "checkpoints": "awaits"}) as engine:
        result = await engine.exec(
            "let sum = 0; for (let i = 1; i <= 30; i++) sum += await tools.echo({ value: i });"
            " await yield_control(); return sum",
            session="s",
        )
        assert isinstance(result, Waiting)
        found = await engine.history(result.run_id, session="s")
        assert [one.at for one in found] == list(range(31 - MAX_CHECKPOINTS, 31))
        fork = await engine.fork(result.run_id, at=30, settle={"30": 1000}, session="s")
        first = await engine.wait(fork, session="s")
        assert isinstance(first, Waiting)
        assert (await finished(engine, fork)).value == 29 * 30 // 2 + 1000
        assert (await finished(engine, result.run_id)).value == 465


async def test_with_none_nothing_is_kept() -> None:
    desk = Desk()
    async with Engine(desk.tools, {"enabled": True, "checkpoints": "none"}) as engine:
        run_id, _ = await led(engine, desk)
        assert await engine.history(run_id, session="s") == []
