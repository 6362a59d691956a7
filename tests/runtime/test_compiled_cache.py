"""Compiled code is run as it is: only a private folder and an intact file are believed."""

from pathlib import Path

import pytest
import wasmtime
from codemode_runtime import compiled
from codemode_runtime.guest import Guest
from codemode_runtime.image import compiled_digest
from codemode_runtime.shapes import Limits
from codemode_runtime.wasm import new_engine
from codemode_runtime.wire import Done

from tests.harness.guests import load_image


@pytest.fixture(scope="module")
def foreign() -> bytes:
    """Valid machine code of another module: if it were loaded, no guest could be made of it."""
    engine = new_engine()
    return bytes(wasmtime.Module(engine, bytes(wasmtime.wat2wasm("(module)"))).serialize())


def plant(folder: Path, code: bytes, digest: str) -> Path:
    """Puts code in the place of the guest's."""
    folder.mkdir(mode=0o700)
    path = folder / compiled._name(load_image())  # pyright: ignore[reportPrivateUsage] - where it would look
    path.write_bytes(code)
    path.with_suffix(".hash").write_text(digest)
    return path


def assert_runs(folder: Path) -> None:
    guest = Guest(compiled.load_machine(load_image(), folder), load_image(), Limits())
    outcome = guest.start("return 6 * 7")
    guest.close()
    assert isinstance(outcome, Done)
    assert outcome.result == b'{"value":42,"lossy":[]}'


def test_code_that_does_not_match_its_hash_is_compiled_anew_and_replaced(
    tmp_path: Path, foreign: bytes
) -> None:
    path = plant(tmp_path / "cache", foreign, compiled_digest(b"something else"))
    assert_runs(tmp_path / "cache")
    assert compiled_digest(path.read_bytes()) == path.with_suffix(".hash").read_text()
    assert path.read_bytes() != foreign


@pytest.mark.parametrize("mode", [0o777, 0o702])
def test_code_in_a_folder_that_others_may_write_to_is_neither_loaded_nor_replaced(
    tmp_path: Path, foreign: bytes, mode: int
) -> None:
    path = plant(tmp_path / "cache", foreign, compiled_digest(foreign))
    path.parent.chmod(mode)
    assert_runs(tmp_path / "cache")
    assert path.read_bytes() == foreign
