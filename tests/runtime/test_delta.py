"""Deltas: any bytes load or are refused, sizes follow what a program holds, and a lie never costs the process."""

# ruff: noqa: E501 - programs are data and read best unwrapped

import asyncio
import contextlib
import json
import os
import random
import signal
from typing import cast

import pytest
import zstandard
from codemode_runtime import delta as deltas
from codemode_runtime.delta import PAGE, DeltaRefused, Extent
from codemode_runtime.guest import Guest
from codemode_runtime.shapes import Limits, Settlement
from codemode_runtime.wasm import GuestTrap, OutOfBounds
from codemode_runtime.wire import Done, Idle
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.guests import Watched, echo, load_image, new_guest, run
from tests.harness.processes import python
from tests.harness.workers import start, supervisor

BUILD = "00112233445566778899aabbccddeeff"
MUTATIONS = 400

PROGRAM = """class K { #p = 1; get p() { return this.#p } } const m = new Map([[1, { a: "x".repeat(50) }]]), k = new K();
  async function* g() { yield await tools.call("t"); yield 2 } const list = []; for await (const x of g()) list.push(x);
  return [list, [...m], k.p, "é".repeat(3), /a/g.exec("ba").index, new Uint8Array([1, 2]), structuredClone({ a: 1n })]"""


def captured(program: str, limits: Limits | None = None) -> bytes:
    with Watched(new_guest(limits)) as watched:
        assert isinstance(watched.guest.start(program), Idle)
        return watched.guest.capture()


def resume(delta: bytes, settlement: Settlement, limits: Limits | None = None) -> object:
    bounds = limits or Limits()
    with Watched(new_guest(bounds)) as watched:
        watched.guest.restore(delta, bounds)
        outcome = watched.guest.deliver([settlement])
    assert isinstance(outcome, Done)
    return json.loads(outcome.result)["value"]


def read_all(data: bytes, build_id: str = BUILD) -> tuple[int, bytes, list[tuple[int, bytes]]]:
    """Raises DeltaRefused, and nothing else, for bytes that are no delta."""
    found = deltas.open_delta(data, build_id, max_memory=64 << 20)
    extents: list[tuple[int, bytes]] = []
    for page, pages in found.extents:
        data_of = bytearray(pages * PAGE)
        found.read_extent(memoryview(data_of))
        extents.append((page, bytes(data_of)))
    return found.memory_bytes, found.patch, extents


def sample(pages: int = 2) -> bytes:
    """With more pages it is too large to be unpacked at once."""
    noise = random.Random(pages).randbytes(pages * PAGE)  # always the same: its size is drawn from
    extents = [Extent(3, b"a" * PAGE), Extent(4, noise), Extent(90, b"\0" * PAGE)]
    return deltas.encode(16 << 20, b"patch" * 100, extents, BUILD)


SMALL_AND_LARGE = pytest.mark.parametrize("pages", [2, 30])


@st.composite
def laid_out(draw: st.DrawFn) -> list[Extent]:
    extents: list[Extent] = []
    page = 0
    for gap, pages, fill in draw(
        st.lists(
            st.tuples(st.integers(0, 9), st.integers(1, 4), st.binary(min_size=1, max_size=9)), max_size=6
        )
    ):
        page += gap
        extents.append(Extent(page, (fill * (pages * PAGE))[: pages * PAGE]))
        page += pages
    return extents


@settings(max_examples=80, database=None)
@given(st.binary(max_size=2000), laid_out())
def test_what_was_encoded_is_read_back(patch: bytes, extents: list[Extent]) -> None:
    data = deltas.encode(4 << 20, patch, extents, BUILD)
    assert read_all(data) == (4 << 20, patch, [(e.page, bytes(e.data)) for e in extents])


def loads_or_is_refused(data: bytes) -> None:
    with contextlib.suppress(DeltaRefused):
        read_all(data)


@settings(max_examples=300, database=None)
@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(DeltaRefused):
        read_all(data)


@SMALL_AND_LARGE
@settings(max_examples=300, database=None)
@given(tail=st.binary(max_size=80))
def test_any_bytes_behind_a_good_header_load_or_are_refused(pages: int, tail: bytes) -> None:
    loads_or_is_refused(sample(pages)[:40] + tail)


@SMALL_AND_LARGE
def test_every_truncation_is_refused(pages: int) -> None:
    data = sample(pages)
    for size in range(0, len(data), 3 * pages + 1):
        with pytest.raises(DeltaRefused):
            read_all(data[:size])


@pytest.mark.guarantee("deltas-load-or-refuse")
@SMALL_AND_LARGE
@settings(max_examples=400, database=None)
@given(source=st.data())
def test_flipped_bits_load_or_are_refused(pages: int, source: st.DataObject) -> None:
    data = bytearray(sample(pages))
    for _ in range(source.draw(st.integers(1, 4))):
        at = source.draw(st.integers(0, len(data) * 8 - 1))
        data[at // 8] ^= 1 << at % 8
    loads_or_is_refused(bytes(data))


def test_a_delta_of_another_build_is_refused() -> None:
    with pytest.raises(DeltaRefused, match="another build"):
        read_all(sample(), BUILD[::-1])


def test_a_delta_larger_than_a_guest_may_be_is_refused_before_it_is_unpacked() -> None:
    bomb = deltas.encode(1 << 30, b"", [Extent(0, b"\0" * (32 << 20))], BUILD)
    with pytest.raises(DeltaRefused):
        read_all(bomb)


@pytest.mark.parametrize("announced", [64 << 20, 499, 501, None])
def test_a_small_delta_is_only_unpacked_if_it_says_how_large_it_is(announced: int | None) -> None:
    """What it says is allocated first."""
    whole = deltas.encode(16 << 20, b"patch" * 100, [], BUILD)
    head, payload = whole[:40], b"patch" * 100
    packer = zstandard.ZstdCompressor(write_content_size=announced is not None)
    frame = packer.compress(bytes(announced) if announced else payload)
    with pytest.raises(DeltaRefused, match="damaged"):
        read_all(head + frame)
    assert read_all(head + zstandard.ZstdCompressor().compress(payload))[1] == payload


def test_a_guest_refuses_a_delta_of_another_image() -> None:
    delta = bytearray(captured("await tools.call('t')"))
    delta[8] ^= 1
    with Watched(new_guest()) as watched, pytest.raises(DeltaRefused):
        watched.guest.restore(bytes(delta), Limits())


def test_a_tiny_program_has_a_delta_of_four_kilobytes_at_most() -> None:
    assert len(captured("const r = await tools.call('t', { a: 1 }); return r")) <= 4096
    assert len(captured("let n = 1; await new Promise((r) => setTimeout(r, 5)); return n")) <= 4096


@pytest.mark.guarantee("freed-memory-does-not-count")
@pytest.mark.parametrize(
    "make",
    ["let a = []; for (let i = 0; i < 25; i++) a.push('x'.repeat(1 << 20) + i); a = null;",
     "let a = []; for (let i = 0; i < 150000; i++) a.push({ i, s: 'v' + i, o: { i } }); a = null;",
     "let a = []; for (let i = 0; i < 25; i++) a.push(new Uint8Array(1 << 20).fill(7)); a = null;",
     "let a = {}; for (let i = 0; i < 100000; i++) { a = { a, back: {} }; a.back.a = a; } a = null;"],
)  # fmt: skip
def test_memory_that_was_used_and_freed_does_not_count(make: str) -> None:
    delta = captured(f"{make} await tools.call('t'); return 'on'")
    assert len(delta) <= 16 << 10
    assert resume(delta, Settlement(1)) == "on"


def test_a_delta_follows_what_the_program_holds() -> None:
    delta = captured(
        "const b = crypto.getRandomValues(new Uint8Array(65536)); await tools.call('t'); return b.length"
    )
    assert 65_536 <= len(delta) <= 65_536 + (16 << 10)


def test_a_fragmented_heap_of_more_pieces_than_the_plan_has_room_for_is_restored() -> None:
    program = """let a = []; for (let i = 0; i < 12000; i++) a.push((String(i).padStart(5, "0") + "x").repeat(900));
      a = a.filter((_, i) => i % 2); await tools.call("t");
      return [a.length, a.every((s, i) => s.length === 5400 && Number(s.slice(6, 11)) === 2 * i + 1)]"""
    limits = Limits(memory_bytes=256 << 20)
    delta = captured(program, limits)
    assert resume(delta, Settlement(1), limits) == [6000, True]


def test_capturing_twice_gives_states_that_behave_the_same() -> None:
    with Watched(new_guest()) as watched:
        watched.guest.start(PROGRAM)
        first, second = watched.guest.capture(), watched.guest.capture()
        outcome = watched.guest.deliver([Settlement(1, b"7")])
    assert isinstance(outcome, Done)
    straight = json.loads(outcome.result)["value"]
    assert resume(first, Settlement(1, b"7")) == resume(second, Settlement(1, b"7")) == straight


def test_one_delta_goes_on_differently_with_different_results() -> None:
    delta = captured("return await tools.call('t')")
    assert [resume(delta, Settlement(1, b"1")), resume(delta, Settlement(1, b'"two"'))] == [1, "two"]


def test_a_restored_guest_can_be_captured_before_it_has_run() -> None:
    delta = captured(PROGRAM)
    with Watched(new_guest()) as watched:
        watched.guest.restore(delta, Limits())
        again = watched.guest.capture()
    assert resume(again, Settlement(1, b"7")) == resume(delta, Settlement(1, b"7"))


def test_deltas_do_not_grow_over_many_suspensions() -> None:
    program = "let n = 0; for (let i = 0; i < 150; i++) n += (await tools.call('t', { i, s: 'x'.repeat(500) })).i; return n"
    ran = run(program, {"t": echo}, "every_await")
    assert ran.value == sum(range(150))
    assert ran.largest_delta <= 8192


def mutate(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 2, 8, 64))):
        if not data:
            return
        at = chance.randrange(len(data))
        match chance.randrange(4):
            case 0:
                data[at] ^= 1 << chance.randrange(8)
            case 1:
                data[at : at + 4] = chance.randbytes(len(data[at : at + 4]))
            case 2:
                data[at : at + 4] = bytes(len(data[at : at + 4]))
            case _:
                data[at : at + 4] = b"\xff" * len(data[at : at + 4])


def restore_mutated(delta: bytes, chance: random.Random) -> str:
    """Changes bytes inside a good delta, restores it and goes on as far as it will; the outcome's name."""
    image = load_image()
    found = deltas.open_delta(delta, image.build_id)
    patch, extents = bytearray(found.patch), list[tuple[int, bytearray]]()
    for page, pages in found.extents:
        extents.append((page, bytearray(pages * PAGE)))
        found.read_extent(memoryview(extents[-1][1]))
    mutate(chance.choice([patch, *(data for _, data in extents)]), chance)
    lie = deltas.encode(
        found.memory_bytes,
        bytes(patch),
        [Extent(page, bytes(data)) for page, data in extents],
        image.build_id,
    )
    with Watched(new_guest(), seconds=0.3) as watched:
        try:
            watched.guest.restore(lie, Limits())
            return go_on(watched.guest)
        except (DeltaRefused, MemoryError, OutOfBounds, GuestTrap) as refused:
            return type(refused).__name__


def go_on(guest: Guest) -> str:
    outcome = guest.deliver([Settlement(1, b'{"a":[1,2]}')])
    if isinstance(outcome, Idle):
        guest.capture()
        outcome = guest.deliver([Settlement(2, b"2")])
    return type(outcome).__name__


def in_a_child(delta: bytes, number: int) -> str:
    """A guest that loops where it never polls is ended from outside, as a worker would be; a crash is named."""
    child = os.fork()
    if child == 0:
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        print(restore_mutated(delta, random.Random(number)), end=" ", flush=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {0: "", -signal.SIGALRM: "overdue "}.get(status, f"crashed:{status}:{number} ")


@pytest.mark.guarantee("lies-cost-no-process")
def test_restoring_a_delta_that_lies_never_crashes_the_process() -> None:
    ran = python("-m", "tests.runtime.test_delta")
    assert ran.returncode == 0, ran.stderr[-2000:]
    names = ran.stdout.split()
    assert [name for name in names if name.startswith("crashed")] == []
    assert len(names) == MUTATIONS
    assert len(set(names)) >= 3


if __name__ == "__main__":
    held = "const keep = Array.from({ length: 3000 }, (_, i) => ({ i, s: 'v' + i, m: new Map([[i, i]]) }));"
    samples = [captured(PROGRAM), captured(held + PROGRAM)]
    for number in range(MUTATIONS):
        print(in_a_child(samples[number % 2], number), end="", flush=True)


@pytest.mark.parametrize(
    ("cuts", "shrinks"), [([400], True), ([400], False), ([1, 2, 397], True), ([1, 2, 397], False)]
)
def test_large_pages_are_packed_as_far_as_that_makes_them_smaller(cuts: list[int], shrinks: bool) -> None:
    dice = random.Random(7)
    words = b'{"id": 1, "name": "row"} '
    extents: list[Extent] = []
    for at, pages in enumerate(cuts):
        size = pages * PAGE
        data = (words * (size // 20))[:size] if shrinks else dice.randbytes(size)
        extents.append(Extent(1000 * at, data))
    encoded = deltas.encode(16 << 20, b"patch", extents, BUILD)
    assert read_all(encoded) == (16 << 20, b"patch", [(e.page, bytes(e.data)) for e in extents])
    assert (len(encoded) < 100 * PAGE) is shrinks


@pytest.mark.parametrize("kind", ["digits", "rows"])
def test_megabytes_that_a_real_worker_packed_are_what_they_were(kind: str) -> None:
    """As the C of the runner packs them: read by the Python that says the same."""
    held = {
        "digits": "let n = 1; const s = []; for (let i = 0; i < 8000; i++) { let t = ''; for (let k = 0; k < 64; k++) { n = (n * 48271) % 2147483647; t += String(n).padStart(10, '0') } s.push(t) }",
        "rows": "const s = []; for (let i = 0; i < 40000; i++) s.push({ id: i, name: 'row ' + i, tags: ['a', 'b'] });",
    }[kind]
    program = f"{held} const before = JSON.stringify(s).length; await tools.call('x'); return [before, JSON.stringify(s).length]"
    limits = Limits(memory_bytes=128 << 20)
    delta = worker_delta(program, limits)
    before, after = cast("list[int]", resume(delta, Settlement(1, b"null"), limits))
    assert before == after > 1_900_000


def worker_delta(program: str, limits: Limits) -> bytes:
    async def capture() -> bytes:
        async with supervisor(memory_bytes=limits.memory_bytes) as found:
            with await found.lease() as worker:
                assert isinstance(await start(worker, program, limits=limits), Idle)
                _, delta = await worker.capture(64 << 20)
                return bytes(delta)

    return asyncio.run(capture())
