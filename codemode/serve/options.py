"""The options of both servers. Data only; the command line fills it in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_MESSAGE_BYTES = 16 << 20  # one message in either direction: above the largest result of a tool


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What clients over HTTP may use, all together."""

    max_connections: int = 1_000
    max_sessions: int = 1_000  # of clients before 2026; one that is idle for half an hour ends
    max_bodies_bytes: int = 64 << 20  # bodies of requests that are not answered yet
    head_seconds: float = 10.0  # for the head of a request
    body_seconds: float = 30.0  # for its body, and for a client to read some of an answer
    max_streams: int = 512  # of events, with --http alone
    grace_seconds: float = 10.0  # after a signal, for what is under way, with --http alone


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`engine`: keyword arguments for Engine. All but it and `max_message_bytes` are for the MCP server."""

    engine: dict[str, Any] = field(default_factory=dict[str, Any])
    http: tuple[str, int] | None = None  # streamable HTTP at this host and port (0: any free one); else stdio
    allowed_hosts: tuple[
        str, ...
    ] = ()  # Host headers beside those of the address itself: "name:8000", "name:*"
    allowed_origins: tuple[str, ...] = ()  # Origin headers of browsers beside those of this machine
    http_limits: HttpLimits = field(default_factory=HttpLimits)
    tokens: str | None = None  # a file; else the environment has them
    no_tokens: bool = False  # everybody on this machine may do everything
    session: str | None = None  # names the stdio session; the same name later finds its runs in a store
    max_message_bytes: int = MAX_MESSAGE_BYTES
