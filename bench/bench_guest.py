"""Cost of one guest in one process: python bench/bench_guest.py [--quick].

Prints JSON lines, then the same as a table. Times are in milliseconds per operation (min, p50, p99); `ratio` of a
kernel is its time in the guest over the time in native QuickJS-NG, results checked equal. bench/README.md says
what each line means and how to compare two runs.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

from codemode_runtime import compiled, image
from codemode_runtime.guest import Guest, GuestOutcome
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wire import Done, Idle

QUICK = "--quick" in sys.argv
LIMITS = Limits(memory_bytes=256 << 20, output_bytes=1 << 20, pending_calls=128)
IMAGE = image.load()
MACHINE = compiled.load_machine(IMAGE)

# What a paused program holds when its delta is taken.
HELD = {
    "tiny": "const held = 1;",
    "1 MB string": "const held = 'abcdefgh'.repeat(1 << 17);",
    "8 MB of strings": "const held = []; for (let i = 0; i < 8; i++) held.push(('s' + i + 'abcdefg').repeat(1 << 17));",
    "1 MB of random bytes": "const held = []; for (let i = 0; i < 16; i++) held.push(crypto.getRandomValues(new Uint8Array(65536)));",
    "1 MB object graph": "const held = []; for (let i = 0; i < 6000; i++) held.push({ id: i, name: 'n' + i, next: held[i - 1] });",
    "25 MB of strings, freed": "let held = []; for (let i = 0; i < 25; i++) held.push('x'.repeat(1 << 20) + i); held = 0;",
    "25 MB of objects, freed": "let held = []; for (let i = 0; i < 250000; i++) held.push({ i, s: 'v' + i }); held = 0;",
}

KERNELS = {
    "fib": "const fib = (n) => (n < 2 ? n : fib(n - 1) + fib(n - 2)); return fib(25);",
    "sort": """let seed = 1; const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648);
      const list = Array.from({ length: 40000 }, next); list.sort((a, b) => a - b); return [list[0], list[20000], list[39999]];""",
    "json": """const rows = Array.from({ length: 3000 }, (_, i) => ({ id: i, name: "row " + i, tags: ["a", "b", i % 7], ok: i % 2 === 0 }));
      let total = 0; for (let i = 0; i < 5; i++) total += JSON.stringify(JSON.parse(JSON.stringify(rows))).length; return total;""",
    "string append": """let text = ""; for (let i = 0; i < 300000; i++) text += "item " + (i % 10); let sum = 0;
      for (let i = 0; i < text.length; i += 101) sum += text.charCodeAt(i); return [text.length, sum];""",
    "regex": """const line = "2024-01-31 12:00:01 ERROR [worker-7] could not open file /var/data/x.json (code 42)"; let found = 0;
      for (let i = 0; i < 4000; i++) { const m = /^(\\d+)-(\\d+)-(\\d+) \\S+ (\\w+) \\[([^\\]]+)\\].*\\(code (\\d+)\\)$/.exec(line); found += m.length + +m[6]; }
      return found;""",
    "map and set": """const map = new Map(), set = new Set(); let hits = 0;
      for (let i = 0; i < 60000; i++) { map.set("k" + (i % 5000), i); set.add(i % 777); if (map.has("k" + (i % 9000))) hits++; }
      return [map.size, set.size, hits];""",
    "map of numbers and objects": """const keys = Array.from({ length: 30000 }, (_, i) => ({ i })), map = new Map(); let sum = 0;
      for (let i = 0; i < 30000; i++) { map.set(i, i); map.set(keys[i], i); } for (let i = 0; i < 30000; i++) sum += map.get(i) + map.get(keys[i]);
      return [map.size, sum];""",
    "large heap": """let holes = []; for (let i = 0; i < 1000; i++) holes.push(new Uint8Array(9000)); holes = holes.filter((_, i) => i % 2);
      const held = []; for (let i = 0; i < 8000; i++) held.push(new Uint8Array(9500)); return [holes.length, held.length];""",
    "objects": """class P { constructor(x, y) { this.x = x; this.y = y; } plus(o) { return new P(this.x + o.x, this.y + o.y); } }
      let p = new P(0, 0); const d = new P(1, 2); for (let i = 0; i < 300000; i++) p = p.plus(d); return [p.x, p.y];""",
}  # fmt: skip


def new_guest() -> Guest:
    return Guest(MACHINE, IMAGE, LIMITS)


def value_of(outcome: GuestOutcome) -> Any:
    assert isinstance(outcome, Done), outcome
    return json.loads(outcome.result)["value"]


def run_simple() -> None:
    guest = new_guest()
    assert value_of(guest.start("return 1 + 1")) == 2
    guest.close()


def run_calls(program: str, expected: object) -> None:
    """Answers every call at once with its own number."""
    guest = new_guest()
    outcome = guest.start(program)
    while isinstance(outcome, Idle):
        calls: list[dict[str, Any]] = json.loads(outcome.messages)
        outcome = guest.deliver([Settlement(call["id"], str(call["id"]).encode()) for call in calls])
    assert value_of(outcome) == expected
    guest.close()


def paused(held: str) -> Guest:
    guest = new_guest()
    assert isinstance(guest.start(f"{held} await tools.call('t'); return typeof held;"), Idle)
    return guest


def restore_and_resume(delta: bytes) -> None:
    guest = new_guest()
    guest.restore(delta, LIMITS)
    assert value_of(guest.deliver([Settlement(1)])) in {"number", "string", "object"}
    guest.close()


def timed(action: Callable[[], object], seconds: float) -> list[float]:
    """Milliseconds of each call, for about so long, at least five; the collector is off meanwhile."""
    action()
    took: list[float] = []
    gc.collect()
    gc.disable()
    end = time.perf_counter() + (seconds / 5 if QUICK else seconds)
    while len(took) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        action()
        took.append((time.perf_counter() - began) * 1000)
    gc.enable()
    return took


def report(name: str, took: list[float], **more: object) -> dict[str, object]:
    line: dict[str, object] = {
        "name": name, "min": round(min(took), 4), "p50": round(median(took), 4), "p99": round(quantiles(took, n=100)[98], 4),
        "runs": len(took), **more,
    }  # fmt: skip
    print(json.dumps(line), flush=True)
    return line


def bench_runs() -> list[dict[str, object]]:
    sequential = "let n = 0; for (let i = 0; i < 100; i++) n += await tools.call('t'); return n"
    parallel = (
        "const all = await Promise.all(Array.from({ length: 16 }, () => tools.call('t'))); return all.length"
    )
    return [
        report("fresh guest, 1 + 1", timed(run_simple, 2)),
        report("one awaited call", timed(lambda: run_calls("return await tools.call('t')", 1), 2)),
        report("100 calls in sequence", timed(lambda: run_calls(sequential, 5050), 2)),
        report("16 calls in parallel", timed(lambda: run_calls(parallel, 16), 2)),
    ]


def bench_deltas() -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for name, held in HELD.items():
        guest = paused(held)
        delta = guest.capture()
        lines.append(report(f"capture, {name}", timed(guest.capture, 1), bytes=len(delta)))
        guest.close()
        lines.append(
            report(
                f"restore and resume, {name}",
                timed(lambda delta=delta: restore_and_resume(delta), 1),
                bytes=len(delta),
            )
        )
    return lines


def in_guest(code: str) -> tuple[Any, float]:
    guest = new_guest()
    began = time.perf_counter()
    outcome = guest.start(code)
    took = (time.perf_counter() - began) * 1000
    guest.close()
    return value_of(outcome), took


def natively(code: str) -> tuple[Any, float]:
    context: Any = importlib.import_module("quickjs").Context()  # by name: it ships no types
    began = time.perf_counter()
    answer = context.eval(f'JSON.stringify((() => {{ "use strict"; {code} }})())')
    return json.loads(answer), (time.perf_counter() - began) * 1000


def bench_kernels() -> list[dict[str, object]]:
    lines: list[dict[str, object]] = []
    for name, code in KERNELS.items():
        ours: list[float] = []
        native: list[float] = []
        for _ in range(3 if QUICK else 9):  # in turns, so that a busy machine slows both
            (our_value, our_ms), (native_value, native_ms) = in_guest(code), natively(code)
            assert our_value == native_value, name
            ours.append(our_ms)
            native.append(native_ms)
        ratio = round(median(ours) / median(native), 2)
        lines.append(report(f"kernel {name}", ours, native_p50=round(median(native), 4), ratio=ratio))
    return lines


def print_table(lines: list[dict[str, object]]) -> None:
    print(f"\n{'':44}{'min ms':>10}{'p50 ms':>10}{'p99 ms':>10}{'bytes':>10}{'vs native':>11}")
    for line in lines:
        size, ratio = line.get("bytes", ""), line.get("ratio", "")
        print(f"{line['name']!s:44}{line['min']:>10}{line['p50']:>10}{line['p99']:>10}{size:>10}{ratio:>11}")


if __name__ == "__main__":
    print_table([*bench_runs(), *bench_deltas(), *bench_kernels()])
