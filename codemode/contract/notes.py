"""Notes: short sentences about a run that a model could not know from its value, output and error. Pure.

The engine adds them to each result of exec and wait. At most ten, each at most 200 bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from codemode.contract.clipping import clip_end, listed
from codemode.contract.for_model import MAX_NOTE_BYTES, bounded_notes
from codemode.contract.results import CodeModeResult, Failed
from codemode.contract.telemetry import CallRecord, LossyValue

_MAX_NAME = 60  # bytes of a tool's name or of a path


def with_notes(result: CodeModeResult, max_output_bytes: int) -> CodeModeResult:
    """The result with what there is to note about it, and with the cap under which it was made.

    Done twice it changes nothing more: a result that was kept is given again as it was.
    """
    notes = bounded_notes(list(dict.fromkeys([*result.notes, *_notes(result)])))
    if result.telemetry.max_output_bytes != max_output_bytes:
        telemetry = replace(result.telemetry, max_output_bytes=max_output_bytes)
        result = replace(result, telemetry=telemetry)
    return replace(result, notes=notes) if notes else result


def _notes(result: CodeModeResult) -> list[str]:
    telemetry = result.telemetry
    found = list(telemetry.hints)
    if telemetry.lossy:
        found.append(_lossy(telemetry.lossy))
    if isinstance(result, Failed) and (done := _already_done(telemetry.calls)):
        found.append(done)
    return found


def _lossy(lossy: Iterable[LossyValue]) -> str:
    parts = [f"{clip_end(item.path, _MAX_NAME)} ({item.kind})" for item in lossy]
    return listed("JSON cannot hold these as they were: ", parts, MAX_NOTE_BYTES)


def _already_done(calls: Iterable[CallRecord]) -> str:
    """What a failed run has done, by name; looking for tools does nothing that would have to be known."""
    made = Counter((call.name, call.status) for call in calls if call.method in ("call", "namespace"))
    if not made:
        return ""
    parts = [f"{clip_end(name, _MAX_NAME)} ×{count} {status}" for (name, status), count in made.items()]
    return listed("Already done: ", parts, MAX_NOTE_BYTES)
