"""PyPI quickjs-rs: QuickJS in wasmtime in the process, an instance per context.

It refuses a snapshot while a host call is in flight, so for `hold` the promise is one of the guest's own and
is settled by evaluating one more line.
"""

from __future__ import annotations

import asyncio
import importlib
from typing import Any

from bench.side_by_side.subjects.serve import Held, Ran, Subject, desk, now_ms, serve

WAITS = "globalThis.__waiting = []; globalThis.tool = (a) => new Promise((r) => { __waiting.push(r); }); 0"
GO_ON = "__waiting[0]({ value: 2 }); await __run"


class QuickJsRs(Subject):
    async def open(self) -> None:
        self._module: Any = importlib.import_module("quickjs_rs")
        self._kept: list[bytes] = []
        close(*self._fresh())  # compiles its module, once per process

    def _fresh(self, timeout: float = 60.0) -> tuple[Any, Any]:
        runtime = self._module.Runtime(memory_limit=256 << 20)
        return runtime, runtime.new_context(timeout=timeout)

    async def run(self, program: str, language: str) -> Ran:  # noqa: ARG002
        runtime, context = self._fresh()
        context.register("tool", desk.double)
        began = now_ms()
        answer = await context.eval_async(f"await (async () => {{ {program}\n}})()")
        inner = now_ms() - began
        close(runtime, context)
        return Ran(answer, inner)

    def _waiting(self, program: str) -> tuple[Any, Any]:
        runtime, context = self._fresh()
        context.eval(WAITS)
        context.eval(f"globalThis.__run = (async () => {{ {program}\n}})(); 0")
        return runtime, context

    async def hold(self, program: str) -> Held:
        runtime, context = self._waiting(program)
        began = now_ms()
        snapshot: bytes = context.create_snapshot().to_bytes()
        close(runtime, context)
        suspended = now_ms()
        await asyncio.sleep(0)
        resuming = now_ms()
        runtime, context = self._fresh()
        runtime.restore_snapshot(self._module.Snapshot.from_bytes(snapshot), context)
        answer = await context.eval_async(GO_ON)
        close(runtime, context)
        return Held(answer, suspended - began, now_ms() - resuming, snapshot)

    async def keep(self, program: str, count: int) -> None:
        for _ in range(count):
            runtime, context = self._waiting(program)
            self._kept.append(context.create_snapshot().to_bytes())
            close(runtime, context)

    async def limit(self, program: str, limit_ms: int) -> float:
        runtime, context = self._fresh(limit_ms / 1000)
        began = now_ms()
        try:
            context.eval(program)
        except self._module.QuickJSError:
            took = now_ms() - began
            close(runtime, context)
            return took
        raise AssertionError("the program was not stopped")


def close(runtime: Any, context: Any) -> None:
    context.close()
    runtime.close()


if __name__ == "__main__":
    serve(QuickJsRs())
