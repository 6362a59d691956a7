"""The built image and the manifest that says what it was made of."""

import hashlib
import json
import tomllib
from importlib.metadata import version
from typing import Any

import make_image
import pytest
from source import QUICKJS

from tests.harness.processes import PROJECT

RUNTIME = PROJECT / "runtime"
MANIFEST: dict[str, Any] = json.loads((make_image.IMAGE / "manifest.json").read_bytes())


@pytest.mark.guarantee("image-is-vouched-for")
def test_the_manifest_names_the_image_by_its_hash() -> None:
    image = (make_image.IMAGE / "guest.wasm").read_bytes()
    digest = hashlib.sha256(image).hexdigest()
    assert MANIFEST["sha256"] == digest
    assert MANIFEST["buildId"] == digest[:32]
    assert MANIFEST["bytes"] == len(image)


@pytest.mark.guarantee("image-is-vouched-for")
def test_the_manifest_records_the_source_the_compiler_and_the_flags() -> None:
    inputs = MANIFEST["inputs"]
    assert inputs["source"] == {"package": "quickjs-ng", "version": QUICKJS.version, "sha256": QUICKJS.sha256}
    assert inputs["ziglang"] == version("ziglang")
    assert inputs["flags"] == list(make_image.FLAGS)


@pytest.mark.guarantee("image-is-vouched-for")
def test_the_manifest_records_every_file_that_goes_into_the_image() -> None:
    files = [*(RUNTIME / "shim").rglob("*.[ch]"), *RUNTIME.glob("prelude/[0-9]*.js")]
    files += [
        RUNTIME / "build" / name
        for name in (
            *("change.py", "changes.py", "make_image.py", "misuse.py"),
            *("polls.py", "speed.py", "wasm_binary.py", "weak.py"),
        )
    ]
    assert MANIFEST["inputs"]["files"] == {
        file.relative_to(RUNTIME).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest() for file in files
    }


def test_the_image_names_no_folder_of_the_machine_that_built_it() -> None:
    image = (make_image.IMAGE / "guest.wasm").read_bytes()
    for folder in (RUNTIME, "quickjs-ng-", "shim/"):
        assert str(folder).encode() not in image


def test_the_compiler_and_the_oracle_are_pinned_to_one_version_everywhere() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    compiler = f"ziglang=={version('ziglang')}"
    assert compiler in project["build-system"]["requires"]
    assert compiler in project["dependency-groups"]["dev"]
    assert f"quickjs-ng=={QUICKJS.version}" in project["dependency-groups"]["dev"]
