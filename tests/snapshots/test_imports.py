"""What loading the package brings in, seen in a fresh interpreter."""

import subprocess
import sys


def test_the_package_loads_neither_sqlite_nor_another_plane() -> None:
    program = (
        "import sys, codemode_snapshots;"
        "print(sorted({'sqlite3', 'asyncio', 'codemode', 'codemode_runtime', 'wasmtime'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"


def test_the_sqlite_store_loads_no_other_plane() -> None:
    program = (
        "import sys, codemode_snapshots.sqlite;"
        "print(sorted({'asyncio', 'codemode', 'codemode_runtime', 'wasmtime'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
