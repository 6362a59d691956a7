"""This project's VM alone, in the process that asks, as in-process peers are: no worker, no confinement."""

from __future__ import annotations

import json
import threading
from typing import Any

from codemode_runtime import compiled, image
from codemode_runtime.compile import prepare
from codemode_runtime.guest import Guest, GuestOutcome
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wire import Done, Idle, Interrupted

from bench.side_by_side.subjects.serve import Held, Ran, Subject, desk, now_ms, serve

LIMITS = Limits(memory_bytes=256 << 20, output_bytes=1 << 20, pending_calls=128)
TOOL = "const tool = (a) => tools.call('double', a); "


class InProcessGuest(Subject):
    languages = ("javascript", "typescript")

    async def open(self) -> None:
        self._image = image.load()
        self._machine = compiled.load_machine(self._image)
        self._kept: list[bytes] = []

    def _fresh(self) -> Guest:
        return Guest(self._machine, self._image, LIMITS)

    async def run(self, program: str, language: str) -> Ran:
        guest = self._fresh()
        began = now_ms()
        source = prepare(TOOL + program, "typescript" if language == "typescript" else "javascript")
        outcome = guest.start(source.code)
        while isinstance(outcome, Idle):
            calls: list[dict[str, Any]] = json.loads(outcome.messages)
            values = [await desk.double(call["args"][0]) for call in calls]
            outcome = guest.deliver(
                [
                    Settlement(call["id"], json.dumps(value).encode())
                    for call, value in zip(calls, values, strict=True)
                ]
            )
        inner = now_ms() - began
        answer = value_of(outcome)
        guest.close()
        return Ran(answer, inner)

    async def hold(self, program: str) -> Held:
        guest = self._fresh()
        outcome = guest.start(TOOL + program)
        began = now_ms()
        delta = guest.capture()
        guest.close()
        suspended = now_ms()
        assert isinstance(outcome, Idle), outcome
        resuming = now_ms()
        guest = self._fresh()
        guest.restore(delta, LIMITS)
        answer = value_of(guest.deliver([Settlement(1, b'{"value":2}')]))
        guest.close()
        return Held(answer, suspended - began, now_ms() - resuming, delta)

    async def keep(self, program: str, count: int) -> None:
        for _ in range(count):
            guest = self._fresh()
            assert isinstance(guest.start(TOOL + program), Idle)
            self._kept.append(guest.capture())
            guest.close()

    async def limit(self, program: str, limit_ms: int) -> float:
        guest = self._fresh()
        timer = threading.Timer(limit_ms / 1000, guest.interrupt)
        began = now_ms()
        timer.start()
        outcome = guest.start(program)
        took = now_ms() - began
        timer.join()
        assert isinstance(outcome, Interrupted), outcome
        guest.close()
        return took


def value_of(outcome: GuestOutcome) -> Any:
    assert isinstance(outcome, Done), outcome
    return json.loads(outcome.result)["value"]


if __name__ == "__main__":
    serve(InProcessGuest())
