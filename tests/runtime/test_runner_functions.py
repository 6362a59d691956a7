"""The C of the native runner beside the Python that says the same: hashes, JSON, deltas, source."""

from __future__ import annotations

import hashlib
import json
import random
import re
import struct
from collections.abc import Generator
from typing import Any, cast

import pytest
from codemode_runtime import batches, delta
from codemode_runtime.batches import INLINE_BYTES, MAX_MESSAGES
from codemode_runtime.compile import SourceError, prepare
from codemode_runtime.delta import PAGE, DeltaRefused, Extent, open_delta
from codemode_runtime.language import well_formed
from codemode_runtime.parts import MAX_PARTS, measure
from codemode_runtime.wire import Threw

from tests.harness.guests import new_guest
from tests.harness.runner import Functions, runner_functions
from tests.hostile.corpus import load_all

BUILD = "00112233445566778899aabbccddeeff"


@pytest.fixture(scope="module")
def runner() -> Generator[Functions]:
    with runner_functions() as found:
        yield found


@pytest.mark.parametrize("size", [0, 1, 55, 56, 63, 64, 65, 127, 128, 129, 256, 100_003])
def test_hashes_are_those_of_the_standard_library(runner: Functions, size: int) -> None:
    data = random.Random(size).randbytes(size)
    assert runner.call("sha256", data) == hashlib.sha256(data).hexdigest()
    assert runner.call("blake2b", data) == hashlib.blake2b(data, digest_size=32).hexdigest()


def some_json(dice: random.Random, depth: int = 0) -> Any:
    match dice.randrange(8 if depth < 4 else 5):
        case 0:
            return dice.randrange(-1000, 1000)
        case 1:
            return dice.choice(['a"b', "\\", '\\"', "[{,:", "é\u2028", "", "x" * dice.randrange(300)])
        case 2:
            return dice.choice([True, None, 1.5])
        case 3:
            return []
        case 4:
            return {}
        case 5 | 6:
            return [some_json(dice, depth + 1) for _ in range(dice.randrange(6))]
        case _:
            return {f"k{i}": some_json(dice, depth + 1) for i in range(dice.randrange(6))}


def parts_of(value: Any) -> int:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return 1 + sum(1 + parts_of(item) for item in members.values())
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return 1 + sum(map(parts_of, items))
    return 1


@pytest.mark.parametrize("seed", range(200))
def test_parts_are_counted_exactly(runner: Functions, seed: int) -> None:
    value = some_json(random.Random(seed))
    text = json.dumps(value, separators=(",", ":")).encode()
    assert int(runner.call("parts", text)) == parts_of(value)


def test_what_is_too_many_parts_for_the_host_is_too_many_for_the_runner(runner: Functions) -> None:
    values: list[list[Any]] = [
        [[]] * MAX_PARTS,
        [1] * (MAX_PARTS - 1),
        [{"a": 1}] * (MAX_PARTS // 3),
        [{"a": 1}] * MAX_PARTS,
    ]
    for value in values:
        text = json.dumps(value, separators=(",", ":")).encode()
        assert int(runner.call("parts", text)) == parts_of(value)
        assert (measure(text).parts > MAX_PARTS) == (parts_of(value) > MAX_PARTS)


def split(runner: Functions, messages: list[bytes]) -> list[bytes] | str:
    """The chunks as C cuts them, in the form of `batches.split`."""
    text = b",".join(messages)
    *found, end = re.split(r" (?=end|torn|too)| (?=\d+:)", runner.call("split", text))
    if end != "end":
        return end
    chunks: list[bytes] = []
    for row in found:
        at, size, is_list = map(int, row.split(":"))
        body = text[at : at + size]
        chunks.append(b"[" + body + b"]" if is_list else body)
    return chunks


@pytest.mark.parametrize("seed", range(60))
def test_messages_are_cut_as_batches_cuts_them(runner: Functions, seed: int) -> None:
    dice = random.Random(seed)
    sizes = (10, 300, 5_000, INLINE_BYTES - 40, INLINE_BYTES + 10)
    messages = [
        json.dumps({"type": "text", "text": '"{' * (dice.choice(sizes) // 4)}, separators=(",", ":")).encode()
        for _ in range(dice.randrange(1, 60))
    ]
    assert split(runner, messages) == batches.split(b"[" + b",".join(messages) + b"]")


def test_too_many_messages_and_too_many_parts_of_a_value_are_too_much(runner: Functions) -> None:
    assert split(runner, [b"{}"] * MAX_MESSAGES) != "too much"
    assert split(runner, [b"{}"] * (MAX_MESSAGES + 1)) == "too much"
    value = b'{"type":"json","value":[' + b"[]," * MAX_PARTS + b"1]}"
    assert split(runner, [value]) == "too much"
    assert split(runner, [value.replace(b"json", b"call")]) == [value.replace(b"json", b"call")]


@pytest.mark.parametrize("torn", [b"{", b'{"a', b"{},", b"{},,{}", b"x", b"[]", b'{"a":"\\', b"{}{}", b"}"])
def test_what_is_no_list_of_messages_is_torn(runner: Functions, torn: bytes) -> None:
    assert runner.call("split", torn).split()[-1] == "torn"


def test_an_alarm_of_an_earlier_deadline_stops_no_program(runner: Functions) -> None:
    assert runner.call("watch", b"") == "went on"


def sample_delta(dice: random.Random) -> bytes:
    extents: list[Extent] = []
    page = 100
    for _ in range(dice.randrange(4)):
        pages = dice.randrange(1, 30)
        extents.append(Extent(page, dice.randbytes(pages * PAGE // 2) * 2))
        page += pages + dice.randrange(3)
    return delta.encode(16 << 20, dice.randbytes(dice.randrange(5_000)), extents, BUILD)


def told_by_python(data: bytes) -> str:
    try:
        found = open_delta(data, BUILD)
        rows = [str(found.memory_bytes)]
        for page, pages in found.extents:
            into = bytearray(pages * PAGE)
            found.read_extent(memoryview(into))
            rows.append(f"{page}:{pages}:{hashlib.sha256(into).hexdigest()[:16]}")
    except DeltaRefused as refused:
        return f"refused: {refused}"
    return " ".join([*rows, hashlib.sha256(found.patch).hexdigest()[:16]])


@pytest.mark.parametrize("seed", range(40))
def test_deltas_are_read_as_python_reads_them(runner: Functions, seed: int) -> None:
    data = sample_delta(random.Random(seed))
    told = runner.call("delta", bytes.fromhex(BUILD) + data)
    assert told == told_by_python(data)
    assert "refused" not in told


@pytest.mark.parametrize("seed", range(300))
def test_damaged_deltas_are_refused_where_python_refuses_them(runner: Functions, seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(sample_delta(dice))
    for _ in range(dice.randrange(1, 4)):
        match dice.randrange(3):
            case 0:
                data[dice.randrange(min(60, len(data)))] ^= 1 << dice.randrange(8)
            case 1:
                at = dice.choice((24, 28, 32, 36))
                data[at : at + 4] = struct.pack("<I", dice.choice((0, 1, 1 << 16, 0x7FFFFFFF, 0xFFFFFFFF)))
            case _:
                del data[dice.randrange(40, len(data) + 1) :]
    told, wanted = runner.call("delta", bytes.fromhex(BUILD) + bytes(data)), told_by_python(bytes(data))
    if "refused" in told:  # which of several faults is found first may differ, and C always compares sizes
        assert "refused" in wanted or told == "refused: damaged"
    else:
        assert told == wanted


PROGRAMS = [program.text for program in load_all() if program.language == "javascript"]


def test_text_that_runs_unchecked_is_text_that_a_check_lets_pass_unchanged(runner: Functions) -> None:
    unchecked = [
        text
        for text in map(well_formed, (*PROGRAMS, *ODD_TEXTS))
        if runner.call("doubtful", text.encode()) == "0"
    ]
    assert len(unchecked) > len(PROGRAMS) // 2
    refused = [text for text in unchecked if not passes(text)]
    assert [
        text for text in refused if parses(text)
    ] == []  # what the engine cannot parse is checked afterwards


def passes(text: str) -> bool:
    try:
        return prepare(text, "javascript").code == text
    except SourceError:
        return False


def parses(text: str) -> bool:
    guest = new_guest()
    outcome = guest.start(text)
    guest.close()
    return not (isinstance(outcome, Threw) and b'"kind":"syntax"' in outcome.failure)


ODD_TEXTS = [
    "ls -la",
    "ls; pwd",
    "cd /tmp && ls",
    "git status",
    "return 1",
    "await tools.x()",
    "  \n ls -l\n pwd",
    "7z a b",
    "print('a')",
    "\ufeffprint('a')",
    "# x\nprint('a')",
    "#!/usr/bin/env node\nreturn 1",
    "```js\nreturn 1\n```",
    "~~~\nreturn 1\n~~~",
    "import x from 'y'",
    "export default 1",
    "const m = require('fs')",
    "module.exports = 1",
    "process.exit()",
    "processed.x",
    "x.processes",
    "globalThis.require('x')",
    "def f():\n  pass",
    "for x in y:\n  z",
    "",
    "42",
    "x",
    "const imports = 1; return imports",
    "return `${'``'}`",
    "importScripts('x')",
    "exports.a = 1",
]


@pytest.mark.parametrize(
    "text", ["return 1 + 1", "const a = 1;\nreturn a", "processed.map((x) => x)", "return 1"]
)
def test_plain_javascript_is_not_doubtful(runner: Functions, text: str) -> None:
    assert runner.call("doubtful", text.encode()) == "0"


DOUBTFUL = [
    "ls -la",
    "ls; pwd",
    "print('a')",
    "#!/bin/sh",
    "```js\nreturn 1\n```",
    "~~~\n1\n~~~",
    "import 'x'",
]


@pytest.mark.parametrize("text", DOUBTFUL)
def test_what_may_be_something_else_is_doubtful(runner: Functions, text: str) -> None:
    assert runner.call("doubtful", text.encode()) == "1"
