"""Who may use the MCP server over HTTP: bearer tokens with rights, and where clients read that they need one.

A request without a good token gets 401 and the address of the protected resource metadata (RFC 9728), as MCP
has it; one whose token may not run programs gets 403 and the right that it lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from codemode.serve.mcp.door import App, Message, Receive, Send
from codemode.serve.tokens import Right, Tokens, bearer

WELL_KNOWN = "/.well-known/oauth-protected-resource"
NEEDED: Right = "run"


class TokenGuard:
    """In front of the SDK's app. `resource` is the URL that clients call the server by."""

    def __init__(
        self, app: App, tokens: Tokens, resource: str, path: str, auth_servers: Sequence[str] = ()
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._path = path
        self._place = f"{resource.removesuffix(path)}{WELL_KNOWN}{path}"
        self._metadata: dict[str, Any] = {
            "resource": resource,
            "resource_name": "codemode",
            "scopes_supported": [NEEDED],
            "bearer_methods_supported": ["header"],
        }
        if auth_servers:
            self._metadata["authorization_servers"] = list(auth_servers)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] in ("GET", "HEAD") and scope["path"] in (WELL_KNOWN, WELL_KNOWN + self._path):
            await _answer(send, 200, self._metadata)
        elif (refusal := self._refusal(scope)) is not None:
            status, challenge, text = refusal
            body = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": text}}
            await _answer(send, status, body, f'Bearer {challenge}resource_metadata="{self._place}"')
        else:
            await self._app(scope, receive, send)

    def _refusal(self, scope: Message) -> tuple[int, str, str] | None:
        given = [value for name, value in scope["headers"] if name.lower() == b"authorization"]
        secret = bearer(given[0].decode("latin-1")) if len(given) == 1 else None
        token = None if secret is None else self._tokens.find(secret)
        if token is None:
            wrong = 'error="invalid_token", ' if given else ""
            return 401, f'{wrong}scope="{NEEDED}", ', "A token is needed: Authorization: Bearer TOKEN."
        if not token.may(NEEDED):
            return 403, f'error="insufficient_scope", scope="{NEEDED}", ', "This token may not run programs."
        return None


async def _answer(send: Send, status: int, body: dict[str, Any], challenge: str = "") -> None:
    data = msgspec.json.encode(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
    headers.append((b"cache-control", b"no-store"))
    if challenge:
        headers.append((b"www-authenticate", challenge.encode("latin-1")))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": data})
