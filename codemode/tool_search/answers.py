"""The outcome of a model's call, in one shape for real tools, controls and programs."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from codemode.contract.envelope import envelope, facts_of_call, failed_call
from codemode.contract.error_codes import ERRORS, ErrorFacts
from codemode.contract.results import CodeModeResult, Completed, Failed, Output, PendingApproval
from codemode.contract.telemetry import CallError
from codemode.executor import CallFailed, CallOk, CallResult, NeedsApproval, ToolWords
from codemode.tools import Tool
from codemode.tools.definition import Source

_encode = msgspec.json.encode


class CalledTool(Struct, frozen=True):
    """The real tool that ran, behind any control."""

    id: str
    name: str
    source: Source


class AnswerError(Struct, frozen=True):
    """`code` is an ErrorCode of the contract for a program, else the code of a nested call. `said` is what a
    tool says of its own failure."""

    code: str
    message: str
    facts: ErrorFacts
    data: Any = None
    said: CallError | None = None


class Answer(Struct, frozen=True, kw_only=True):
    """`called` is the name that the model called, `tool` the tool that ran."""

    called: str
    status: Literal["completed", "waiting", "failed"]
    raw_value: Raw = Raw(b"null")
    output: tuple[Output, ...] = ()
    error: AnswerError | None = None
    approval: PendingApproval | None = None
    tool: CalledTool | None = None
    repairs: tuple[str, ...] = ()
    duration_ms: float = 0
    meta: dict[str, Any] | None = None  # what the tool adds

    @property
    def value(self) -> Any:
        """Decoded anew each time."""
        return msgspec.json.decode(self.raw_value)

    @property
    def code(self) -> str | None:
        return None if self.error is None else self.error.code

    def to_dict(self) -> dict[str, Any]:
        """For the model, without empty parts."""
        found: dict[str, Any] = {"status": self.status, **self._data()}
        if self.error is not None:
            found |= {"error": self.error.message, "code": self.error.code}
            found |= {} if self.error.data is None else {"data": self.error.data}
            said = self.error.said
            found |= {"retryable": True} if said and said.retryable else {}
            found |= {"suggestion": said.suggestion} if said and said.suggestion else {}
        return found

    def to_envelope(self) -> dict[str, Any]:
        """The same envelope as `codemode.to_envelope` makes for exec and wait."""
        meta: dict[str, Any] = {**(self.meta or {}), "status": self.status, "called": self.called}
        meta |= {"repairs": list(self.repairs), "durationMs": self.duration_ms}
        if self.tool is not None:
            meta["tool"] = msgspec.to_builtins(self.tool)
        error = self.error
        if error is None:
            return envelope(self._data(), meta)
        meta |= {"phase": error.facts.phase, **self._data()}
        return envelope(None, meta, (error.code, error.message, error.facts), error.said)

    def _data(self) -> dict[str, Any]:
        has_value = self.status == "completed" or bytes(self.raw_value) != b"null"
        data: dict[str, Any] = {"value": self.value} if has_value else {}
        if self.approval is not None:
            data["approval"] = msgspec.to_builtins(self.approval)
        if self.output:
            data["output"] = msgspec.json.decode(_encode(self.output))
        return data


def of_call(called: str, result: CallResult, tool: Tool | None, repairs: tuple[str, ...]) -> Answer:
    ran = None if tool is None else CalledTool(tool.id, tool.name, tool.source)
    match result:
        case CallOk(json, meta):
            value = Raw(json)
            return Answer(
                called=called, status="completed", raw_value=value, tool=ran, repairs=repairs, meta=meta
            )
        case NeedsApproval(asked):
            waiting = PendingApproval(asked.id, asked.summary)
            return Answer(called=called, status="waiting", approval=waiting, tool=ran, repairs=repairs)
        case CallFailed(code, _, message, data):
            error = AnswerError(code, message, facts_of_call(code), data, _said(result))
            return Answer(
                called=called, status="failed", error=error, tool=ran, repairs=repairs, meta=result.meta
            )


def _said(failure: CallFailed) -> CallError:
    said = failure.said or ToolWords()
    return CallError(failure.code, failure.retryable, said.recoverable, said.status, said.suggestion)


def of_program(called: str, result: CodeModeResult, repairs: tuple[str, ...]) -> Answer:
    match result:
        case Completed():
            value = Raw(bytes(result.raw_value))
            return Answer(
                called=called, status="completed", raw_value=value, output=result.output, repairs=repairs
            )
        case Failed():
            error = _of_failed(result)
            return Answer(called=called, status="failed", error=error, output=result.output, repairs=repairs)
        case _:
            raise AssertionError("a one-shot program is never suspended")


def of_result(called: str, result: dict[str, Any], repairs: tuple[str, ...]) -> Answer:
    """For exec and wait: `value` is their whole result, as in the contract."""
    status, error = result["status"], None
    if status == "failed":
        error = _of_failed(msgspec.convert(result, Failed))
    return Answer(called=called, status=status, raw_value=Raw(_encode(result)), error=error, repairs=repairs)


def _of_failed(result: Failed) -> AnswerError:
    call = failed_call(result)
    said = None if call is None else call.error
    return AnswerError(result.code, result.error, ERRORS[result.code], said=said)
