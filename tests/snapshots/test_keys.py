"""The key file: made once, private, the same for everybody who asks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from codemode_snapshots import KeyRefused, load_or_create_key, new_key


def test_a_key_is_made_once_and_read_back(tmp_path: Path) -> None:
    key = load_or_create_key(tmp_path / "runs.key")
    assert len(key) == 32
    assert load_or_create_key(tmp_path / "runs.key") == key
    assert (tmp_path / "runs.key").read_text() == key.hex() + "\n"


def test_a_new_key_file_is_private_and_leaves_no_draft(tmp_path: Path) -> None:
    load_or_create_key(tmp_path / "runs.key")
    assert (tmp_path / "runs.key").stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["runs.key"]


def test_two_new_keys_differ() -> None:
    assert new_key() != new_key()


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o602])
def test_a_key_file_open_to_others_is_refused_with_its_mode(tmp_path: Path, mode: int) -> None:
    load_or_create_key(tmp_path / "runs.key")
    (tmp_path / "runs.key").chmod(mode)
    with pytest.raises(KeyRefused, match=f"mode {mode:04o}.*chmod 600"):
        load_or_create_key(tmp_path / "runs.key")


@pytest.mark.parametrize("content", [b"", b"00" * 31, b"00" * 33, b"zz" * 32, b"\xff" * 64])
def test_a_file_without_a_key_in_it_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "runs.key"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(KeyRefused, match="64 hexadecimal digits"):
        load_or_create_key(file)


def test_a_directory_or_pipe_in_the_keys_place_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(KeyRefused):
            load_or_create_key(place)


def test_a_missing_directory_is_refused_with_advice(tmp_path: Path) -> None:
    with pytest.raises(KeyRefused, match="existing, writable directory"):
        load_or_create_key(tmp_path / "none" / "runs.key")


def test_processes_that_race_for_a_new_key_get_the_same_one(tmp_path: Path) -> None:
    program = (
        "import sys; from codemode_snapshots import load_or_create_key;"
        "print('ready', flush=True); sys.stdin.readline(); print(load_or_create_key(sys.argv[1]).hex())"
    )
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(tmp_path / "runs.key")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    answers = {racer.communicate(timeout=60)[0].strip() for racer in racers}
    assert answers == {load_or_create_key(tmp_path / "runs.key").hex()}
