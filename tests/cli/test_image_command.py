"""`codemode image`: the guest image of this version kept for a later one."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from codemode_runtime.image import FOLDER, load

from codemode.cli.checks.files import check_store
from tests.harness.cli import TOOLS, Cli
from tests.harness.other_image import make_image

sys.path.insert(0, str(Path(__file__).parents[2] / "runtime" / "build"))
import previous
from source import BuildError


def test_an_image_is_saved_once_and_listed_where_it_is_another_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = load().build_id
    saved = cli("image", "save", tmp_path)
    assert saved.code == 0
    assert (tmp_path / own / "guest.wasm").read_bytes() == (FOLDER / "guest.wasm").read_bytes()
    assert "is there already" in cli("image", "save", tmp_path).out
    other = make_image(tmp_path)
    monkeypatch.setenv("CODEMODE_IMAGES", str(tmp_path))
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("{}")
    lines = cli("image", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == [own, other]


def test_a_save_without_a_folder_is_told_what_to_say(cli: Cli) -> None:
    refused = cli("image", "save")
    assert (refused.code, "codemode image save FOLDER" in refused.err) == (2, True)


def test_doctor_counts_only_runs_whose_image_is_nowhere(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "runs.sqlite"
    waits = cli("run", "-e", "await yield_control()", "--store", store, "--no-wait", "--tools", TOOLS)
    assert waits.code == 3
    assert check_store(store, "f" * 32)[0].name == "runs of other builds"
    cli("image", "save", tmp_path / "images")
    monkeypatch.setenv("CODEMODE_IMAGES", str(tmp_path / "images"))
    assert check_store(store, "f" * 32)[0].status == "ok"


def test_a_wheel_takes_the_image_of_an_earlier_one_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    build = make_image(tmp_path / "images")
    wheel = tmp_path / "old.whl"

    def pack(wasm: bytes) -> None:
        with zipfile.ZipFile(wheel, "w") as archive:
            manifest = (tmp_path / "images" / build / "manifest.json").read_text()
            archive.writestr("codemode_runtime/image/manifest.json", manifest)
            archive.writestr("codemode_runtime/image/guest.wasm", wasm)

    pack((tmp_path / "images" / build / "guest.wasm").read_bytes())
    places = previous.take_images([wheel], tmp_path / "taken")
    assert set(places.values()) == {
        f"codemode_runtime/image/previous/{build}/{name}" for name in ("guest.wasm", "manifest.json")
    }
    assert all(file.is_file() for file in places)
    pack(b"something else")
    with pytest.raises(BuildError, match="damaged"):
        previous.take_images([wheel], tmp_path / "taken")
