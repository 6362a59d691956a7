"""Images, audio and files: handles in programs, bytes in results, and nothing that a program can forge."""

from __future__ import annotations

import asyncio
import base64
import json
import random
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from codemode import Content, Engine, File, Image, tool
from codemode.contract.results import FileOutput, ImageOutput
from tests.harness.engine import echo, engine, failure_of, pay, texts, value_of, waiting

PNG = b"\x89PNG" + bytes(range(100))
DATA = base64.b64encode(PNG).decode()


@tool
async def shot() -> dict[str, Any]:
    """A picture, deep in its result."""
    return {"title": "a", "pictures": [Image(PNG), File(b"hello", "text/plain", "a.txt")]}


def make_big() -> Any:
    @tool
    async def large(size: int, fill: int = 0) -> Image:
        """So many bytes."""
        return Image(bytes([fill]) * size)

    return large


async def test_a_program_gets_handles_and_shows_what_they_stand_for() -> None:
    code = """
    const { pictures: [picture, note] } = await tools.shot({});
    image(picture);
    file(note);
    return Object.keys(picture).concat(Object.keys(note), JSON.stringify([picture, note]).length < 300)"""
    async with engine([shot]) as host:
        result = await host.exec(code)
    assert value_of(result) == [
        *("type", "mimeType", "bytes", "id"),
        *("type", "mimeType", "bytes", "name", "id"),
        True,
    ]
    picture, note = result.output
    assert picture == ImageOutput("image/png", 104, data=PNG)
    assert note == FileOutput("text/plain", 5, "a.txt", b"hello")
    assert result.to_dict()["output"] == [
        {"type": "image", "mimeType": "image/png", "bytes": 104, "data": DATA},
        {"type": "file", "mimeType": "text/plain", "bytes": 5, "name": "a.txt", "data": "aGVsbG8="},
    ]
    assert result.for_model()["output"] == [
        {"type": "image", "mimeType": "image/png", "bytes": 104, "ref": "content-1"},
        {"type": "file", "mimeType": "text/plain", "bytes": 5, "name": "a.txt", "ref": "content-2"},
    ]


@pytest.mark.guarantee("content-belongs-to-its-run")
async def test_handles_that_are_forged_or_of_another_run_show_nothing() -> None:
    async with engine([shot]) as host:
        kept = value_of(await host.exec("return (await tools.shot({})).pictures[0]", session="s1"))
        forged = {**kept, "id": "cnt_" + "0" * 32}
        code = f"image({json.dumps(kept)}); file({json.dumps(forged)})"
        result = await host.exec(code, session="s1")
    assert texts(result) == [
        "image(): no content of this run has this handle.",
        "file(): no content of this run has this handle.",
    ]


@pytest.mark.parametrize(
    "given", ["", "null", "'cnt_x'", "{}", "{ id: 'cnt_' + 'A'.repeat(32) }", "{ id: 7 }"]
)
async def test_what_is_no_handle_is_a_type_error_that_says_what_is(given: str) -> None:
    async with engine([shot]) as host:
        ended = failure_of(await host.exec(f"image({given})"), "guest_error")
    assert ended.error.startswith(
        "TypeError: image() takes a handle from a tool's result, such as "
        '{ type: "image", mimeType, bytes, id }; text(v) and json(v) show everything else'
    )


@pytest.mark.guarantee("content-belongs-to-its-run")
async def test_content_of_one_session_is_out_of_reach_for_another_that_has_its_handle() -> None:
    @tool
    async def measure(picture: Content) -> int:
        """Measures."""
        return len(picture.data)

    code = """
    const { pictures: [one] } = await tools.shot({});
    json(one);
    await yield_control();
    image(one)"""
    async with engine([shot, measure]) as host:
        mine = waiting(await host.exec(code, session="s1"))
        handle = json.dumps(texts(mine)[0])
        stolen = (
            f"image({handle}); return tools.measure({{ picture: {handle} }}).catch((error) => error.message)"
        )
        other = await host.exec(stolen, session="s2")
        ended = await host.wait(mine.run_id, session="s1")
    assert texts(other) == ["image(): no content of this run has this handle."]
    assert value_of(other) == "no content of this run has this handle: pass on one that a tool returned"
    assert ended.output == (ImageOutput("image/png", 104, data=PNG),)


async def test_a_file_that_is_shown_as_an_image_is_a_file() -> None:
    async with engine([shot]) as host:
        result = await host.exec(
            "const { pictures } = await tools.shot({}); image(pictures[1]); file(pictures[0])"
        )
    assert [type(item) for item in result.output] == [FileOutput, FileOutput]


async def test_tools_take_the_content_of_handles_and_other_tools_the_handle_itself() -> None:
    @tool
    async def measure(picture: Image, note: Content | None = None) -> list[Any]:
        """Measures."""
        return [type(picture).__name__, len(picture.data), note and note.name]

    code = """
    const { pictures: [picture, note] } = await tools.shot({});
    const told = (error) => error.message;
    const { id, ...rest } = await tools.echo({ value: picture });
    return [await tools.measure({ picture, note }), id === picture.id, rest,
      await tools.measure({ picture: note }).catch(told),
      await tools.measure({ picture: { id: 'cnt_0' } }).catch(told)]"""
    async with engine([shot, measure, echo]) as host:
        found = value_of(await host.exec(code))
    assert found == [
        ["Image", 104, "a.txt"],
        True,
        {"type": "image", "mimeType": "image/png", "bytes": 104},
        'an Image has a MIME type such as "image/png", not "text/plain"',
        "no content of this run has this handle: pass on one that a tool returned",
    ]


@pytest.mark.guarantee("content-is-capped")
async def test_content_over_the_cap_fails_the_call_that_brought_it_and_equal_content_counts_once() -> None:
    code = """
    const sizes = [];
    for (const [size, fill] of [[600, 1], [600, 1], [400, 2], [1, 3]])
      sizes.push(await tools.large({ size, fill }).then((one) => one.bytes, (error) => error.message));
    return sizes"""
    async with engine([make_big()], {"maxContentBytes": 1000}) as host:
        found = value_of(await host.exec(code))
    assert found == [
        *(600, 600, 400),
        "large has run, but its images and files could not be kept: the run would hold 1,001 bytes of "
        "content, and may hold 1,000",
    ]


async def test_an_output_shows_no_more_content_than_the_cap_however_often_a_handle_is_shown() -> None:
    code = "const one = await tools.large({ size: 600 }); image(one); image(one); text('after')"
    async with engine([make_big()], {"maxContentBytes": 1000}) as host:
        result = await host.exec(code)
    assert [item.type for item in result.output] == ["image", "text", "text"]
    assert [item.text for item in result.output if item.type == "text"] == [
        "image(): 600 bytes of image/png were left out. The output of a run may show 1,000 bytes of content, "
        "and has shown 600.",
        "after",
    ]


async def test_ten_thousand_handles_are_bounded_by_their_number() -> None:
    code = """
    let kept = 0;
    for (let n = 0; n < 10; n += 1) {
      const made = await tools.many({ count: 200, from: n * 200 }).catch((error) => error.message);
      if (typeof made === "string") return [kept, made];
      kept += made.length;
    }"""

    @tool
    async def many(count: int, from_: int = 0, **others: Any) -> list[Image]:
        """So many."""
        start = others.get("from", from_)
        return [Image(str(start + n).encode()) for n in range(count)]

    async with engine([many]) as host:
        found = value_of(await host.exec(code))
    assert found == [
        1000,
        "many has run, but its images and files could not be kept: a run may hold 1,000 images and files",
    ]


async def test_content_counts_among_what_the_host_keeps_for_a_run() -> None:
    settings = {"maxPendingBytes": 1 << 20}
    code = "return await tools.large({ size: 2000000 }).catch((error) => error.message)"
    async with engine([make_big()], settings=settings) as host:
        found = value_of(await host.exec(code))
    assert found.startswith("large has run, but its images and files could not be kept: ")


@pytest.mark.guarantee("content-is-sealed-with-its-run")
async def test_content_is_sealed_with_a_suspended_run_and_the_next_engine_shows_it(tmp_path: Path) -> None:
    store = tmp_path / "runs.sqlite"
    code = "const { pictures } = await tools.shot({}); await tools.pay({ amount: 1 }); image(pictures[0])"
    async with engine([shot, pay], store=str(store)) as host:
        left = waiting(await host.exec(code, session="s1"), "approval")
        assert left.pending_tool_calls[0].approval is not None
    async with engine([shot, pay], store=str(store)) as host:
        await host.approve(left.run_id, left.pending_tool_calls[0].approval.id, session="s1")
        ended = await host.wait(left.run_id, session="s1")
    assert ended.output == (ImageOutput("image/png", 104, data=PNG),)


@pytest.mark.guarantee("content-is-sealed-with-its-run")
@pytest.mark.parametrize("first_is_closed", [True, False])
async def test_content_of_a_call_that_ended_while_its_run_was_suspended_is_shown_by_another_engine(
    tmp_path: Path, first_is_closed: bool
) -> None:
    may_end, store = asyncio.Event(), str(tmp_path / "runs.sqlite")

    @tool
    async def slow_shot() -> list[Content]:
        """Two pictures and a note, later."""
        await may_end.wait()
        return [Image(PNG), Image(PNG), File(b"hello", "text/plain", "a.txt")]

    code = "const all = await tools.slow_shot({}); all.forEach((one) => file(one)); return all.length"
    async with AsyncExitStack() as both:
        first = await both.enter_async_context(engine([slow_shot], {"timeoutMs": 100}, store=store))
        left = waiting(await first.exec(code, session="s1"), "pending_tools")
        may_end.set()
        while not (await first.runs())[0]["settled"]:
            pass  # asking the store lets everything else go on
        if first_is_closed:
            await first.close()
        second = await both.enter_async_context(engine([slow_shot], store=store))
        ended = await second.wait(left.run_id, session="s1")
    assert value_of(ended) == 3
    note = FileOutput("text/plain", 5, "a.txt", b"hello")
    assert ended.output == (*[FileOutput("image/png", 104, data=PNG)] * 2, note)


@pytest.mark.parametrize("size", [200_000, 2_000_000])
async def test_many_handles_of_one_picture_are_stored_with_one_copy_of_it(tmp_path: Path, size: int) -> None:
    picture = random.Random(1).randbytes(size)  # so that it does not get smaller when it is packed

    @tool
    async def look() -> Image:
        """The same picture each time."""
        return Image(picture)

    code = """
    const seen = [];
    for (let n = 0; n < 100; n += 1) seen.push(await tools.look({}));
    await tools.pay({ amount: 1 });
    const ids = new Set(seen.map((one) => one.id));
    image(seen[0]); image(seen[99]);
    return ids.size"""
    store, config = str(tmp_path / "runs.sqlite"), {"maxContentBytes": 5_000_000}
    async with engine([look, pay], config, store=store) as host:
        left = waiting(await host.exec(code, session="s1"), "approval")
        assert size < (await host.runs())[0]["bytes"] < size + 50_000
        assert left.pending_tool_calls[0].approval is not None
    async with engine([look, pay], config, store=store) as host:
        await host.approve(left.run_id, left.pending_tool_calls[0].approval.id, session="s1")
        ended = await host.wait(left.run_id, session="s1")
    assert value_of(ended) == 100
    assert ended.output == (ImageOutput("image/png", size, data=picture),) * 2


async def test_content_that_is_too_large_by_itself_is_refused_without_reading_it() -> None:
    class Unread(Image):
        @property
        def digest(self) -> bytes:
            raise AssertionError("it was hashed")

    @tool
    async def huge() -> Image:
        """More than a run may hold."""
        return Unread(bytes(3_000_000))

    async with engine([huge], {"maxContentBytes": 1000}) as host:
        found = value_of(await host.exec("return await tools.huge({}).catch((error) => error.message)"))
    assert found == (
        "huge has run, but its images and files could not be kept: the run would hold 3,000,000 bytes of "
        "content, and may hold 1,000"
    )


@pytest.mark.guarantee("content-is-told-by-size")
async def test_events_and_trajectories_have_its_size_and_not_its_bytes() -> None:
    async with Engine([shot], {"enabled": True}, redact=False) as host:
        listening = host.events()
        result = await host.exec("image((await tools.shot({})).pictures[0])", session="s1")
        trajectory = await host.session_trajectory("s1")
        await host.close()
        (item,) = [event.item async for event in listening if event.type == "output"]
    assert isinstance(result.output[0], ImageOutput)
    assert isinstance(item, ImageOutput)
    assert (item.mime_type, item.bytes, item.data) == ("image/png", 104, None)
    assert item.ref is not None
    assert item.ref.startswith("cnt_")
    told = json.dumps(trajectory.to_dict() if trajectory else None)
    assert DATA not in told
    assert '"mimeType": "image/png", "bytes": 104' in told


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Image(b"", "text/plain"), 'not "text/plain"'),
        (lambda: File(b"", "nothing"), "is not a MIME type"),
        (lambda: File(b"", "text/pl ain"), "is not a MIME type"),
        (lambda: Content.from_base64("%%", "image/png"), "is not base64"),
    ],
)
def test_content_that_cannot_be_is_refused(make: Callable[[], Content], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make()


def test_content_is_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    found = Image.from_path(tmp_path / "a.png")
    assert (found.type, found.mime_type, found.name, found.data) == ("image", "image/png", "a.png", PNG)
    assert repr(found) == "<Image image/png 104 bytes>"
