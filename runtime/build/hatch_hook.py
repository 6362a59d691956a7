"""Hatchling build hook: a wheel carries the guest image, so that installing it needs no compiler.

Runs for editable installs too: `pip install -e .` alone leaves a working clone.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class GuestImageHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - the interface's shape
        from make_image import BuildError, build  # its folder is put on the path above

        try:
            build(say=self.app.display_info)
        except (BuildError, OSError) as error:
            self.app.abort(f"cannot build the guest image: {error}")
