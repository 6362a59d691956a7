"""Any program, in a real engine: a valid result object in time, no crashed worker, and the next run works.

What a program may end with is the hostile corpus's concern; here it is that it ends at all, by the contract.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator
from contextlib import contextmanager
from random import Random
from typing import Any

from codemode import Completed, Engine, Failed, Waiting, tool
from codemode.contract.error_codes import ERRORS
from codemode.contract.results import CodeModeResult, decode_result
from tests.fuzz.programs import make_program
from tests.fuzz.runner import Subject
from tests.harness.engine import echo, fail
from tests.harness.leftovers import descendants
from tests.harness.loops import other_tasks
from tests.harness.patience import PATIENCE_SECONDS
from tests.hostile.arena import nasty

CONFIG: dict[str, Any] = {
    "enabled": True,
    "timeoutMs": 400,
    "memoryLimitBytes": 16 << 20,
    "maxOutputBytes": 16 << 10,
    "maxPendingToolCalls": 16,
}
_MAX_LEGS = 4  # then it is aborted
_MAX_PROCESSES = 12  # zygotes of each language, what is warm and what is being replaced
# A leg's budget, and what a busy machine may take to notice its end.
# What a program must never be able to provoke.
_OURS = (
    "internal_error",
    "runtime_unavailable",
    "invalid_config",
    "snapshot_restore_failed",
    "snapshot_expired",
)


@tool
async def slow(ms: int = 0) -> int:
    """Takes its time."""
    await asyncio.sleep(min(max(ms, 0), 50) / 1000)
    return ms


@tool
async def never() -> None:
    """Has no answer."""
    await asyncio.get_running_loop().create_future()


class Programs:
    """An input is the language, a line break, and the program."""

    def __init__(self, loop: asyncio.Runner, engine: Engine) -> None:
        self._loop = loop
        self._engine = engine
        # of other engines in this process, beside the few that this one has at its start
        self._others = len(descendants(os.getpid()))

    def make(self, dice: Random) -> bytes:
        language, program = make_program(dice)
        return f"{language}\n{program}".encode(errors="replace")

    def check(self, data: bytes) -> None:
        language, _, program = data.decode().partition("\n")
        self._loop.run(self._check(language, program))

    async def _check(self, language: str, program: str) -> None:
        result = await self._bounded(self._engine.exec(program, language=language, session="s"))
        check_result(result)
        for _ in range(_MAX_LEGS):
            if not isinstance(result, Waiting):
                break
            result = await self._bounded(self._engine.wait(result.run_id, session="s"))
            check_result(result)
        if isinstance(result, Waiting):
            assert await self._bounded(self._engine.abort(result.run_id, session="s"))
        await self._check_engine(isinstance(result, Completed))

    async def _check_engine(self, is_well: bool) -> None:
        if not is_well:
            after = await self._bounded(self._engine.exec("return (await tools.echo({ value: 40 })) + 2"))
            assert isinstance(after, Completed), after
            assert after.value == 42
        stats = self._engine.stats()
        assert stats["workers"]["crashed"] == 0, stats["workers"]
        assert stats["runs"] == {}, stats["runs"]
        assert len(descendants(os.getpid())) <= self._others + _MAX_PROCESSES
        assert (tasks := other_tasks()) == [], tasks

    async def _bounded(self, work: Any) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await work


def check_result(result: CodeModeResult) -> None:
    """It is what the contract says a result is, and nobody's fault but the program's."""
    check_shape(result)
    match result:
        case Failed():
            assert result.code not in _OURS, result
        case Waiting():
            assert result.pending_tool_calls, result
        case Completed():
            pass
    room = CONFIG["maxOutputBytes"]
    told = sum(len(item.text.encode()) for item in result.output if item.type == "text")
    told += sum(len(item.raw_value) for item in result.output if item.type == "json")
    assert told <= room, f"{told} bytes of output where {room} are allowed"


def check_shape(result: CodeModeResult) -> None:
    """Whatever a worker did, a host can read, store and send it."""
    assert decode_result(result.to_json()).to_dict() == result.to_dict()
    if isinstance(result, Failed):
        assert result.phase == ERRORS[result.code].phase
        assert result.error.strip()
    if not isinstance(result, Waiting):
        assert "pending" not in {call.status for call in result.telemetry.calls}, result


@contextmanager
def programs() -> Generator[Subject]:
    with asyncio.Runner() as loop:
        engine = Engine([echo, fail, nasty, slow, never], CONFIG, settings={"warmWorkers": 2})
        loop.run(engine.start())
        try:
            yield Programs(loop, engine)
        finally:
            loop.run(engine.close())
