"""Pure data that crosses the public API: results, error codes, events, telemetry, checked input."""
