"""Notes: short sentences that tell a model what value, output and error do not show. Pure.

The engine adds at most ten to each result of exec and wait, each of at most 200 bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from codemode.contract.clipping import clip_end, listed
from codemode.contract.for_model import MAX_NOTE_BYTES, bounded_notes
from codemode.contract.results import CodeModeResult, Completed, Failed, TextOutput
from codemode.contract.telemetry import CALL_METHODS, CallRecord, LossyValue, Telemetry

PROMISE_NOTE = "The value has a promise"  # the hint that says so begins with it
_IGNORED = "Ignored, as there is no Intl (texts are en-US, in UTC): "
_OBJECT = "[object Object]"
_AN_OBJECT = (
    f'"{_OBJECT}" is an object in a text: write `JSON.stringify(value)`, or return the object itself.'
)
_MAX_NAME = 60  # bytes of a tool's name or of a path


def with_notes(result: CodeModeResult, max_output_bytes: int) -> CodeModeResult:
    """Adds its notes to the result, and the output cap of its run.

    A second call changes nothing: a kept result is returned as it was.
    """
    notes = bounded_notes(list(dict.fromkeys([*result.notes, *_notes(result)])))
    if result.telemetry.max_output_bytes != max_output_bytes:
        telemetry = replace(result.telemetry, max_output_bytes=max_output_bytes)
        result = replace(result, telemetry=telemetry)
    return replace(result, notes=notes) if notes else result


def _notes(result: CodeModeResult) -> list[str]:
    telemetry = result.telemetry
    found = list(telemetry.hints)
    if clipped := [item.clipped for item in result.output if isinstance(item, TextOutput) and item.clipped]:
        found.append(_clipped(clipped))
    if _shows_an_object(result):
        found.append(_AN_OBJECT)
    if telemetry.clamped:
        found.append(listed("Clamped: ", telemetry.clamped, MAX_NOTE_BYTES))
    if telemetry.ignored:
        found.append(listed(_IGNORED, telemetry.ignored, MAX_NOTE_BYTES))
    if lossy := _not_said(telemetry):
        found.append(_lossy(lossy))
    if telemetry.unawaited and (left := _unawaited(telemetry)):
        found.append(left)
    if isinstance(result, Failed):
        found += [note for note in (_already_done(telemetry), _unfinished(telemetry)) if note]
    return found


def _shows_an_object(result: CodeModeResult) -> bool:
    texts = (item.text for item in result.output if isinstance(item, TextOutput))
    is_value = isinstance(result, Completed) and _OBJECT.encode() in bytes(result.raw_value)
    return is_value or any(_OBJECT in text for text in texts)


def _clipped(sizes: Sequence[int]) -> str:
    """What the guest left out; how it clips is in runtime/shim/outbox.c."""
    if len(sizes) == 1:
        return f"One item of output was too long and was clipped in the middle: it had {sizes[0]:,} bytes."
    return (
        f"{len(sizes):,} items of output were too long and were clipped in the middle: they had "
        f"{sum(sizes):,} bytes. Select fields, slice lists, summarise."
    )


def _not_said(telemetry: Telemetry) -> list[LossyValue]:
    """What a hint says of promises is not said twice."""
    is_said = any(hint.startswith(PROMISE_NOTE) for hint in telemetry.hints)
    return [item for item in telemetry.lossy if not (is_said and item.kind == "object")]


def _lossy(lossy: Iterable[LossyValue]) -> str:
    parts = [f"{clip_end(item.path, _MAX_NAME)} ({item.kind})" for item in lossy]
    return listed("JSON cannot hold these as they were: ", parts, MAX_NOTE_BYTES)


def _already_done(telemetry: Telemetry) -> str:
    """The calls that a failed run has made, by name. Searches are left out: they change nothing."""
    made = Counter((call.name, call.status) for call in _calls(telemetry) if call.status != "pending")
    for name, statuses in telemetry.more_calls.items():
        made.update({(name, status): count for status, count in statuses.items()})
    counted = made.most_common() if telemetry.more_calls else made.items()  # of very many, the most first
    return _counted("Already done: ", counted)


def _unfinished(telemetry: Telemetry) -> str:
    """What is under way is not done, and may yet be."""
    waiting = Counter((call.name, "") for call in _calls(telemetry) if call.status == "pending")
    return _counted("Not finished: ", waiting.items())


def _unawaited(telemetry: Telemetry) -> str:
    left = set(telemetry.unawaited)
    ended = Counter((call.name, call.status) for call in _calls(telemetry) if call.id in left)
    return _counted("Not awaited, and made all the same: ", ended.items())


def _calls(telemetry: Telemetry) -> list[CallRecord]:
    return [call for call in telemetry.calls if call.method in CALL_METHODS]


def _counted(head: str, counted: Iterable[tuple[tuple[str, str], int]]) -> str:
    parts = [f"{clip_end(name, _MAX_NAME)} ×{count} {status}".rstrip() for (name, status), count in counted]
    return listed(head, parts, MAX_NOTE_BYTES) if parts else ""
