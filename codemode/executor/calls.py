"""What goes into the executor and what comes out. Data only.

A call ends in one of three ways: with a value, with a failure that the program can catch, or with the need
for an approval that is still open.
"""

from __future__ import annotations

import contextvars
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from codemode.contract.error_codes import HealthStatus
from codemode.contract.shown_json import shown_arguments
from codemode.contract.telemetry import CallStatus
from codemode.tools import CallContext
from codemode.tools.content import Content

FailureCode = Literal[
    "tool_error",
    "invalid_arguments",
    "unknown_tool",
    "denied",
    "timeout",
    "aborted",
    "interrupted",
    "mcp_error",
]
# Of these the same call may succeed later, unless its tool says otherwise.
RETRYABLE_CODES = frozenset(("timeout", "interrupted"))
TOOL_ASKS = "ans_"  # the id of what a tool asks begins with it
# How the program wrote the call. Only `tools` takes bare names, and only `tools` cannot reach MCP tools.
Via = Literal["tools", "mcp", "namespace", "host"]


class CallRequest(Struct, frozen=True):
    tool: str
    arguments: Any = None
    call_id: str = ""
    idempotency_key: str = ""
    context: CallContext = field(default_factory=CallContext)
    via: Via = "tools"
    # The context variables of the run's latest exec or wait; None for those of the task that calls.
    variables: contextvars.Context | None = None
    # Of the JSON that the arguments were decoded from; 0 for arguments of the host's own.
    json_bytes: int = 0
    is_large: bool = False  # checking the arguments is a step for the lane
    answers: tuple[Any, ...] = ()  # to what the tool asked in this call before
    fence: int = 1


class CallOk(Struct, frozen=True):
    """`meta` is what the tool adds for the host (`context.meta`); `contents` are what the handles in the JSON
    stand for."""

    json: bytes
    meta: dict[str, Any] | None = None
    contents: dict[str, Content] | None = None

    @property
    def status(self) -> CallStatus:
        return "ok"

    @property
    def value(self) -> Any:
        return msgspec.json.decode(self.json)


class ToolWords(Struct, frozen=True, omit_defaults=True):
    """What a tool says about its own failure, beside its message."""

    recoverable: bool | None = None
    suggestion: str | None = None
    status: HealthStatus | None = None
    retryable: bool | None = None


class CallFailed(Struct, frozen=True):
    """Becomes a plain Error in the guest, with these words and nothing else.

    `code` is a FailureCode, or a word of the tool's own. `said` is there for what a tool raised as its own
    failure: with a code like "denied" it is still its own, and no refusal of the engine.
    """

    code: str
    name: str
    message: str
    data: Any = None
    said: ToolWords | None = None
    meta: dict[str, Any] | None = None

    @property
    def status(self) -> CallStatus:
        if self.said is None and (self.code == "denied" or self.code == "aborted"):
            return self.code
        return "error"

    @property
    def retryable(self) -> bool:
        """Whether the very same call may succeed later."""
        said = None if self.said is None else self.said.retryable
        return self.code in RETRYABLE_CODES if said is None else said

    @property
    def json(self) -> bytes:
        """As a rejected settlement has it: name, message, code, retryable, what the tool said, data, meta."""
        said: dict[str, Any] = {} if self.said is None else msgspec.to_builtins(self.said)
        body: dict[str, Any] = {"name": self.name, "message": self.message, "code": self.code, **said}
        body["retryable"] = self.retryable
        more = {"data": self.data, "meta": self.meta}
        return msgspec.json.encode(body | {name: found for name, found in more.items() if found is not None})


class ApprovalRequest(Struct, frozen=True):
    """What an approver needs for a decision. All of it is JSON, so that it can outlive the process.

    The tool will run with `arguments` as they are here: the hooks have seen them already. `summary` shows
    none of their values, because the model reads it.
    """

    id: str
    summary: str
    tool_id: str
    tool: str
    arguments: dict[str, Any]
    run_id: str = ""
    call_id: str = ""
    agent_id: str = ""
    session_id: str = ""
    sender: str = ""
    channel: str = ""
    definition: str = ""  # of what the tool says it is; it is approved with that
    question: Any = None  # of a tool that asks in its call: it runs again with the answer
    answers: tuple[Any, ...] = ()  # to what it asked before

    @property
    def is_asked_by_tool(self) -> bool:
        """Whether the call is approved already, and its tool wants an answer."""
        return self.id.startswith(TOOL_ASKS)

    def to_dict(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)

    def lines(self) -> list[str]:
        """The arguments for a person: one line for each, whatever a program wrote into it, and each shortened
        by itself."""
        return shown_arguments(self.arguments)


class Decision(Struct, frozen=True):
    """`value` is the answer for a tool that asked."""

    approved: bool
    reason: str = ""
    value: Any = None


class Decided(Struct, frozen=True):
    """An approval with its decision. `was_asked_here`: the hooks of this engine have seen the call."""

    approval: ApprovalRequest
    decision: Decision
    was_asked_here: bool = True


class NeedsApproval(Struct, frozen=True):
    approval: ApprovalRequest

    @property
    def status(self) -> CallStatus:
        return "pending"


CallResult = CallOk | CallFailed | NeedsApproval


class CallUpdate(Struct, frozen=True):
    """Progress that a running tool reported, in the tool's own terms."""

    run_id: str
    call_id: str
    tool_id: str
    progress: Any
