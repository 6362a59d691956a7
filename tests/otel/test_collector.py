"""A real collector's view: what arrives over OTLP/HTTP, from an engine and from the command line."""

from __future__ import annotations

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from codemode import OpenTelemetry
from tests.harness.cli import as_process
from tests.harness.engine import engine, value_of
from tests.harness.otel import collector


async def test_a_collector_gets_the_spans_and_metrics_of_an_engine() -> None:
    with collector() as found:
        url = f"http://127.0.0.1:{found.port}/v1"
        tracers = TracerProvider()
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/traces")))
        meters = MeterProvider([PeriodicExportingMetricReader(OTLPMetricExporter(f"{url}/metrics"))])
        async with engine(otel=OpenTelemetry(tracers, meters)) as made:
            assert value_of(await made.exec("return await tools.echo({ value: 1 })")) == 1
        tracers.shutdown()
        meters.shutdown()
    assert sorted(found.span_names()) == ["execute_tool echo", "execute_tool exec"]
    assert found.metric_names() == {"gen_ai.execute_tool.duration", "codemode.leg.duration"}
    (resource,) = found.traces[0].resource_spans
    (scope,) = resource.scope_spans
    inner, outer = sorted(scope.spans, key=lambda span: span.name)
    assert scope.scope.name == "codemode"
    assert (inner.trace_id, inner.parent_span_id) == (outer.trace_id, outer.span_id)


def test_the_command_line_sends_to_the_collector_that_the_variables_name() -> None:
    with collector() as found:
        told = as_process(
            "run",
            "--otel",
            "-e",
            "return 1 + 1",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{found.port}",
            OTEL_SERVICE_NAME="shop",
        )
    assert told.code == 0, told.err
    assert found.span_names() == ["execute_tool exec"]
    assert found.services() == {"shop"}
