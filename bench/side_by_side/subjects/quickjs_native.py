"""PyPI quickjs-ng: the same engine as native code, in the process. No sandbox: the reference for CPU."""

from __future__ import annotations

import importlib
import json
from typing import Any

from bench.side_by_side.subjects.serve import Ran, Subject, desk, now_ms, serve

# The host functions of this binding are synchronous: the promise is settled from outside, through __settle.
PRELUDE = """const waiting = []; globalThis.tool = (a) => new Promise((resolve) => {
  waiting.push(resolve); __call(waiting.length - 1, JSON.stringify(a)); });
globalThis.__settle = (at, text) => { waiting[at](JSON.parse(text)); }; 0"""
START = """var __answer; (async () => { "use strict"; PROGRAM
})().then((value) => { __answer = JSON.stringify(value); }); 0"""


class NativeQuickJs(Subject):
    async def open(self) -> None:
        self._module: Any = importlib.import_module("quickjs")  # by name: it ships no types

    async def run(self, program: str, language: str) -> Ran:  # noqa: ARG002
        context = self._module.Context()
        context.set_memory_limit(256 << 20)
        calls: list[tuple[int, str]] = []

        def call(at: float, text: str) -> None:
            calls.append((int(at), text))

        context.add_callable("__call", call)
        context.eval(PRELUDE)
        began = now_ms()
        context.eval(START.replace("PROGRAM", program))
        pump(context)
        while calls:
            batch = calls.copy()
            calls.clear()
            for at, text in batch:
                context.get("__settle")(at, json.dumps(await desk.double(json.loads(text))))
            pump(context)
        answer = json.loads(context.get("__answer"))
        return Ran(answer, now_ms() - began)

    async def limit(self, program: str, limit_ms: int) -> float:
        """Its limit counts processor time, and works only in a context without host functions."""
        context = self._module.Context()
        context.set_time_limit(limit_ms / 1000)
        began = now_ms()
        try:
            context.eval(program)
        except self._module.JSException:
            return now_ms() - began
        raise AssertionError("the program was not stopped")


def pump(context: Any) -> None:
    while context.execute_pending_job():
        pass


if __name__ == "__main__":
    serve(NativeQuickJs())
