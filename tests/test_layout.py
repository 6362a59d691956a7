"""How the tree may look: small files, no module under a bare name, nothing built or foreign committed."""

import subprocess
from pathlib import PurePosixPath

from tests.harness.processes import PROJECT

PLANES = ("codemode", "runtime", "snapshots")
MAX_LINES = 400
# Files that are longer, each with the reason why a split would be worse.
LONGER = {
    "runtime/shim/json.c": "one recursive writer: apart, each of its steps would have to be exported",
    "runtime/shim/bridge.c": "calls out and settlements in share a table that nothing else may see",
    "runtime/shim/engine.c": "the engine is included as source: only one file can have its internals",
}
BUILT = {
    ".wasm",
    ".cwasm",
    ".so",
    ".o",
    ".a",
    ".whl",
    ".gz",
    ".zip",
    ".pyc",
    ".pyd",
    ".dylib",
    ".dll",
    ".node",
}
FOREIGN = ("quickjs*.[ch]", "libregexp*.[ch]", "libunicode*.[ch]", "dtoa.[ch]", "cutils.[ch]")


def test_no_module_lies_where_an_editable_install_would_find_it_under_its_bare_name() -> None:
    loose = [path for folder in (".", "runtime", "snapshots") for path in (PROJECT / folder).glob("*.py")]
    assert loose == []


def test_each_import_package_is_marked_as_typed() -> None:
    for package in ("codemode", "runtime/codemode_runtime", "snapshots/codemode_snapshots"):
        assert (PROJECT / package / "py.typed").read_bytes() == b""


def test_no_source_file_is_longer_than_four_hundred_lines() -> None:
    too_long = {
        name: lines
        for plane in PLANES
        for path in (PROJECT / plane).rglob("*")
        if path.suffix in {".py", ".c", ".h", ".js"}
        and path.parent.name != "image"
        and (lines := len(path.read_text().splitlines())) > MAX_LINES
        and (name := path.relative_to(PROJECT).as_posix()) not in LONGER
    }
    assert too_long == {}


def test_nothing_built_and_nothing_foreign_is_committed() -> None:
    unwanted = [
        name
        for name in committed()
        if PurePosixPath(name).suffix in BUILT or any(PurePosixPath(name).match(mask) for mask in FOREIGN)
    ]
    assert unwanted == []


def test_a_committed_file_is_small_enough_to_have_been_written_by_hand() -> None:
    large = [name for name in committed() if (PROJECT / name).stat().st_size > 256 << 10]
    assert large == []


def committed() -> list[str]:
    """What git knows and the working tree still has; nothing where this is no clone, as in an sdist."""
    if not (PROJECT / ".git").exists():
        return []
    command = ["git", "-C", str(PROJECT), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in listed if name and (PROJECT / name).is_file()]
