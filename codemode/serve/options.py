"""What both servers are told. Data only: whoever starts them (the command line) fills it in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

MAX_MESSAGE_BYTES = 16 << 20  # one message in either direction: above the largest result of a tool


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """`engine` are keyword arguments for Engine. The rest but `max_message_bytes` is for the MCP server."""

    engine: dict[str, Any] = field(default_factory=dict[str, Any])
    http: tuple[str, int] | None = None  # streamable HTTP at this host and port (0: any free one); else stdio
    allowed_hosts: tuple[
        str, ...
    ] = ()  # Host headers beside those of the address itself: "name:8000", "name:*"
    allowed_origins: tuple[str, ...] = ()  # Origin headers of browsers beside those of this machine
    session: str | None = None  # the name of the stdio session: the same again finds its runs in a store
    max_message_bytes: int = MAX_MESSAGE_BYTES
