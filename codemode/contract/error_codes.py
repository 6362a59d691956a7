"""Every code of a failed result, with its fixed facts: where it arises, and whose move is next.

Codes are the contract and never change; texts may. `suggestion` tells the agent what to do; the result's own
text says what happened.
"""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

ErrorCode = Literal[
    "runtime_unavailable",
    "invalid_config",
    "invalid_input",
    "unsupported_language",
    "typescript_transform_failed",
    "module_access_denied",
    "timeout",
    "memory_limit_exceeded",
    "output_limit_exceeded",
    "snapshot_limit_exceeded",
    "snapshot_expired",
    "snapshot_restore_failed",
    "too_many_pending_tool_calls",
    "nested_tool_failed",
    "aborted",
    "guest_error",
    "internal_error",
]
HealthStatus = Literal["healthy", "degraded", "unavailable"]
Phase = Literal["input", "guest", "bridge", "host"]
ERROR_CODES: tuple[ErrorCode, ...] = get_args(ErrorCode)


class ErrorFacts(Struct, frozen=True):
    """`recoverable` means that the agent itself can do something that may succeed."""

    phase: Phase
    recoverable: bool
    suggestion: str


ERRORS: dict[ErrorCode, ErrorFacts] = {
    "runtime_unavailable": ErrorFacts(
        "host", False, "Tell the user that the code runtime is not available; `codemode doctor` says why."
    ),
    "invalid_config": ErrorFacts(
        "input", False, "Tell the user that the code mode configuration has to be corrected."
    ),
    "invalid_input": ErrorFacts("input", True, "Correct the input as the message says and call again."),
    "unsupported_language": ErrorFacts("input", True, "Write the program in a language that is switched on."),
    "typescript_transform_failed": ErrorFacts(
        "input", True, "Correct the TypeScript at the position given, or send plain JavaScript."
    ),
    "module_access_denied": ErrorFacts(
        "input", True, "Remove the import or require; use the built-in globals and `tools` instead."
    ),
    "timeout": ErrorFacts(
        "guest", True, "Do less computing at once: smaller inputs, no endless loops, several programs."
    ),
    "memory_limit_exceeded": ErrorFacts(
        "guest", True, "Hold less data at once: fewer or smaller results, and drop what is no longer needed."
    ),
    "output_limit_exceeded": ErrorFacts(
        "guest", True, "Return and print less: select fields, slice lists, summarise."
    ),
    "snapshot_limit_exceeded": ErrorFacts(
        "host", True, "Hold less data across slow calls, and finish other suspended runs with wait first."
    ),
    "snapshot_expired": ErrorFacts(
        "host", True, "Send the program again; see in `notes` what has already been done."
    ),
    "snapshot_restore_failed": ErrorFacts(
        "host", True, "Send the program again; see in `notes` what has already been done."
    ),
    "too_many_pending_tool_calls": ErrorFacts(
        "bridge", True, "Make the calls in chunks of the size given in the message, and await each chunk."
    ),
    "nested_tool_failed": ErrorFacts(
        "bridge",
        True,
        "Correct the call, or catch its error in the program; `notes` say what was done.",
    ),
    "aborted": ErrorFacts("host", False, "The run was cancelled on purpose: do not repeat it unasked."),
    "guest_error": ErrorFacts("guest", True, "Correct the program at the position given and send it again."),
    "internal_error": ErrorFacts(
        "host", False, "This is a defect of the engine; trying once more may help, then tell the user."
    ),
}

# The same for the failures of single calls. A program catches such a failure by its code; a model that calls
# a tool through Tool Search reads these texts. All of them arise at the bridge.
CALL_ERRORS: dict[str, ErrorFacts] = {
    "tool_error": ErrorFacts(
        "bridge", True, "Read what the tool says; correct the arguments or use another tool."
    ),
    "invalid_arguments": ErrorFacts(
        "bridge", True, "Correct the arguments as the message says and call again."
    ),
    "unknown_tool": ErrorFacts("bridge", True, "Search for the tool and call it by the id that is found."),
    "denied": ErrorFacts(
        "bridge", False, "This call was refused: do not repeat it or work around it; tell the user."
    ),
    "timeout": ErrorFacts(
        "bridge", True, "The tool took too long: ask it for less, or try it once more later."
    ),
    "aborted": ErrorFacts("bridge", False, "The call was cancelled on purpose: do not repeat it unasked."),
    "interrupted": ErrorFacts("bridge", True, "Find out whether the call took effect before you repeat it."),
    "mcp_error": ErrorFacts(
        "bridge", True, "The MCP server failed: try once more later, or use another tool."
    ),
}
