"""Every row of the error-code table, provoked through the public API: its phase, and the output before it."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from codemode import ConfigError, Engine
from codemode.contract.error_codes import ERROR_CODES, ErrorCode, Phase
from codemode.contract.results import CodeModeResult
from tests.harness.engine import Desk, engine, failure_of, texts, value_of, waiting
from tests.harness.faults import workers_of
from tests.harness.loops import until
from tests.harness.tool_search import lose_runtime

pytestmark = pytest.mark.usefixtures("leaves_nothing")
BEFORE = "text('before'); "
RANDOM_200_KB = "const held = Array.from({ length: 20000 }, () => Math.random());"


@dataclass(frozen=True, slots=True)
class Row:
    code: ErrorCode
    phase: Phase
    act: Callable[[Path], Awaitable[CodeModeResult]]
    output: tuple[str, ...] = ()


def executing(
    program: str, language: str = "javascript", **config: object
) -> Callable[[Path], Awaitable[CodeModeResult]]:
    async def act(_: Path) -> CodeModeResult:
        async with engine(config=config) as made:
            return await made.exec(program, language)

    return act


async def without_a_runtime(_: Path) -> CodeModeResult:
    with pytest.MonkeyPatch.context() as patched:
        lose_runtime(patched)
        async with engine() as made:
            return await made.exec("return 1")


async def with_a_full_queue(_: Path) -> CodeModeResult:
    desk = Desk()
    async with engine(desk.tools, settings={"maxWorkers": 1, "queueLimit": 0}) as made:
        first = asyncio.create_task(made.exec("return await tools.hold({ name: 'a' })"))
        await desk.asked("a")
        refused = await made.exec("return 1")
        desk.answer("a", 1)
        assert value_of(await first) == 1
        return refused


async def switched_off(_: Path) -> CodeModeResult:
    async with Engine(config={"timeoutMs": 100}) as made:
        return await made.exec("return 1")


async def with_no_room_for_a_run(_: Path) -> CodeModeResult:
    async with engine(settings={"maxSuspendedRuns": 1}) as made:
        waiting(await made.exec("await yield_control()"))
        return await made.exec(BEFORE + "await yield_control()")


async def expired(_: Path) -> CodeModeResult:
    desk = Desk()
    async with engine(desk.tools, {"snapshotTtlSeconds": 1}) as made:
        result = waiting(await made.exec("tools.hold({ name: 'a' }); await yield_control()"))
        await until(lambda: desk.joined == ["a"])
        return await made.wait(result.run_id)


async def under_another_key(folder: Path) -> CodeModeResult:
    async with engine(store=folder / "runs.sqlite", store_key=b"1" * 32) as made:
        result = waiting(await made.exec("await yield_control()"))
    async with engine(store=folder / "runs.sqlite", store_key=b"2" * 32) as made:
        return await made.wait(result.run_id)


async def under_a_smaller_heap(folder: Path) -> CodeModeResult:
    async with engine(store=folder / "runs.sqlite") as made:
        result = waiting(
            await made.exec("const held = 'é'.repeat(4 << 20); await yield_control(); return held.length")
        )
    async with engine(config={"memoryLimitBytes": 1 << 20}, store=folder / "runs.sqlite") as made:
        return await made.wait(result.run_id)


async def aborted(_: Path) -> CodeModeResult:
    desk = Desk()
    async with engine(desk.tools) as made:
        running = asyncio.create_task(made.exec(BEFORE + "await tools.hold({ name: 'a' })", session="s"))
        await desk.asked("a")
        assert await made.abort_session("s") == 1
        return await running


async def with_its_worker_killed(_: Path) -> CodeModeResult:
    desk = Desk()
    async with engine(desk.tools, settings={"warmWorkers": 0}) as made:  # the only worker is its own
        running = asyncio.create_task(made.exec(BEFORE + "await tools.hold({ name: 'a' }); for (;;);"))
        await desk.asked("a")
        for pid in workers_of(made):
            os.kill(pid, signal.SIGKILL)
        desk.answer("a")
        result = await running
        assert value_of(await made.exec("return 'the next one works'")) == "the next one works"
        return result


ROWS = {
    "no worker can start": Row("runtime_unavailable", "host", without_a_runtime),
    "too many wait for a worker": Row("runtime_unavailable", "host", with_a_full_queue),
    "switched off": Row("invalid_config", "input", switched_off),
    "no program": Row("invalid_input", "input", executing("  ")),
    "a syntax error": Row("invalid_input", "input", executing("let x = ;")),
    "an unknown language": Row("unsupported_language", "input", executing("return 1", "ruby")),
    "a language that is off": Row("unsupported_language", "input", executing("return 1", "typescript", languages=["javascript"])),
    "broken TypeScript": Row("typescript_transform_failed", "input", executing("const x: = 3", "typescript")),
    "an import": Row("module_access_denied", "input", executing("import x from 'y'")),
    "an endless loop": Row("timeout", "guest", executing(BEFORE + "for (;;);", timeoutMs=100), ("before",)),
    "an endless loop after a call": Row("timeout", "guest", executing(BEFORE + "await tools.echo({}); text('between'); for (;;);", timeoutMs=300), ("before", "between")),
    "an endless native loop": Row("timeout", "guest", executing(BEFORE + "Array.prototype.reverse.call({ length: 2 ** 40 })", timeoutMs=100), ("before",)),
    "a long native loop that never polls": Row("timeout", "guest", executing("const n = (1n << 1000000n) - 1n; " + BEFORE + "n.toString(7)", timeoutMs=100), ("before",)),
    "too much memory": Row("memory_limit_exceeded", "guest", executing(BEFORE + "const all = []; try { for (;;) all.push(new Array(1000).fill(all.length)) } catch { return 'caught' }", memoryLimitBytes=4 << 20), ("before",)),
    "a restored program too large": Row("memory_limit_exceeded", "guest", under_a_smaller_heap),
    "too much output": Row("output_limit_exceeded", "guest", executing(BEFORE + "for (;;) text('x'.repeat(600))", maxOutputBytes=1024), ("before", "x" * 600)),
    "too large a value": Row("output_limit_exceeded", "guest", executing(BEFORE + "return 'y'.repeat(2000)", maxOutputBytes=1024), ("before",)),
    "too large a snapshot": Row("snapshot_limit_exceeded", "host", executing(BEFORE + RANDOM_200_KB + "await yield_control(); return held", maxSnapshotBytes=1024), ("before",)),
    "no room for another run": Row("snapshot_limit_exceeded", "host", with_no_room_for_a_run, ("before",)),
    "suspended for too long": Row("snapshot_expired", "host", expired),
    "sealed under another key": Row("snapshot_restore_failed", "host", under_another_key),
    "too many calls at once": Row("too_many_pending_tool_calls", "bridge", executing(BEFORE + "await Promise.all([tools.echo({}), tools.echo({})])", maxPendingToolCalls=1), ("before",)),
    "a tool that fails": Row("nested_tool_failed", "bridge", executing(BEFORE + "await tools.fail({})"), ("before",)),
    "its session was aborted": Row("aborted", "host", aborted, ("before",)),
    "an exception": Row("guest_error", "guest", executing(BEFORE + "null.x"), ("before",)),
    "endless recursion": Row("guest_error", "guest", executing(BEFORE + "const f = () => f() + 1; f()"), ("before",)),
    "nothing can settle it": Row("guest_error", "guest", executing(BEFORE + "await new Promise(() => {})"), ("before",)),
    "its worker was killed": Row("internal_error", "host", with_its_worker_killed, ("before",)),
}  # fmt: skip


@pytest.mark.guarantee("every-error-code")
@pytest.mark.parametrize("name", ROWS)
async def test_each_way_to_fail_has_its_code_and_phase_and_keeps_the_output_before_it(
    name: str, tmp_path: Path
) -> None:
    row = ROWS[name]
    result = failure_of(await row.act(tmp_path), row.code)
    assert result.phase == row.phase
    assert tuple(texts(result)) == row.output
    keys = {"status", "error", "code", "phase", "output", "telemetry"}
    assert set(result.to_dict()) == (keys | {"notes"} if result.telemetry.calls else keys)
    assert result.error


def test_every_code_of_the_table_is_provoked_here() -> None:
    assert {row.code for row in ROWS.values()} == set(ERROR_CODES)


def test_a_configuration_that_cannot_be_used_is_refused_before_there_is_an_engine() -> None:
    with pytest.raises(ConfigError) as refused:
        Engine(config={"enabled": True, "timeOutMs": 5})
    assert refused.value.code == "invalid_config"
    assert "timeoutMs" in str(refused.value)
