"""How many steps of its store each thing costs an engine, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import RunStore
from codemode_snapshots.sqlite import SqliteStore

from tests.harness.engine import Desk, engine, until, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
STEPS = [name for name, step in vars(RunStore).items() if callable(step) and not name.startswith("_")]


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    taken: list[str] = []

    def counted(name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*given: Any, **named: Any) -> Any:
            taken.append(name)
            return step(*given, **named)

        return take

    for name in STEPS:
        monkeypatch.setattr(SqliteStore, name, counted(name, getattr(SqliteStore, name)))
    return taken


async def test_each_thing_costs_an_engine_the_steps_that_it_has_to(steps: list[str], tmp_path: Path) -> None:
    desk = Desk()
    async with engine(desk.tools, store=tmp_path / "runs.sqlite") as made:
        steps.clear()

        def since() -> list[str]:
            found = steps.copy()
            steps.clear()
            return found

        assert value_of(await made.exec("return 1")) == 1
        assert since() == []
        held = waiting(
            await made.exec("const a = tools.hold({ name: 'a' }); await yield_control(); return await a")
        )
        assert since() == ["save"]
        desk.answer("a", 7)
        await until(lambda: bool(steps))
        assert since() == ["settle"]
        assert value_of(await made.wait(held.run_id)) == 7
        assert since() == ["claim", "save", "finish"]  # the save of its past
        asked = waiting(await made.exec("return await tools.pay({ amount: 5 })"), "approval")
        assert since() == ["save"]
        (call,) = asked.pending_tool_calls
        assert call.approval is not None
        assert await made.approve(asked.run_id, call.approval.id)
        assert since()[:1] == ["decide"]
        await made.wait(asked.run_id)
        since()
        left = waiting(await made.exec("await yield_control(); return await tools.echo({ value: 1 })"))
        assert since() == ["save"]
        assert value_of(await made.wait(left.run_id)) == 1
        assert since() == ["claim", "save", "touch", "finish"]
        gone = waiting(await made.exec("await yield_control()"))
        since()
        assert await made.abort(gone.run_id)
        assert since() == ["finish"]
