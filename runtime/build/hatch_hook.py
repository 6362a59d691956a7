"""Hatchling build hook: a wheel carries the guest image and the native runner of its platform, so that
installing it needs no compiler. It also says what of other people's work is in it, with their licences.

Runs for editable installs too: `pip install -e .` alone leaves a working clone. CODEMODE_PLATFORM names
another platform to build a wheel for (a tag of make_runner.TARGETS), CODEMODE_PREVIOUS wheels of earlier
versions whose runs the new one shall restore (previous.py).
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent))


class GuestImageHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # their folder is put on the path above
        import make_runner
        import previous
        import sbom
        from make_image import BuildError, build

        tag = os.environ.get("CODEMODE_PLATFORM") or make_runner.own_target()
        is_wheel = (
            version == "standard" and tag is not None
        )  # neither editable nor for a platform without runner
        folder = make_runner.FOLDER
        if is_wheel and tag != make_runner.own_target():
            folder = Path(self.root) / ".cache" / "runner" / str(tag)
        try:
            build(say=self.app.display_info)
            if is_wheel:
                make_runner.build(folder, self.app.display_info, tag)
        except (BuildError, OSError) as error:
            self.app.abort(f"cannot build the guest image: {error}")
        if is_wheel:
            version_of_wheel = str(self.metadata.version)  # pyright: ignore[reportUnknownMemberType]
            made = Path(self.root) / ".cache" / "sbom"
            bom, licences = sbom.write(made, version_of_wheel, importlib.metadata.version("ziglang"))
            build_data["sbom_files"].append(bom.relative_to(self.root).as_posix())
            build_data["force_include"][str(licences)] = f"codemode_runtime/image/{sbom.LICENCES}"
            runner = folder / make_runner.NAME
            wheels = [
                Path(name) for name in os.environ.get("CODEMODE_PREVIOUS", "").split(os.pathsep) if name
            ]
            for file, place in previous.take_images(wheels, Path(self.root) / ".cache" / "previous").items():
                build_data["force_include"][str(file)] = place
            build_data["force_include"][str(runner)] = f"codemode_runtime/image/{make_runner.NAME}"
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{tag}"
