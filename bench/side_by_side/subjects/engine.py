"""This project as its user calls it: Engine.exec and Engine.wait, through the confined worker process.

    python -m bench.side_by_side.subjects.engine [legs per worker process, or "session"]

A measurement starts when the pool is full, as a host with pauses between runs finds it; throughput does not
wait.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from bench.side_by_side.subjects.serve import Held, Ran, Subject, desk, now_ms, serve
from codemode import Completed, Engine, Failed, Scope, Tool, Waiting, tool
from codemode.contract.results import CodeModeResult

CONFIG = {
    "enabled": True,
    "timeoutMs": 60_000,
    "memoryLimitBytes": 256 << 20,
    "maxSnapshotBytes": 256 << 20,
    "snapshotTtlSeconds": 86_400,
}
PATIENCE_MS = 200
SETTINGS = {"maxSuspendedRuns": 1_000_000, "maxStoreBytes": 1 << 40}
WHO = Scope(agent="bench", session="bench")
CALLS = "const tool = tools.double; "
# the same await, but the program asks to be suspended while its call is in flight
SUSPENDS = "const tool = async (a) => { const call = tools.held(a); await yield_control(); return call; }; "


class Gate:
    """The call in flight of a suspended program: notes when it was begun, and settles when told."""

    def __init__(self) -> None:
        self.began_ms = 0.0
        self._calls: list[asyncio.Future[dict[str, int]]] = []

    async def enter(self) -> dict[str, int]:
        self.began_ms = now_ms()
        self._calls.append(asyncio.get_running_loop().create_future())
        return await self._calls[-1]

    async def settle(self) -> None:
        while not self._calls:  # noqa: ASYNC110 - it starts in a task of the engine's
            await asyncio.sleep(0)
        self._calls.pop().set_result({"value": 2})
        for _ in range(5):
            await asyncio.sleep(0)  # until the engine has heard of it


def offered(gate: Gate) -> list[Tool]:
    @tool
    async def double(i: int) -> dict[str, int]:
        """Twice the number."""
        return await desk.double({"i": i})

    @tool
    async def held(i: int) -> dict[str, int]:  # noqa: ARG001 - the same shape as double
        """Twice the number, later."""
        return await gate.enter()

    return [double, held]


class ThroughWorkers(Subject):
    languages = ("javascript", "typescript")

    def __init__(self, reuse: int | str, extra_tools: list[Tool] | None = None) -> None:
        self._reuse = reuse
        self._extra = extra_tools or []
        self._others: dict[str, Engine] = {}

    async def open(self) -> None:
        self.gate = Gate()
        self.engine = await self._opened(CONFIG)

    async def _opened(self, config: dict[str, Any]) -> Engine:
        settings = {**SETTINGS, "workerReuse": self._reuse}
        engine = Engine([*offered(self.gate), *self._extra], config, settings=settings)
        await engine.start()
        return engine

    async def close(self) -> None:
        await self.engine.close()

    async def _other(self, name: str, config: dict[str, Any]) -> Engine:
        """An engine beside the main one, so that its workers do not count as the main one's."""
        if name not in self._others:
            self._others[name] = await self._opened(config)
        return self._others[name]

    async def ready(self) -> None:
        for engine in (self.engine, *self._others.values()):
            await full(engine)

    async def run(self, program: str, language: str) -> Ran:
        engine = self.engine if language == "javascript" else await self._other(language, CONFIG)
        return Ran(value_of(await engine.exec(CALLS + program, language=language, scope=WHO)))

    async def hold(self, program: str) -> Held:
        run_id, suspend_ms = await self.suspend(program)
        (stored,) = await self.engine.runs()
        answer, resume_ms = await self.resume(run_id)
        return Held(answer, suspend_ms, resume_ms, stored["bytes"])

    async def suspend(self, program: str) -> tuple[str, float]:
        """The time is from the start of the call that the program waits for until exec has returned."""
        await full(self.engine)
        waiting = await self.engine.exec(SUSPENDS + program, scope=WHO)
        took = now_ms() - self.gate.began_ms
        assert isinstance(waiting, Waiting), waiting
        return waiting.run_id, took

    async def resume(self, run_id: str) -> tuple[Any, float]:
        await self.gate.settle()
        await full(self.engine)
        began = now_ms()
        result = await self.engine.wait(run_id, scope=WHO)
        took = now_ms() - began
        return value_of(result), took

    async def keep(self, program: str, count: int) -> None:
        """Suspended by a yield alone: a call in flight would keep a task of the host's alive as well."""
        yields = "const tool = async (a) => { await yield_control(); return { value: a.i * 2 }; }; "
        for _ in range(count):
            assert isinstance(await self.engine.exec(yields + program, scope=WHO), Waiting)

    async def limit(self, program: str, limit_ms: int) -> float:
        engine = await self._other("limited", {**CONFIG, "timeoutMs": limit_ms})
        await full(engine)
        began = now_ms()
        result = await engine.exec(program, scope=WHO)
        took = now_ms() - began
        assert isinstance(result, Failed), result
        assert result.code == "timeout", result
        return took


async def full(engine: Engine) -> None:
    """Until each language in use has its warm workers. Bounded: a pool that was idle for long keeps fewer."""
    give_up = now_ms() + PATIENCE_MS
    while True:
        workers = engine.stats()["workers"]
        flavours = {zygote["flavour"] for zygote in workers["zygotes"]}
        if workers["warm"] >= engine.settings.warm_workers * len(flavours):
            return
        if workers["starting"] == 0 and now_ms() > give_up:
            return
        await asyncio.sleep(0.002)


def value_of(result: CodeModeResult) -> Any:
    assert isinstance(result, Completed), result
    return result.to_dict()["value"]


if __name__ == "__main__":
    legs = sys.argv[1] if len(sys.argv) > 1 else "1"
    serve(ThroughWorkers(int(legs) if legs.isdigit() else legs))
