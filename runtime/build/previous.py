"""Guest images of earlier versions for a wheel: with them the new version restores runs of the old one.

CODEMODE_PREVIOUS names wheels of earlier versions, separated as in PATH. Nothing is taken on trust but the
hash that each image's own manifest says: give wheels that you have released.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

from source import BuildError, write_whole

_IMAGE = "codemode_runtime/image"


def take_images(wheels: list[Path], folder: Path) -> dict[Path, str]:
    """Unpacks them into `folder`; where each file goes in the new wheel. Raises BuildError."""
    found: dict[Path, str] = {}
    for wheel in wheels:
        try:
            with zipfile.ZipFile(wheel) as archive:
                parts = {name: archive.read(f"{_IMAGE}/{name}") for name in ("guest.wasm", "manifest.json")}
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise BuildError(f"{wheel} is no wheel with a guest image: {error}") from None
        facts = json.loads(parts["manifest.json"])
        if hashlib.sha256(parts["guest.wasm"]).hexdigest() != facts["sha256"]:
            raise BuildError(f"the guest image in {wheel} is damaged")
        for name, data in parts.items():
            file = folder / str(facts["buildId"]) / name
            write_whole(file, data)
            found[file] = f"{_IMAGE}/previous/{facts['buildId']}/{name}"
    return found
