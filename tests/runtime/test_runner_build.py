"""The native runner as it is built: what it declares by hand, what it is made of, and how it is started."""

from __future__ import annotations

import ctypes
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import make_runner
import pytest
from codemode_runtime import native, orders
from codemode_runtime.image import ImageUnavailable
from wasmtime import _bindings  # pyright: ignore[reportPrivateUsage] - what the header must agree with

from tests.harness.processes import PROJECT
from tests.harness.runner import runner_functions

RUNNER = PROJECT / "runtime" / "runner"
HEADER = (RUNNER / "wasmtime_api.h").read_text()
raw: Any = _bindings


def test_layouts_are_those_of_the_bindings_of_wasmtime() -> None:
    structs = (raw.wasmtime_func, raw.wasmtime_memory, raw.wasmtime_instance, raw.wasmtime_extern)
    wanted = [*map(ctypes.sizeof, structs), raw.wasmtime_extern.of.offset]
    wanted += [ctypes.sizeof(raw.wasmtime_val_raw), ctypes.sizeof(raw.wasm_byte_vec_t)]
    with runner_functions() as runner:
        assert [int(size) for size in runner.call("layouts", b"").split()] == wanted


def test_functions_have_as_many_parameters_as_those_of_the_bindings() -> None:
    text = re.sub(r"\\\n\s*", " ", HEADER[HEADER.index("#define WASMTIME_FUNCTIONS") :])
    found = re.findall(r"X\([\w *]+?,\s*(\w+),\s*\((.*?)\)\)(?= |$)", text)
    assert len(found) == text.count(" X(")
    for name, parameters in found:
        counted = 0 if parameters == "void" else len(re.sub(r"\(\*\)\(.*?\)", "", parameters).split(","))
        assert counted == len(getattr(raw, f"_{name}").argtypes), name


def test_the_manifest_names_the_runner_by_its_hash_and_every_file_in_it() -> None:
    manifest = json.loads((make_runner.FOLDER / "runner.json").read_bytes())
    runner = (make_runner.FOLDER / make_runner.NAME).read_bytes()
    assert manifest["sha256"] == hashlib.sha256(runner).hexdigest()
    named = {name for name in manifest["inputs"]["files"] if name.startswith("runner/")}
    assert named == {path.relative_to(PROJECT / "runtime").as_posix() for path in RUNNER.glob("*.[ch]")}
    assert manifest["inputs"]["source"]["sha256"] == make_runner.ZSTD.sha256


def test_orders_read_back_as_they_were_written() -> None:
    answers = (
        orders.OfferedAnswer(1, "é", orders.Raw(b'"id"')),
        orders.OfferedAnswer(0, "", orders.Raw(b"[]")),
    )
    offer = orders.Offer(True, False, answers, True)
    limits = orders.Limits(1 << 20, 2, 3, 4)
    for order in (
        orders.Attend(),
        orders.StartLeg("return 'é'", "typescript", limits, 5, offer, 6, checked=True),
        orders.StartLeg("", "javascript", limits, 0, orders.Offer()),
        orders.ResumeLeg(limits, 7, offer, 8, 9),
        orders.Deliver(),
        orders.Capture(1 << 20),
        orders.Reset(),
        orders.LookupAnswer(True),
        orders.CheckText("let x: 1", "typescript", 10),
        orders.CheckText("let x", "javascript", 11),
    ):
        assert orders.decode(orders.encode(order)) == order


def test_halves_of_surrogate_pairs_become_what_javascript_makes_of_them() -> None:
    order = orders.StartLeg("'\ud83d\ude00 \ud83d'", "javascript", orders.Limits(), 1, orders.Offer())
    read = orders.decode(orders.encode(order))
    assert isinstance(read, orders.StartLeg)
    assert read.program == "'😀 \ufffd'"


def test_without_a_runner_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    with pytest.raises(ImageUnavailable, match="run `make` in a clone, or install this platform's wheel"):
        native.command(3, 1)
