"""What a model sees of a result: no telemetry, and bounded for any program. Pure.

It takes a result as plain data (`to_dict()`), because the tools of a prepared run return that. Its compact
JSON in UTF-8 has at most maxOutputBytes + 8 KiB.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from codemode.contract.clipping import clip_end, clip_middle, json_bytes
from codemode.contract.telemetry import DEFAULT_MAX_OUTPUT_BYTES

ROOM_BYTES = 8 * 1024  # for everything but output and value
MAX_NOTES = 10
MAX_NOTE_BYTES = 200
_MAX_ERROR = 4_000
_MAX_PENDING = 3_000  # for all pending calls together
_MAX_WORD = 120  # the id of a tool
_MAX_SUMMARY = 300
_MAX_MARK = 120  # the item that says how many were left out
_MIN_ITEM = 256

_encode = msgspec.json.encode


def for_model(result: Mapping[str, Any]) -> dict[str, Any]:
    """The model's form of a result: status, value or error and code, runId, reason and pending calls, output,
    and notes where there are any."""
    cap: int = result["telemetry"].get("maxOutputBytes", DEFAULT_MAX_OUTPUT_BYTES)
    shown, notes = _shown(result, cap)
    notes += result.get("notes", ())
    output = _without_data(result["output"])
    whole = _joined(shown, output, notes)
    if _size(whole) <= cap + ROOM_BYTES:
        return whole
    notes.insert(0, f"The output was clipped: it had {len(output):,} items and {_size(output):,} bytes.")
    rest = _size(_joined(shown, [], notes))
    return _joined(shown, _fitting(output, cap + ROOM_BYTES - rest), notes)


def content_of(output: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The images and files of an output, with their data in base64 and the `ref` that `for_model` shows in
    its place: for the provider's own blocks."""
    items = [item for item in output if "data" in item]
    return [{**item, "ref": _ref(number)} for number, item in enumerate(items, 1)]


def _ref(number: int) -> str:
    return f"content-{number}"


def _without_data(output: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    shown, number = list[dict[str, Any]](), 0
    for item in output:
        found = dict(item)
        if "data" in found:
            number += 1
            found["ref"] = _ref(number)
            del found["data"]
        shown.append(found)
    return shown


def bounded_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """The first ten notes, each cut to 200 bytes."""
    return tuple(clip_end(note, MAX_NOTE_BYTES) for note in notes[:MAX_NOTES])


def _shown(result: Mapping[str, Any], cap: int) -> tuple[dict[str, Any], list[str]]:
    """The result without output and notes, and the notes about what was clipped here."""
    status = result["status"]
    match status:
        case "completed":
            value = result["value"]
            size = _size(value)
            if size <= cap:
                return {"status": status, "value": value}, []
            note = f"The value was clipped: its JSON has {size:,} bytes."
            return {"status": status, "value": clip_middle(_encode(value).decode(), cap)}, [note]
        case "waiting":
            calls, others = _pending(result["pendingToolCalls"])
            shown = {"status": status, "runId": result["runId"], "reason": result["reason"]}
            more = {"morePendingToolCalls": others} if others else {}
            return {**shown, "pendingToolCalls": calls, **more}, []
        case _:
            error = clip_middle(result["error"], _MAX_ERROR)
            return {"status": status, "error": error, "code": result["code"]}, []


def _joined(shown: dict[str, Any], output: Sequence[Any], notes: Sequence[str]) -> dict[str, Any]:
    told = {"notes": list(bounded_notes(notes))} if notes else {}
    return {**shown, "output": list(output), **told}


def _pending(calls: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The pending calls that fit, those that wait for an approval first, and the number of the others."""
    room, shown = _MAX_PENDING, list[dict[str, Any]]()
    for call in sorted(calls, key=lambda call: "approval" not in call):
        short = {**call, **({"tool": clip_end(call["tool"], _MAX_WORD)} if "tool" in call else {})}
        if "approval" in call:
            approval = cast("Mapping[str, str]", call["approval"])
            short["approval"] = {**approval, "summary": clip_middle(approval["summary"], _MAX_SUMMARY)}
        room -= _size(short) + 1
        if room < 0:
            break
        shown.append(short)
    return shown, len(calls) - len(shown)


def _fitting(output: Sequence[Mapping[str, Any]], room: int) -> list[Mapping[str, Any]]:
    """Cuts long items in the middle; leaves out items in the middle where there are too many."""
    items = [_clip_item(item, max(room // 4, _MIN_ITEM)) for item in output]
    sizes = [_size(item) + 1 for item in items]
    if sum(sizes) <= room:
        return items
    half = (room - _MAX_MARK) // 2
    start, end = _count(sizes, half), len(items) - _count(reversed(sizes), half)
    mark = {"type": "text", "text": f"… {end - start:,} items of output left out …"}
    return [*items[:start], mark, *items[end:]]


def _count(sizes: Iterable[int], room: int) -> int:
    count = 0
    for size in sizes:
        room -= size
        if room < 0:
            break
        count += 1
    return count


def _clip_item(item: Mapping[str, Any], limit: int) -> Mapping[str, Any]:
    """Cuts an item. JSON that is cut is not JSON any more, so it becomes text."""
    if item["type"] == "text":
        inside = limit - (_size(item) - json_bytes(item["text"]))
        return {**item, "text": clip_middle(item["text"], inside)}
    if _size(item) <= limit or item["type"] != "json":
        return item
    written = _encode(item["value"]).decode()
    return {"type": "text", "text": clip_middle(written, limit - _size({"type": "text", "text": ""}))}


def _size(data: object) -> int:
    return len(_encode(data))
