"""What every request passes first: the right Host, no foreign page, a known token. Counts what is refused.

It is the outermost part behind the door (serve/mcp/door.py) that bounds bodies. What it refuses has the one
shape of errors, and says nothing about runs.
"""

from __future__ import annotations

import logging
import secrets
from collections import Counter
from collections.abc import Sequence

from codemode.serve.address import is_accepted
from codemode.serve.http.errors import HttpRefused, error_body
from codemode.serve.mcp.connections import RETRY_SECONDS
from codemode.serve.mcp.door import App, Message, Receive, Send
from codemode.serve.tokens import EVERYBODY, Token, Tokens, bearer

_log = logging.getLogger("codemode.serve")
TOKEN = "codemode.token"  # noqa: S105 - the key of a request's token in its scope
_MAX_HEAD_BYTES = 64 << 10
OPEN = ("/healthz", "/readyz")
# Beside the console's own policy: nothing that the API answers is a page.
_COMMON = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Gate:
    """In front of the API, the console and MCP."""

    def __init__(
        self,
        app: App,
        tokens: Tokens | None,
        hosts: Sequence[str],
        origins: Sequence[str],
        is_public: frozenset[str],
    ) -> None:
        """`tokens` is None for a server that needs none. `is_public`: the paths of files that everybody may
        read; the console asks for a token itself."""
        self._app = app
        self._tokens = tokens
        self._hosts = hosts
        self._origins = origins
        self._is_public = is_public
        self.answered: Counter[int] = Counter()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_begun = False

        async def told(message: Message) -> None:
            nonlocal is_begun
            if message["type"] == "http.response.start":
                is_begun = True
                self.answered[message["status"]] += 1
                message = {**message, "headers": [*message["headers"], *_COMMON]}
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, receive, told)
        except HttpRefused as refused:
            await refuse(told, refused, is_head=scope["method"] == "HEAD")
        except Exception:
            request_id = secrets.token_hex(8)
            _log.exception("a request failed (%s): %s %s", request_id, scope["method"], scope["path"])
            if not is_begun:
                failed = HttpRefused(500, "The server failed; its log has this id.", request_id)
                await refuse(told, failed, is_head=scope["method"] == "HEAD")

    def _check(self, scope: Message) -> None:
        """Raises HttpRefused."""
        head = sum(len(name) + len(value) for name, value in scope["headers"]) + len(scope["query_string"])
        if head > _MAX_HEAD_BYTES:
            raise HttpRefused(431, f"The head of a request may have {_MAX_HEAD_BYTES} bytes.")
        headers = _single(scope)
        if not is_accepted(headers.get("host", ""), self._hosts):
            raise HttpRefused(421, "This server is not called by that name; --allow-host makes it known.")
        origin = headers.get("origin")
        if origin is not None and not is_accepted(origin, self._origins):
            raise HttpRefused(403, "Pages of that origin may not use this server.")
        path = scope["path"]
        if path in OPEN or path in self._is_public:
            return
        scope[TOKEN] = self._token(headers.get("authorization"))

    def _token(self, given: str | None) -> Token:
        if self._tokens is None:
            return EVERYBODY
        secret = bearer(given)
        found = None if secret is None else self._tokens.find(secret)
        if found is None:
            raise HttpRefused(401, "A token is needed: Authorization: Bearer TOKEN.")
        return found


def _single(scope: Message) -> dict[str, str]:
    """Raises HttpRefused for a header that is given twice: a proxy and we might read different ones."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in ("host", "origin", "authorization", "content-type"):
            raise HttpRefused(400, f"The header {key} is given twice.")
        found[key] = value.decode("latin-1")
    return found


async def refuse(send: Send, refused: HttpRefused, *, is_head: bool = False) -> None:
    body = error_body(refused.status, str(refused), refused.request_id)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    headers.append((b"cache-control", b"no-store"))
    if refused.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="codemode"'))
    if refused.status in (429, 503):
        headers.append((b"retry-after", b"%d" % RETRY_SECONDS))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if is_head else body})
