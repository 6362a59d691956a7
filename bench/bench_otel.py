"""What OpenTelemetry costs an exec with one call: the same engine code, asked for it and not.

    python bench/bench_otel.py [--quick]      a JSON line, then a table

Two engines take turns, exec by exec, so that the load of other programs meets both alike; the SDK's batch
processor exports to nowhere. Times are milliseconds, 25th percentiles, so that the load of other programs
hardly shows. `overhead` is their difference in percent of an exec without it; the goal is less than 5.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from codemode import Engine, OpenTelemetry, tool

QUICK = "--quick" in sys.argv
ROUNDS = 200 if QUICK else 3_000
GOAL = 5.0
PROGRAM = "return (await tools.double({ i: 1 })).value"


class Nowhere(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - the interface's own
        return SpanExportResult.SUCCESS


@tool
async def double(i: int) -> dict[str, int]:
    """Twice the number."""
    return {"value": 2 * i}


async def exec_ms(engine: Engine) -> float:
    began = time.perf_counter()
    result = await engine.exec(PROGRAM)
    spent = (time.perf_counter() - began) * 1000
    assert result.status == "completed", result
    return spent


async def measure() -> dict[str, float]:
    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(Nowhere()))
    told = OpenTelemetry(tracers, MeterProvider([InMemoryMetricReader()]))
    plain: list[float] = []
    traced: list[float] = []
    async with Engine([double]) as without, Engine([double], otel=told) as with_it:
        for at in range(ROUNDS + 20):
            pair = (without, with_it) if at % 2 else (with_it, without)
            spent = {engine: await exec_ms(engine) for engine in pair}
            if at >= 20:
                plain.append(spent[without])
                traced.append(spent[with_it])
    tracers.shutdown()
    for q in (10, 25, 50):
        print(q, statistics.quantiles(plain, n=100)[q - 1], statistics.quantiles(traced, n=100)[q - 1])
    base, other = statistics.median(plain), statistics.median(traced)
    return {"without_ms": base, "with_ms": other, "overhead": (other - base) / base * 100}


def main() -> None:
    found = {name: round(value, 4) for name, value in asyncio.run(measure()).items()}
    print(json.dumps(found))
    print(f"an exec with one call: {found['without_ms']:.3f} ms, with it {found['with_ms']:.3f} ms")
    print(f"overhead {found['overhead']:.1f} %, goal below {GOAL:g} %")


if __name__ == "__main__":
    main()
