"""What loading the package brings in, seen in a fresh interpreter."""

from tests.harness.processes import modules_after


def test_the_package_loads_neither_sqlite_nor_another_plane() -> None:
    loaded = modules_after("import codemode_snapshots")
    assert loaded & {"sqlite3", "asyncio", "codemode", "codemode_runtime", "wasmtime"} == set()


def test_the_sqlite_store_loads_no_other_plane() -> None:
    loaded = modules_after("import codemode_snapshots.sqlite")
    assert loaded & {"asyncio", "codemode", "codemode_runtime", "wasmtime"} == set()
