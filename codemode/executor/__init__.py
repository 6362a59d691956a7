"""The executor: checks, hooks, approvals, limits and audit around every tool call."""

from codemode.executor.approvals import Approve
from codemode.executor.audit import Audit, AuditEvent
from codemode.executor.calling import Calling, join
from codemode.executor.calls import (
    ApprovalRequest,
    CallFailed,
    CallOk,
    CallRequest,
    CallResult,
    CallUpdate,
    Decided,
    Decision,
    FailureCode,
    NeedsApproval,
    ToolWords,
    Via,
)
from codemode.executor.executor import BROKEN, Executor
from codemode.executor.hooks import (
    AfterToolCall,
    AnswerWith,
    BeforeToolCall,
    Block,
    HookChain,
    RequireApproval,
    Rewrite,
    Verdict,
)
from codemode.executor.running import Gates

__all__ = [
    "BROKEN",
    "AfterToolCall",
    "AnswerWith",
    "ApprovalRequest",
    "Approve",
    "Audit",
    "AuditEvent",
    "BeforeToolCall",
    "Block",
    "CallFailed",
    "CallOk",
    "CallRequest",
    "CallResult",
    "CallUpdate",
    "Calling",
    "Decided",
    "Decision",
    "Executor",
    "FailureCode",
    "Gates",
    "HookChain",
    "NeedsApproval",
    "RequireApproval",
    "Rewrite",
    "ToolWords",
    "Verdict",
    "Via",
    "join",
]
