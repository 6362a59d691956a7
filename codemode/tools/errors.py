"""The refusal of a tool definition, and what a tool raises to fail in its own words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codemode.config import ConfigError
from codemode.contract.error_codes import HealthStatus


class ToolDefinitionError(ConfigError):
    """The tool cannot be offered as it is; its author must change it. Other tools are not affected."""

    def __init__(self, tool: str, problem: str) -> None:
        super().__init__(f'tool "{tool[:80]}"', problem)


class ToolError(Exception):
    """A tool raises this: the program gets this message and this data, and can go on.

    `code` is the tool's own word for what happened, `suggestion` what the agent should do about it.
    `recoverable`: the agent can do something that may succeed; `retryable`: the very same call may succeed
    later; `status` is how the tool is. They do not depend on each other, and None leaves it to the engine.
    `meta` is for the host: the ledger and the envelope have it, the program does not.
    Any other exception works too; the program gets its class name and message, and nothing else of it.
    """

    def __init__(
        self,
        message: str,
        *,
        name: str = "ToolError",
        data: Any = None,
        code: str = "tool_error",
        recoverable: bool | None = None,
        retryable: bool | None = None,
        suggestion: str | None = None,
        status: HealthStatus | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.name = name
        self.data = data
        self.code = code
        self.recoverable = recoverable
        self.retryable = retryable
        self.suggestion = suggestion
        self.status: HealthStatus | None = status
        self.meta = meta


class AnswerNeeded(Exception):
    """A tool raises this to ask a person: the program is suspended until there is an answer.

    The tool is then run again from its start, with all answers so far in `CallContext.answers`: what it does
    before it asks, it does again. The model may see `summary`; `question` is JSON for the person.
    """

    def __init__(self, summary: str, question: Any = None) -> None:
        super().__init__(summary)
        self.summary = summary
        self.question = question


class InvalidArguments(Exception):
    """The arguments passed the schema and still cannot be used. The tool has done nothing."""

    code = "invalid_arguments"
