"""A guest image of another build, made of ours: one of the engine's texts differs, so a program can tell."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from codemode_runtime.image import FOLDER

OURS, THEIRS = "BigInt division by zero", "BigInt division by none"
ASK = "(() => { try { return 1n / 0n } catch (error) { return error.message } })()"
"""What a program writes to learn in which of the two it runs."""


def make_image(folder: Path) -> str:
    """Writes it into a folder of its own in `folder`, as `codemode image save` does. Returns its build id."""
    wasm = (FOLDER / "guest.wasm").read_bytes()
    assert wasm.count(OURS.encode()) == 2  # the text, and the copy that captures are compared with
    other = wasm.replace(OURS.encode(), THEIRS.encode())
    digest = hashlib.sha256(other).hexdigest()
    facts = json.loads((FOLDER / "manifest.json").read_bytes())
    own = folder / digest[:32]
    own.mkdir(parents=True)
    (own / "guest.wasm").write_bytes(other)
    (own / "manifest.json").write_text(json.dumps({**facts, "buildId": digest[:32], "sha256": digest}))
    return digest[:32]


def make_installation(image: Path, folder: Path) -> None:
    """Beside that image all that an installation of its version would have."""
    shutil.copytree(image, folder)
    for name in ("codemode-runner", "typescript.js", "typescript.json", "runner.json"):
        (folder / name).symlink_to(FOLDER / name)
