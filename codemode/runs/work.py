"""One thing that the host will settle for a program: a call, a timer or a yield."""

from __future__ import annotations

from typing import Literal

import msgspec

from codemode.executor import ApprovalRequest
from codemode.tools import Tool

WorkMethod = Literal["call", "search", "describe", "namespace", "mcp", "timer", "yield"]
_MAX_NAME = 80  # characters of a name that no tool has
QUESTION = "ask_"  # how the ids of questions of running calls begin
_CALLS = ("call", "search", "describe", "namespace", "mcp")


class Work(msgspec.Struct, omit_defaults=True):
    """One thing that the host will settle. `args` is the guest's JSON array of arguments. While it waits for
    an approval, `asked` is the array that is to be approved, and `approval` is without its arguments."""

    id: int
    method: WorkMethod
    since_ms: int
    target: str = ""
    tool: str = ""  # catalog id
    name: str = ""
    args: bytes = b""
    idempotent: bool = False
    due_ms: int = 0
    approval: ApprovalRequest | None = None
    reason: str = ""  # of a yield
    queued: bool = False  # a call that waits in line and has not been started
    asked: bytes = b""

    @property
    def is_call(self) -> bool:
        """False for timers and yields, which are in no ledger."""
        return self.method in _CALLS

    def identify(self, tool: Tool | None) -> None:
        """Notes which tool is called; without one, the name that the program used."""
        if tool is None:
            self.name = self.target[:_MAX_NAME]
        else:
            self.tool, self.name, self.idempotent = tool.id, tool.name, tool.hints.idempotent

    def queue(self, is_queued: bool) -> None:
        self.queued = is_queued

    def drop_arguments(self) -> None:
        self.args = b""  # nobody will take them

    @property
    def kept_bytes(self) -> int:
        return len(self.args) + len(self.asked)

    def ask(self, approval: ApprovalRequest) -> None:
        """Keeps the arguments as bytes: they may be large, and the wait long."""
        self.asked = msgspec.json.encode([approval.arguments])
        self.approval = msgspec.structs.replace(approval, arguments={})
        if not (self.idempotent or is_question(approval)):
            self.args = b""  # what is approved is run

    def ask_again(self, approval: ApprovalRequest) -> None:
        """Puts back what `take_approval` took."""
        self.approval = approval

    def is_asking(self, approval_id: str) -> bool:
        return self.approval is not None and self.approval.id == approval_id

    def take_approval(self) -> ApprovalRequest | None:
        """Takes the question off the call, so that it is decided only once."""
        approval, self.approval = self.approval, None
        return approval

    def for_snapshot(self) -> Work:
        """Drops the arguments unless the call may have to be started, or started again."""
        if self.approval is not None or self.queued or (self.idempotent and not self.asked):
            return self
        return msgspec.structs.replace(self, args=self.args if self.idempotent else b"", asked=b"")


def is_question(approval: ApprovalRequest) -> bool:
    """Whether a running call asks, and not the engine before it runs."""
    return approval.id.startswith(QUESTION)
