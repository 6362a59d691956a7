"""One server, many users: what a call carries depends on who makes it.

The host's function gives headers (HTTP) or variables (a child process) for a caller; each set of them has a
connection of its own, because sessions and processes belong to whom they were opened for. Secrets stay in
this room: what a server says of them back is struck out before anybody else sees it.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import msgspec

from codemode.mcp.results import McpError
from codemode.mcp.servers import Server, Stdio
from codemode.tools import CallContext

_log = logging.getLogger("codemode.mcp")

_MIN_SECRET = 6  # shorter values are words that a server may well say by itself
_STRUCK = "[secret]"


@dataclass(frozen=True, slots=True)
class McpCaller:
    """Who makes the call, as the host named them in `exec`. An empty string: the host did not say."""

    agent: str = ""
    session: str = ""
    sender: str = ""
    channel: str = ""

    @classmethod
    def of(cls, context: CallContext) -> McpCaller:
        return cls(context.agent_id, context.session_id, context.sender, context.channel)


Given = str | Mapping[str, str] | None
# The caller is None where the engine itself connects, to read the list of tools.
Credentials = Callable[[McpCaller | None, str], "Given | Awaitable[Given]"]


async def ask_credentials(credentials: Credentials, caller: McpCaller | None, server: str) -> dict[str, str]:
    """Headers or variables; a token alone is a bearer token. Raises McpError, without what was given."""
    try:
        given: Any = credentials(caller, server)
        given = await given if inspect.isawaitable(given) else given
    except Exception as problem:
        _log.warning("credentials for %s could not be had: %s", server, type(problem).__name__)
        raise McpError(f"there are no credentials for {server}: the host could not give any") from None
    if given is None:
        return {}
    if isinstance(given, str):
        return {"Authorization": f"Bearer {given}"}
    if isinstance(given, Mapping):
        pairs = dict(cast("Mapping[Any, Any]", given))
        if all(isinstance(part, str) and "\0" not in part for pair in pairs.items() for part in pair):
            return pairs
    _log.warning("credentials for %s must be a token, or an object of strings", server)
    raise McpError(f"there are no credentials for {server}: the host gave something else")


def with_credentials(server: Server, given: Mapping[str, str]) -> Server:
    """The server as this caller reaches it. Raises McpError for a token where variables are needed."""
    if not given:
        return server
    transport = server.transport
    if isinstance(transport, Stdio):
        if "Authorization" in given:
            text = f"{server.name} is a command: its credentials are variables, such as {{'API_KEY': …}}"
            raise McpError(text)
        return replace(server, transport=replace(transport, env={**transport.env, **given}))
    own = {name.lower() for name in given}
    kept = {name: value for name, value in transport.headers.items() if name.lower() not in own}
    return replace(server, transport=replace(transport, headers={**kept, **given}))


class Secrets:
    """Strikes out values that were given as credentials, wherever a server repeats them."""

    def __init__(self, given: Mapping[str, str]) -> None:
        found = [part for value in given.values() for part in (value, value.partition(" ")[2])]
        self._texts = sorted({text for text in found if len(text) >= _MIN_SECRET}, key=len, reverse=True)

    def strike(self, text: str) -> str:
        for secret in self._texts:
            text = text.replace(secret, _STRUCK)
        return text

    def strike_result(self, result: dict[str, Any]) -> dict[str, Any]:
        if not self._texts:
            return result
        written = [msgspec.json.encode(secret)[1:-1] for secret in self._texts]
        said = msgspec.json.encode(result)
        if not any(secret in said for secret in written):
            return result
        for secret in written:
            said = said.replace(secret, _STRUCK.encode())
        return msgspec.json.decode(said)

    def strike_error(self, error: McpError) -> McpError:
        if not self._texts:
            return error
        data = error.data
        struck = None if data is None else self.strike_result({"data": data})["data"]
        made = type(error)(self.strike(str(error)))
        made.data, made.retryable = struck, error.retryable
        return made
