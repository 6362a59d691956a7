"""Logging in to MCP servers over HTTP: the SDK's OAuth client, with logins that outlive the process.

The SDK does what the specification says: metadata, PKCE, client id metadata documents, registration, the
issuer's check, refreshing, more scopes. This adds what a long-lived host needs: tokens with their expiry and
their server's metadata in a store, requests side by side while the token is good, and a clear word where a
person must log in and nobody is there.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
import msgspec
from mcp.client.auth import OAuthClientProvider
from mcp.client.auth.utils import extract_field_from_www_auth
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from codemode.config import ConfigError
from codemode.mcp.results import McpError
from codemode.mcp.servers import Http, OAuth
from codemode.mcp.token_store import TokenStore

# Shows a person the URL, and returns the URL that they were sent back to.
Login = Callable[[str, str], "Awaitable[str] | str"]


class LoginNeeded(McpError):
    """Only a person can go on: `codemode mcp login`."""

    def __init__(self, server: str) -> None:
        super().__init__(f"the MCP server {server} needs a login: `codemode mcp login {server}`")


class _KeptLogin(msgspec.Struct, omit_defaults=True):
    """A login as the store has it. Texts are the SDK's own JSON."""

    tokens: str = ""
    expires_at: float = 0.0
    client: str = ""
    metadata: str = ""


class _Storage:
    """The SDK's TokenStorage on a TokenStore."""

    def __init__(self, store: TokenStore, http: Http) -> None:
        self._store = store
        self._http = http
        self.metadata: Callable[[], OAuthMetadata | None] = lambda: None

    async def kept(self) -> _KeptLogin:
        text = await self._store.load(self._http.url)
        try:
            return msgspec.json.decode(text, type=_KeptLogin) if text else _KeptLogin()
        except msgspec.MsgspecError:
            return _KeptLogin()

    async def get_tokens(self) -> OAuthToken | None:
        text = (await self.kept()).tokens
        return OAuthToken.model_validate_json(text) if text else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        kept = await self.kept()
        kept.tokens = tokens.model_dump_json(exclude_none=True)
        kept.expires_at = time.time() + tokens.expires_in if tokens.expires_in else 0.0
        metadata = self.metadata()
        if metadata is not None:
            kept.metadata = metadata.model_dump_json(exclude_none=True)
        await self._save(kept)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        own = self._http.oauth
        if own.client_id:
            method = "client_secret_basic" if own.client_secret else "none"
            return OAuthClientInformationFull(
                client_id=own.client_id,
                client_secret=own.client_secret or None,
                redirect_uris=[AnyUrl(own.redirect_uri)],
                token_endpoint_auth_method=method,
            )
        text = (await self.kept()).client
        return OAuthClientInformationFull.model_validate_json(text) if text else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        kept = await self.kept()
        kept.client = client_info.model_dump_json(exclude_none=True)
        await self._save(kept)

    async def _save(self, kept: _KeptLogin) -> None:
        await self._store.save(self._http.url, msgspec.json.encode(kept).decode())


class StoredLogin(OAuthClientProvider):
    def __init__(self, name: str, http: Http, store: TokenStore, login: Login | None) -> None:
        self._name = name
        self._login = login
        self._kept_in = _Storage(store, http)
        self._answer: AuthorizationCodeResult | None = None
        own = http.oauth
        metadata = OAuthClientMetadata(
            client_name="codemode",
            redirect_uris=[AnyUrl(own.redirect_uri)],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
            scope=own.scope or None,
        )
        super().__init__(
            http.url, metadata, self._kept_in, self._show, self._answered, own.client_metadata_url or None
        )
        self._kept_in.metadata = lambda: self.context.oauth_metadata

    async def _initialize(self) -> None:
        """With what the SDK does not keep: when the token ends, and where it is refreshed."""
        await super()._initialize()
        kept = await self._kept_in.kept()
        self.context.token_expiry_time = kept.expires_at or None
        if kept.metadata and self.context.oauth_metadata is None:
            self.context.oauth_metadata = OAuthMetadata.model_validate_json(kept.metadata)

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """While the token is good, requests go side by side; the SDK's flow lets one through at a time."""
        context = self.context
        if not self._initialized:
            async with context.lock:
                if not self._initialized:
                    await self._initialize()
        if context.is_token_valid():
            used = context.current_tokens
            self._add_auth_header(request)
            response = yield request
            if not _is_refused(response):
                return
            if response.status_code == 401 and context.current_tokens is used and context.can_refresh_token():
                context.token_expiry_time = 1.0  # refuse it as the server did: the flow below refreshes
        flow = super().async_auth_flow(request)
        try:
            outgoing = await flow.__anext__()
            while True:
                answer = yield outgoing
                outgoing = await flow.asend(answer)
        except StopAsyncIteration:
            return
        finally:
            await flow.aclose()

    async def _show(self, url: str) -> None:
        if self._login is None:
            raise LoginNeeded(self._name)
        given: Any = self._login(self._name, url)
        self._answer = read_answer(cast("str", await given if inspect.isawaitable(given) else given))

    async def _answered(self) -> AuthorizationCodeResult:
        assert self._answer is not None, "asked for after it was shown"
        return self._answer


def read_answer(url: str) -> AuthorizationCodeResult:
    """What the server sent a person back with. Raises ConfigError without repeating it."""
    found = parse_qs(urlsplit(url.strip()).query)
    if "error" in found:
        raise ConfigError("login", f"was refused: {found['error'][0][:80]}.")
    if "code" not in found:
        raise ConfigError("login", "needs the whole URL that you were sent to, with code= in it.")
    one = {name: values[0] for name, values in found.items()}
    return AuthorizationCodeResult(code=one["code"], state=one.get("state"), iss=one.get("iss"))


async def auth_for(name: str, http: Http, store: TokenStore, login: Login | None) -> StoredLogin | None:
    """None where there is neither a login nor anybody to log in: then nothing is asked of any server."""
    if http.oauth is OAuth.OFF or any(key.lower() == "authorization" for key in http.headers):
        return None
    if login is None and not await store.load(http.url):
        return None
    return StoredLogin(name, http, store, login)


def _is_refused(response: httpx2.Response) -> bool:
    if response.status_code == 403:
        return extract_field_from_www_auth(response, "error") == "insufficient_scope"
    return response.status_code == 401
