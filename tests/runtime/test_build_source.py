"""The cache of the engine's source: verified every time, whole at any time."""

import hashlib
import io
import subprocess
import sys
import tarfile
from dataclasses import astuple
from pathlib import Path

import pytest
import source
from source import Pin

FILES = {"engine.c": b"int engine;" * 10_000, "engine.h": b"#pragma once\n"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def pin(cache: Path) -> Pin:
    """An sdist of our own, already in the cache: no index is needed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in {
            **{f"an_engine-1.0/c/{name}": content for name, content in FILES.items()},
            "an_engine-1.0/c/README.md": b"not C",
            "an_engine-1.0/setup.py": b"raise SystemExit",
            "an_engine-1.0/other/engine.c": b"another engine.c",
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    data = made.getvalue()
    pin = Pin("an-engine", "1.0", hashlib.sha256(data).hexdigest(), "c")
    source.write_whole(cache / pin.archive, data)
    return pin


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_only_the_c_files_are_unpacked(pin: Pin, cache: Path) -> None:
    assert contents(source.fetch(pin, cache)) == FILES


def test_an_unpacked_file_that_was_changed_is_put_right(pin: Pin, cache: Path) -> None:
    folder = source.fetch(pin, cache)
    (folder / "engine.c").write_bytes(b"int changed;")
    (folder / "engine.h").unlink()
    assert contents(source.fetch(pin, cache)) == FILES


def test_builds_side_by_side_leave_the_cache_whole(pin: Pin, cache: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from source import Pin, fetch;"
        "sys.stdin.read(); print(fetch(Pin(*sys.argv[2:]), Path(sys.argv[1])))"
    )
    command = [sys.executable, "-c", program, str(cache), *astuple(pin)]
    here = str(Path(source.__file__).parent)
    builds = [
        subprocess.Popen(
            command, env={"PYTHONPATH": here}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    answers = [one.communicate(timeout=60)[0] for one in builds]
    assert answers == [f"{cache / 'an-engine-1.0'}\n"] * 4
    assert contents(cache / "an-engine-1.0") == FILES
    assert sorted(entry.name for entry in cache.iterdir()) == ["an-engine-1.0", "an_engine-1.0.tar.gz"]
