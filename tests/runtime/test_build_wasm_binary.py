"""Writing an initialised memory back into a module, checked by the engine that will load it."""

from typing import Any

import pytest
import wasm_binary
import wasmtime
from hypothesis import given
from hypothesis import strategies as st

MODULE = """
(module
  (memory (export "memory") 1)
  (global $stack (mut i32) (i32.const 11))
  (global i32 (i32.const 1419))
  (global (mut i64) (i64.const -1))
  (data (i32.const 8) "before")
  (func (export "first") (result i32) (i32.load8_u (i32.const 0)))
  (@custom "producer" "somebody"))
"""


def module(text: str = MODULE) -> bytes:
    return bytes(wasmtime.wat2wasm(text))


def memory_of(binary: bytes) -> bytes:
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module(store.engine, binary), [])
    memory: Any = instance.exports(store)["memory"]
    return bytes(memory.read(store, 0, memory.data_len(store)))


@given(st.integers(0, 1 << 32), st.binary(max_size=4))
def test_a_number_written_as_leb_is_read_back(value: int, after: bytes) -> None:
    encoded = wasm_binary.leb(value)
    assert wasm_binary.read_leb(encoded + after, 0) == (value, len(encoded))


def test_an_instance_of_the_written_module_starts_with_that_memory() -> None:
    memory = bytearray(3 * wasm_binary.PAGE)
    memory[0] = 7
    memory[5000:5003] = b"abc"
    memory[-1] = 255
    written = wasm_binary.with_memory(module(), bytes(memory))
    assert memory_of(written) == bytes(memory)


def test_empty_pages_take_no_room() -> None:
    memory = bytearray(wasm_binary.PAGE)
    small = len(wasm_binary.with_memory(module(), bytes(memory)))
    memory[20_000] = 1
    assert len(wasm_binary.with_memory(module(), bytes(memory))) - small < 2 * 4096


def test_custom_sections_are_left_out() -> None:
    written = wasm_binary.with_memory(module(), bytes(wasm_binary.PAGE))
    assert wasm_binary.Kind.CUSTOM not in [section.id for section in wasm_binary.sections(written)]


def test_a_start_function_is_refused_because_it_would_run_again() -> None:
    starts = module('(module (memory 1) (func $f) (start $f) (data (i32.const 0) "x"))')
    with pytest.raises(ValueError, match="start function"):
        wasm_binary.with_memory(starts, bytes(wasm_binary.PAGE))


def test_mutable_globals_are_counted_whatever_their_first_values_are() -> None:
    assert wasm_binary.mutable_globals(module()) == 2
    assert wasm_binary.mutable_globals(module("(module (memory 1))")) == 0
