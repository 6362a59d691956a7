"""What each process loads: a host nothing of WebAssembly or parsers, a worker not the control plane."""

from __future__ import annotations

import pytest

from tests.harness.processes import modules_after
from tests.harness.workers import supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")

TYPESCRIPT = "codemode_runtime.compile.typescript"
FOREIGN_TO_HOSTS = {"wasmtime", "tree_sitter", "zstandard"}


def test_the_host_loads_neither_wasmtime_nor_a_parser() -> None:
    loaded = modules_after("import codemode.workers.supervisor")
    assert FOREIGN_TO_HOSTS & {name.partition(".")[0] for name in loaded} == set()


@pytest.mark.guarantee("typescript-works")
@pytest.mark.parametrize(
    ("flavour", "absent", "present"),
    [
        ("javascript", {"codemode", TYPESCRIPT, "wasmtime"}, {"tree_sitter_javascript"}),
        ("typescript", {"codemode"}, {"wasmtime", "tree_sitter_javascript", TYPESCRIPT}),
    ],
)
async def test_a_worker_loads_what_its_flavour_needs_and_no_more(
    flavour: str, absent: set[str], present: set[str]
) -> None:
    async with supervisor(entry="tests.workers.telling_zygote") as found:
        loaded = set(await value_of(found, "modules", language=flavour))
    assert loaded & absent == set()
    assert loaded & present == present
