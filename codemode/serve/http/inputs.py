"""Reads bodies and queries: strictly, with errors that name the field. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from codemode.serve.http.errors import HttpRefused
from codemode.tools import CallContext
from codemode.trajectory.shapes import RunStatus

Name = Annotated[str, Meta(min_length=1, max_length=1024)]
Number = Annotated[int, Meta(ge=0, le=1 << 53)]
T = TypeVar("T", bound=Struct)


class _JsonBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    pass


class ScopeBody(_JsonBody, frozen=True, kw_only=True):
    """Whose run it is."""

    session: Name | None = None
    agent: Name | None = None
    agent_run: Name | None = None


class ForkBody(ScopeBody, frozen=True, kw_only=True):
    """From where a fork goes on, and what calls in flight are answered with there, by their ids."""

    at: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    settle: dict[str, Any] = {}
    fail: dict[str, str] = {}


class ContextBody(_JsonBody, frozen=True, kw_only=True):
    """What tools, hooks and the policy learn about the caller."""

    session_key: str = ""
    sender: str = ""
    channel: str = ""
    sandbox: str = ""

    def read(self) -> CallContext:
        return CallContext(
            session_key=self.session_key, sender=self.sender, channel=self.channel, sandbox=self.sandbox
        )


class ExecBody(ScopeBody, frozen=True, kw_only=True):
    """A program, and for whom it runs."""

    code: str
    language: str | None = None
    tool_call: Name | None = None
    allow: list[str] | None = None
    provider: str | None = None
    model: str | None = None
    context: ContextBody | None = None
    request_id: Name | None = None
    for_model: bool = False
    to_end: bool = False
    timeout_ms: Annotated[int, Meta(ge=1, le=86_400_000)] | None = None


class WaitBody(ScopeBody, frozen=True, kw_only=True):
    tool_call: Name | None = None
    for_model: bool = False


class SessionBody(_JsonBody, frozen=True, kw_only=True):
    agent: Name | None = None


class ApproveBody(ScopeBody, frozen=True, kw_only=True):
    """`value` is the answer for a tool that asked."""

    value: Any = None
    arguments_sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | None = msgspec.field(
        name="argumentsSha256", default=None
    )


class DenyBody(ScopeBody, frozen=True, kw_only=True):
    reason: Annotated[str, Meta(max_length=4096)] = ""


class EmptyBody(_JsonBody, frozen=True, kw_only=True):
    pass


class _Query(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    pass


class ScopeQuery(_Query, frozen=True, kw_only=True):
    session: Name | None = None
    agent: Name | None = None
    agent_run: Name | None = None


class RunsQuery(_Query, frozen=True, kw_only=True):
    status: str = ""
    agent: Name | None = None
    session: Name | None = None
    q: Annotated[str, Meta(max_length=1024)] = ""
    tool: Annotated[str, Meta(max_length=1024)] = ""
    since: Number | None = None
    until: Number | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    cursor: Annotated[str, Meta(max_length=300)] = ""

    def statuses(self) -> tuple[RunStatus, ...]:
        return tuple(_status(word.strip()) for word in self.status.split(",") if word.strip())

    def before(self) -> tuple[int, str] | None:
        if not self.cursor:
            return None
        at, _, run_id = self.cursor.partition("~")
        if not at.isascii() or not at.isdigit() or not run_id or len(at) > 16:
            raise HttpRefused(400, "cursor must be `next` of the page before.")
        return int(at), run_id


class ApprovalsQuery(_Query, frozen=True, kw_only=True):
    agent: Name | None = None
    session: Name | None = None
    run_id: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 100


class ToolsQuery(_Query, frozen=True, kw_only=True):
    q: Annotated[str, Meta(max_length=1024)] = ""
    agent: Name | None = None
    session: Name | None = None
    provider: str | None = None
    model: str | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    offset: Annotated[int, Meta(ge=0, le=1_000_000)] = 0


class PromptQuery(_Query, frozen=True, kw_only=True):
    agent: Name | None = None
    session: Name | None = None
    provider: str | None = None
    model: str | None = None
    format: Literal["mcp", "openai", "openai-responses", "anthropic", "gemini"] = "mcp"


class EventsQuery(_Query, frozen=True, kw_only=True):
    run_id: Name | None = None
    session: Name | None = None
    types: Annotated[str, Meta(max_length=1024)] = ""
    after: Annotated[str, Meta(max_length=100)] = ""


STATUSES: tuple[RunStatus, ...] = ("running", "waiting", "completed", "failed", "expired", "aborted")


def _status(word: str) -> RunStatus:
    for status in STATUSES:
        if status == word:
            return status
    raise HttpRefused(400, f"status must be some of {', '.join(STATUSES)}.")


def read_body(data: bytes, shape: type[T]) -> T:
    """No body at all is an empty object. Raises HttpRefused."""
    try:
        return msgspec.json.decode(data or b"{}", type=shape)
    except msgspec.ValidationError as error:
        raise HttpRefused(400, f"The body does not fit: {error}.") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise HttpRefused(400, f"The body is not JSON: {error}.") from None


def read_query(given: Iterable[tuple[str, str]], shape: type[T]) -> T:
    """Raises HttpRefused, also for a name that is given twice."""
    found: dict[str, str] = {}
    for name, value in given:
        if name in found:
            raise HttpRefused(400, f"{name[:60]!r} is given twice.")
        found[name] = value
    try:
        return msgspec.convert(found, shape, strict=False)
    except msgspec.ValidationError as error:
        raise HttpRefused(400, f"The query does not fit: {error}.") from None
