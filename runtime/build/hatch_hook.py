"""Hatchling build hook: a wheel carries the guest image, so that installing it needs no compiler."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class GuestImageHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface's shape
        if self.target_name != "wheel":
            return
        from make_image import BuildError, build  # noqa: PLC0415 - its folder is put on the path above

        try:
            build(lambda text: self.app.display_info(text))
        except BuildError as error:
            self.app.abort(f"cannot build the guest image: {error}")
        build_data["pure_python"] = True
