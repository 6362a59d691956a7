"""The two sides of the boundary agree: constants, block layout, exports and imports."""

import re
from pathlib import Path

import pytest
import wasmtime
from codemode_runtime import batches
from codemode_runtime import guest as guests
from codemode_runtime.delta import PAGE
from codemode_runtime.guest import Guest
from codemode_runtime.image import load
from codemode_runtime.shapes import (
    MAX_IGNORED,
    MAX_OUTPUT_ITEMS,
    MAX_REASON,
    MAX_TIMERS,
    Limits,
    Lookup,
    Stop,
)
from codemode_runtime.wire import Idle

from tests.harness.guests import load_image, load_machine, new_guest

SHIM = Path(__file__).parents[2] / "runtime" / "shim"
HEADER = (SHIM / "shim.h").read_text("utf-8")
HOST_ONLY = {"STACK": 5}  # a reason that a guest cannot give itself

EXPORTS = {
    "cm_block", "cm_boot", "cm_prelude", "cm_seal",
    "cm_inbox", "cm_start", "cm_deliver", "cm_rest", "cm_capture", "cm_restore",
}  # fmt: skip
IMPORTS = {
    "now": "(i32) -> f64",
    "random": "(i32, i32) -> ",
    "lookup": "(i32, i32, i32) -> i32",
    "lookup_read": "(i32) -> ",
}


def enumerators(name: str) -> dict[str, int]:
    """The members of a C enum, without their common prefix."""
    found = re.search(rf"enum {name} \{{(.*?)\}};", HEADER, re.DOTALL)
    assert found
    members = re.findall(r"(CM_\w+) = (\d+)", found[1])
    prefix = {"cm_status": "CM_", "cm_stop": "CM_STOP_", "cm_lookup": "CM_LOOKUP_", "cm_settle": "CM_"}[name]
    return {member.removeprefix(prefix): int(value) for member, value in members}


def block_fields() -> tuple[list[str], list[str]]:
    """What the guest writes, and what the host writes behind it."""
    found = re.search(
        r"typedef struct \{\s*/\* written by the guest \*/(.*?)\} cm_block_t;", HEADER, re.DOTALL
    )
    assert found
    by_guest, by_host = found[1].split("/* written by the host */")
    return re.findall(r"(?:uint32_t|cm_address) (\w+);", by_guest), re.findall(r"uint32_t (\w+);", by_host)


def test_look_up_kinds_are_those_of_the_header() -> None:
    assert {kind.name: kind.value for kind in Lookup} == enumerators("cm_lookup")


def test_stop_reasons_are_those_of_the_header_and_one_of_the_host() -> None:
    reasons = {stop.name: stop.value for stop in Stop}
    by_guest = enumerators("cm_stop")
    assert by_guest.pop("NONE") == reasons.pop("ENGINE")
    assert reasons == by_guest | HOST_ONLY


def test_the_guest_stops_where_the_worker_would_refuse() -> None:
    count = re.search(r"#define CM_MAX_MESSAGES (\d+)", HEADER)
    size = re.search(r"#define CM_MAX_MESSAGE_BYTES \((\d+)u << 20\)", HEADER)
    assert count
    assert size
    assert (int(count[1]), int(size[1]) << 20) == (batches.MAX_MESSAGES, batches.MAX_MESSAGE_BYTES)


def test_a_guest_may_send_as_many_items_of_output_as_the_host_takes() -> None:
    count = re.search(r"#define CM_MAX_OUTPUT_ITEMS (\d+)", HEADER)
    assert count
    assert int(count[1]) == MAX_OUTPUT_ITEMS
    timers = re.search(r"#define CM_MAX_TIMERS (\d+)", HEADER)
    assert timers is not None
    assert int(timers[1]) == MAX_TIMERS


def test_the_guest_clips_a_reason_to_yield_where_the_host_would_refuse_it() -> None:
    size = re.search(r"#define CM_MAX_REASON (\d+)", HEADER)
    assert size
    assert int(size[1]) == MAX_REASON
    ignored = re.search(r"#define CM_MAX_IGNORED (\d+)", HEADER)
    assert ignored
    assert int(ignored[1]) == MAX_IGNORED


def test_statuses_and_settlements_are_those_of_the_header() -> None:
    assert enumerators("cm_status") == {"IDLE": 0, "DONE": 1, "FAILED": 2, "INTERRUPTED": 3}
    assert enumerators("cm_settle") == {"FULFILL": 0, "REJECT": 1}


def test_the_block_has_the_size_and_split_that_python_reads() -> None:
    by_guest, by_host = block_fields()
    block, settings = guests._BLOCK, guests._SETTINGS  # pyright: ignore[reportPrivateUsage] - its layout
    assert len(by_guest) == block.size // 4
    assert len(by_host) == settings.size // 4
    assert by_guest[:9] == [
        "stop", "out_ptr", "out_len", "result_ptr", "result_len",
        "pending_calls", "pending_timers", "pending_yields", "returned",
    ]  # fmt: skip
    assert by_guest[10:] == ["scratch_ptr", "scratch_len", "patch_len", "extents_ptr", "extents_len"]
    assert by_host == [
        "interrupt", "memory_limit", "output_limit", "output_used", "output_items", "call_limit",
        "message_limit",
    ]  # fmt: skip


def test_the_page_of_a_capture_is_the_page_of_a_delta() -> None:
    found = re.search(r"#define CM_PAGE (\d+)", HEADER)
    assert found
    assert int(found[1]) == PAGE


@pytest.mark.guarantee("boundary-is-narrow")
def test_the_module_imports_four_functions_and_nothing_else() -> None:
    module = wasmtime.Module(wasmtime.Engine(), load_image().wasm)
    found: dict[str, str] = {}
    for wanted in module.imports:
        assert wanted.module == "codemode"
        kind = wanted.type
        assert isinstance(kind, wasmtime.FuncType)
        params = ", ".join(str(value) for value in kind.params)
        found[str(wanted.name)] = f"({params}) -> " + ", ".join(str(value) for value in kind.results)
    assert found == IMPORTS


def test_the_module_exports_its_memory_and_the_documented_functions() -> None:
    module = wasmtime.Module(wasmtime.Engine(), load_image().wasm)
    names = {export.name for export in module.exports}
    assert names == EXPORTS | {"memory", "_initialize"}  # the last is the reactor model's own


def test_every_export_is_declared_once_in_the_shim() -> None:
    sources = "".join(path.read_text("utf-8") for path in SHIM.glob("*.c"))
    declared = re.findall(r"CM_EXPORT\((\w+)\)", sources)
    assert sorted(declared) == sorted(EXPORTS)


def test_the_address_in_the_manifest_is_that_of_the_block() -> None:
    guest = new_guest()
    try:
        address = guest._instance.call(b"cm_block")  # pyright: ignore[reportPrivateUsage] - the address is the subject
    finally:
        guest.close()
    assert address == load().block


@pytest.mark.parametrize("pending", [1, 3])
def test_the_counts_of_an_idle_guest_are_read_from_their_own_fields(pending: int) -> None:
    guest = Guest(load_machine(), load_image(), Limits())
    try:
        outcome = guest.start(
            f"for (let i = 0; i < {pending}; i++) tools.call('x');"
            f"for (let i = 0; i < {pending + 1}; i++) setTimeout(() => 1);"
            f"for (let i = 0; i < {pending + 2}; i++) yield_control(); await new Promise(() => 1);"
        )
    finally:
        guest.close()
    assert isinstance(outcome, Idle)
    assert (outcome.pending_calls, outcome.pending_timers, outcome.pending_yields) == (
        pending, pending + 1, pending + 2,
    )  # fmt: skip
    assert not outcome.returned
