"""PyPI pydantic-monty: an interpreter of a subset of Python in pooled worker processes. Programs are Python.

A fresh VM is a session checked out of the pool: new interpreter state in a process that served others before.
"""

from __future__ import annotations

import importlib
from typing import Any

from bench.side_by_side.subjects.serve import Held, Ran, Subject, desk, now_ms, serve


class MontyPool(Subject):
    async def open(self) -> None:
        self._module: Any = importlib.import_module("pydantic_monty")
        self._pool = await self._module.AsyncMonty(max_processes=64).__aenter__()
        self._kept: list[bytes] = []

    async def run(self, program: str, language: str) -> Ran:  # noqa: ARG002
        async with self._pool.checkout() as session:
            began = now_ms()
            answer = await session.feed_run(program, external_lookup={"tool": desk.double})
            inner = now_ms() - began
        return Ran(answer, inner)

    async def hold(self, program: str) -> Held:
        async with self._pool.checkout() as session:
            paused = await session.feed_start(program)
            began = now_ms()
            snapshot: bytes = paused.dump()
        suspended = now_ms()
        resuming = now_ms()
        async with self._pool.checkout() as session:
            paused = await session.load_snapshot(snapshot)
            done = await paused.resume({"return_value": {"value": 2}})
            answer = done.output
        return Held(answer, suspended - began, now_ms() - resuming, snapshot)

    async def keep(self, program: str, count: int) -> None:
        for _ in range(count):
            async with self._pool.checkout() as session:
                paused = await session.feed_start(program)
                self._kept.append(paused.dump())

    async def limit(self, program: str, limit_ms: int) -> float:
        async with self._pool.checkout(limits={"max_feed_duration_secs": limit_ms / 1000}) as session:
            began = now_ms()
            try:
                await session.feed_run(program)
            except self._module.MontyError:
                return now_ms() - began
        raise AssertionError("the program was not stopped")


if __name__ == "__main__":
    serve(MontyPool())
