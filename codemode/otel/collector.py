"""Sends what an engine tells to a collector over OTLP/HTTP, for commands: a host has providers of its own.

The OTEL_* variables say where to and how: OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME and the rest.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from codemode.config import ConfigError


def open_collector() -> None:
    """Sets the providers of this process, unless somebody has (`opentelemetry-instrument` does). They send
    what they have when the process ends. Raises ConfigError without the SDK and its exporter."""
    from opentelemetry import metrics, trace

    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
        raise ConfigError("otel", 'needs an exporter of OpenTelemetry: pip install "codemode[otel]".')
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "codemode"}
    resource = Resource.create(named)
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        tracers = TracerProvider(resource=resource)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
    if not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        metrics.set_meter_provider(MeterProvider([reader], resource=resource))
