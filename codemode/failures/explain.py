"""Turns each way a leg can end badly into a code and a text for the model. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from codemode_runtime import wire
from codemode_runtime.parts import MAX_PARTS
from codemode_runtime.shapes import MAX_OUTPUT_ITEMS, Stop

from codemode.config import CodeModeConfig, Language
from codemode.contract.explained import Explained
from codemode.contract.telemetry import CallError
from codemode.failures import hints
from codemode.failures.available import Available
from codemode.failures.bare_hints import hint_for_bare
from codemode.failures.missing import hint_for_name
from codemode.failures.positions import Position, excerpt, find_position, locate
from codemode.failures.syntax import hint_for_modules, hint_for_syntax

_MAX_NAME = 100
_WORTH_TELLING_SECONDS = 0.02  # of a timeout that was spent waiting
_MAX_MESSAGE = 4000
_MAX_THROWN = 500
_MAX_CAUSE = 1000
_MAX_CAUSES = 5

_DEADLOCK = (
    "The program waits for a promise that nothing can settle: nothing else is pending. "
    "Look for a `new Promise(…)` that is never resolved."
)
_RETRY = "The same call may succeed later (`retryable`)."
_UNSURE = ("interrupted", "timeout", "aborted")  # these may have taken effect
_UNHANDLED = "Nobody handled this rejection: `await` the promise or add `.catch(…)`."
_UNAWAITED_CALL = "This call was not awaited and failed: `await` it, or catch its error."


@dataclass(frozen=True, slots=True)
class Program:
    """The model's text as sent."""

    text: str
    language: Language = "javascript"


def explain_failure(
    failure: wire.Failure,
    program: Program,
    available: Available,
    config: CodeModeConfig,
    call_error: CallError | None = None,
) -> Explained:
    """For a program that ended by itself and failed. `call_error` is how the call ended that caused it."""
    match failure.kind:
        case "value_too_large":
            return Explained("output_limit_exceeded", _too_large(failure, config))
        case "deadlock":
            return Explained("guest_error", _DEADLOCK)
        case "syntax":
            return Explained("invalid_input", _syntax(failure, program, config))
        case "exception" | "unhandled":
            code = "nested_tool_failed" if failure.call else "guest_error"
            return Explained(code, _uncaught(failure, program, available, _advice(call_error)))


def explain_stop(reason: Stop, config: CodeModeConfig) -> Explained:
    """For a guest that a limit ended, where no program can catch it."""
    match reason:
        case Stop.MEMORY:
            return Explained(
                "memory_limit_exceeded",
                f"The program used more than {_bytes(config.memory_limit_bytes)} of memory and was ended. "
                "Keep fewer or smaller values at a time.",
            )
        case Stop.OUTPUT:
            return Explained(
                "output_limit_exceeded",
                f"The program wrote more than {_bytes(config.max_output_bytes)} of output (the JSON of its "
                f"items), or more than {MAX_OUTPUT_ITEMS:,} items, and was ended; what fitted is kept. Write "
                "and return less: select fields, slice lists, summarise.",
            )
        case Stop.MESSAGES:
            return Explained(
                "output_limit_exceeded",
                "The program sent more output and calls at once than may cross, and was ended. "
                "Await the calls in smaller groups and write less.",
            )
        case Stop.CALLS:
            return Explained("too_many_pending_tool_calls", _too_many(config))
        case Stop.STACK:
            return Explained("guest_error", "RangeError: the program recursed too deep and was ended.")
        case Stop.ABORT | Stop.ENGINE:
            return Explained(
                "internal_error",
                "The engine stopped while it ran the program. This is a defect of the engine.",
            )


def explain_timeout(budget_ms: int, computed: float, waited: float) -> Explained:
    """`computed` and `waited` are seconds: a program that waited for a slow tool is not simply too slow."""
    shares = ""
    if waited >= _WORTH_TELLING_SECONDS:
        shares = f" ({round(computed * 1000)} ms of computing, {round(waited * 1000)} ms of waiting)"
    return Explained(
        "timeout",
        f"The program was still computing after {budget_ms} ms{shares} and was ended. Look for an endless "
        "loop, or do less at a time. A program that only waits for tools by then is suspended instead.",
    )


def explain_refusal(refused: wire.Refused, program: Program, available: Available) -> Explained:
    """For a program text that was refused before it ran."""
    at = hint = None
    if refused.line is not None and refused.column is not None:
        at = locate(program.text, refused.line, refused.column)
    if refused.code == "module_access_denied" and at is not None and not available.is_bare:
        hint = hint_for_modules(at.text, available)
    return Explained(refused.code, _assemble(_cut(refused.message, _MAX_MESSAGE), at, hint))


def _too_large(failure: wire.Failure, config: CodeModeConfig) -> str:
    if failure.parts:
        return (
            f"The returned value has {failure.parts:,} parts (lists, objects, keys, strings, numbers); "
            f"a result may have {MAX_PARTS:,}. Return less: select fields, slice lists, summarise. "
            f"It begins with: {_cut(failure.head, 200)}"
        )
    return (
        f"The returned value is {_bytes(failure.bytes)} of JSON; with the output, a result may have "
        f"{_bytes(config.max_output_bytes)}. Return less: select fields, slice lists, summarise. "
        f"What it looks like:\n{failure.outline}"
    )


def _too_many(config: CodeModeConfig) -> str:
    queued = config.max_queued_tool_calls
    limit = config.max_pending_tool_calls + queued
    in_line = f", and {queued:,} more in line" if queued else ""
    return (
        f"More than {config.max_pending_tool_calls} tool calls at once{in_line}. None of the last batch was "
        "started. Make them in chunks:\n"
        f"    for (let i = 0; i < items.length; i += {limit})\n"
        f"      results.push(...await Promise.all(items.slice(i, i + {limit}).map(async (item) => …)));"
    )


def _syntax(failure: wire.Failure, program: Program, config: CodeModeConfig) -> str:
    error = failure.error or wire.ThrownError()
    at = _position(error, program)
    hint = None
    if at is not None:
        hint = hint_for_syntax(program.text, at.text, at.offset, program.language, config.languages)
    return _assemble(_headline(error), at, hint)


def _uncaught(failure: wire.Failure, program: Program, available: Available, advice: str | None) -> str:
    hint = _unhandled_hint(failure)
    if failure.error is None:
        return _assemble(f"Uncaught value: {_thrown(failure)}", None, hint)
    at = _position(failure.error, program)
    causes = _causes(failure)
    own = _hint(failure, at, program, available)
    return _assemble(_headline(failure.error), at, *causes, own, advice, hint)


def _advice(error: CallError | None) -> str | None:
    """What the tool suggests; or that it is worth a second try, where the first has surely done nothing."""
    if error is None or error.suggestion is not None:
        return None if error is None else error.suggestion
    return _RETRY if error.retryable and error.code not in _UNSURE else None


def _causes(failure: wire.Failure) -> list[str]:
    """The causes of the error, each once: errors may refer to each other in circles."""
    error = failure.error or wire.ThrownError()
    said = {_title(error.name, error.message, _MAX_CAUSE): None}
    for cause in failure.causes[:_MAX_CAUSES]:
        said.setdefault(_title(cause.name, cause.message, _MAX_CAUSE))
    return [f"caused by {title}" for title in list(said)[1:]]


def _unhandled_hint(failure: wire.Failure) -> str | None:
    if failure.kind != "unhandled":
        return None
    return _UNAWAITED_CALL if failure.call else _UNHANDLED


def _hint(failure: wire.Failure, at: Position | None, program: Program, available: Available) -> str | None:
    error = failure.error or wire.ThrownError()
    message, offset = error.message or "", at.offset if at else None
    if failure.call:
        return hints.hint_for_tool_error(error.code, message, program.text, offset, available)
    match error.name:
        case "ReferenceError" | "TypeError" if available.is_bare:
            return hint_for_bare(message, program.text, offset, available)
        case "ReferenceError":
            return hint_for_name(message, program.text, offset, available)
        case "SyntaxError":
            return hints.hint_for_parse(message, program.text, offset)
        case "TypeError" if message.startswith("tools.search needs"):
            return hints.hint_for_query(available)
        case "TypeError" if message.startswith(("tools.call needs", "tools.describe needs")):
            return hints.hint_for_target(message, program.text, offset, available)
        case "TypeError" if message.startswith(hints.NOT_A_FUNCTION):
            return hints.hint_for_call(message, program.text, offset, error.stack or "", available)
        case "TypeError":
            return hints.hint_for_property(message, program.text, offset, available)
        case _:
            return None


def _position(error: wire.ThrownError, program: Program) -> Position | None:
    if error.stack is None:
        return None
    return find_position(error.stack, program.text, error.name or "Error")


def _headline(error: wire.ThrownError) -> str:
    return _title(error.name, error.message, _MAX_MESSAGE)


def _title(name: str | None, message: str | None, longest: int) -> str:
    name = _cut(" ".join((name or "Error").split()), _MAX_NAME) or "Error"
    return f"{name}: {_cut(message, longest)}" if message else name


def _thrown(failure: wire.Failure) -> str:
    return _cut(bytes(failure.thrown or b"undefined").decode(), _MAX_THROWN)


def _assemble(headline: str, at: Position | None, *hint_lines: str | None) -> str:
    lines = [headline if at is None else f"{headline} ({at})\n{excerpt(at)}"]
    lines.extend(hint for hint in hint_lines if hint)
    return "\n".join(lines).encode("utf-8", "replace").decode()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters)"


def _bytes(count: int) -> str:
    if count >= 1 << 20 and count % (1 << 20) == 0:
        return f"{count >> 20} MiB"
    return f"{count >> 10} KiB" if count >= 1 << 10 and count % (1 << 10) == 0 else f"{count} bytes"
