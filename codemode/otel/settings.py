"""What a host says about OpenTelemetry. Loads nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from codemode.config import ConfigError
from codemode.config.rules import shown

if TYPE_CHECKING:  # loads OpenTelemetry
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from codemode.otel.spans import Spans


@dataclass(frozen=True, slots=True)
class OpenTelemetry:
    """Where an engine's spans and metrics go: to these providers, or to the process's own.

    With `content`, spans have the program, and the arguments and the result of each call, clipped to
    16 KiB each. Without it they have names, ids, sizes, times and error codes.
    """

    tracer_provider: TracerProvider | None = None
    meter_provider: MeterProvider | None = None
    content: bool = False


def read_otel(given: object) -> OpenTelemetry | None:
    """What `Engine(otel=…)` was given. Raises ConfigError, also if the extra is not installed."""
    if given is None or given is False:
        return None
    settings = OpenTelemetry() if given is True else given
    if not isinstance(settings, OpenTelemetry):
        raise ConfigError("otel", f"must be True, False or an OpenTelemetry, not {shown(given)}.")
    if find_spec("opentelemetry") is None:
        raise ConfigError("otel", 'needs OpenTelemetry: pip install "codemode[otel]".')
    return settings


def open_spans(given: object, stats: Callable[[], Mapping[str, Any]]) -> Spans | None:
    """The spans and metrics of an engine that was asked for them. Raises ConfigError."""
    settings = read_otel(given)
    if settings is None:
        return None
    from codemode.otel.spans import Spans as Made

    return Made(settings, stats)
