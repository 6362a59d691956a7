"""What cannot be built ends with one sentence on stderr and exit code 1; nothing unverified is built from."""

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import make_image
import pytest
from source import QUICKJS

SCRIPT = Path(make_image.__file__)


def build(folder: Path, *flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """The real script with its own cache, into its own folder, out of reach of any package index."""
    basic = {"PATH": os.defpath, "HOME": str(folder), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        [sys.executable, *flags, str(SCRIPT), str(folder / "image")],
        env={**basic, "XDG_CACHE_HOME": str(folder / "cache"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def assert_refused(done: subprocess.CompletedProcess[str], folder: Path, reason: str) -> None:
    assert done.stderr.startswith("cannot build the guest image: ")
    assert reason in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.returncode == 1
    assert not (folder / "image").exists()


def sdist(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@pytest.mark.guarantee("build-explains-itself")
def test_without_an_index_the_build_says_that_the_source_is_out_of_reach(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert_refused(
        done, tmp_path, "pip could not fetch the source of quickjs-ng 0.17.0.2 with the pinned hash"
    )


@pytest.mark.guarantee("build-explains-itself")
@pytest.mark.parametrize("missing", ["wasmtime", "ziglang"])
def test_without_a_tool_the_build_names_it(tmp_path: Path, missing: str) -> None:
    # without site-packages nothing is installed; a record of the other tool is enough to get past it
    present = {"wasmtime": "ziglang", "ziglang": "wasmtime"}[missing]
    record = tmp_path / "site" / f"{present}-1.dist-info"
    record.mkdir(parents=True)
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {present}\nVersion: 1\n")
    done = build(tmp_path, "-S", PYTHONPATH=str(record.parent))
    assert_refused(done, tmp_path, f"the build needs {missing}: run `make`, or pip install {missing}")


@pytest.mark.guarantee("source-is-pinned")
def test_a_damaged_archive_in_the_cache_is_not_built_from(tmp_path: Path) -> None:
    archive = tmp_path / "cache" / "codemode" / "source" / QUICKJS.archive
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"not the sdist")
    done = build(tmp_path)
    assert_refused(done, tmp_path, "pip could not fetch the source of quickjs-ng")
    assert list(archive.parent.iterdir()) == [archive]


@pytest.mark.guarantee("source-is-pinned")
def test_an_sdist_with_another_hash_is_refused_before_anything_of_it_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    top = QUICKJS.archive.removesuffix(".tar.gz")
    forged = {
        f"{top}/setup.py": f"open({str(ran)!r}, 'w').close()",
        f"{top}/PKG-INFO": f"Metadata-Version: 2.1\nName: quickjs-ng\nVersion: {QUICKJS.version}\n",
        f"{top}/{QUICKJS.subfolder}/quickjs.c": "int main(void) { return 0; }",
    }
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / QUICKJS.archive).write_bytes(sdist(forged))
    done = build(tmp_path, PIP_FIND_LINKS=str(tmp_path / "links"))
    assert_refused(done, tmp_path, "DO NOT MATCH THE HASHES")
    assert not ran.exists()


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    done = build(tmp_path)
    assert_refused(done, tmp_path, str(tmp_path / "cache"))
