"""The bounds of an engine's own store, from its configuration and settings. Pure."""

from __future__ import annotations

from codemode_snapshots import StoreLimits

from codemode.config import CodeModeConfig, EngineSettings


def store_limits(config: CodeModeConfig, settings: EngineSettings) -> StoreLimits:
    return StoreLimits(
        max_snapshot_bytes=config.max_snapshot_bytes,
        max_snapshots=settings.max_suspended_runs,
        max_total_bytes=settings.max_store_bytes,
    )
