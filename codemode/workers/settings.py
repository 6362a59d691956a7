"""What the workers of one engine are made with: the host's settings, and numbers no host sets. Data only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from codemode_runtime import native
from codemode_runtime.image import (
    ImageUnavailable,
    default_cache,
    image_folders,
    load_manifest,
    other_images,
)
from codemode_runtime.zygote_wire import Flavour
from msgspec import Struct, field
from msgspec.structs import replace

from codemode.config import CodeModeConfig, EngineSettings
from codemode.workers.head_start import NATIVE, ZYGOTE


class WorkerSettings(Struct, frozen=True):
    """The supervisor and its pools read what they need from here; nothing is copied out of it."""

    engine: EngineSettings = field(default_factory=EngineSettings)
    memory_bytes: int = CodeModeConfig().memory_limit_bytes  # the largest guest heap a leg may ask for
    idle_warm: int = 1  # kept warm in each flavour after idle_seconds without a lease
    idle_seconds: float = 60.0
    grace_ms: int = 300  # from a leg's deadline to the worker's death, for one that does not obey
    processes: Literal["auto", "fork", "spawn"] = "auto"
    prewarm: tuple[Flavour, ...] = ()  # flavours to start together with "javascript"
    cache: Path | None = None  # of compiled machine code; the user's own by default
    entry: str = NATIVE  # the runner, or for tests the module a zygote runs

    @classmethod
    def of(cls, config: CodeModeConfig, settings: EngineSettings) -> WorkerSettings:
        return cls(settings, config.memory_limit_bytes)

    @property
    def forks(self) -> bool:
        """Whether workers are forked from a zygote, or each is a process started anew."""
        return self.processes == "fork" or (self.processes == "auto" and hasattr(os, "fork"))

    @property
    def is_native(self) -> bool:
        """Whether programs run in the native runner, which leaves the checking of texts to others."""
        return self.entry == NATIVE

    @property
    def for_checkers(self) -> WorkerSettings:
        """Of the processes that check texts: they are in Python, and one is kept ready."""
        return replace(self, entry=ZYGOTE, engine=replace(self.engine, warm_workers=1))

    @property
    def for_other_builds(self) -> WorkerSettings:
        """Of workers that restore snapshots of other builds: few come, so none is kept ready."""
        return replace(self, engine=replace(self.engine, warm_workers=0))

    def other_images(self) -> dict[str, Path]:
        """Folders of the guest images of other builds, by build id. Only the runner can use them."""
        if not self.is_native:
            return {}
        try:
            return other_images(image_folders(), load_manifest(native.FOLDER).build_id)
        except ImageUnavailable:
            return {}  # there is not even one of our own, which starting will tell

    @property
    def cache_folder(self) -> Path | None:
        # absolute, because a zygote works in another folder
        return self.cache.absolute() if self.cache else default_cache()
