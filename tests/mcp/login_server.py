"""An MCP server with its own authorization server, both of the official SDK: `login_server.py PORT FILE`.

FILE gets a line for each grant. Access tokens of a login are refused from the moment that FILE.expired
exists; those that were refreshed are good.
"""

import secrets
import sys
import time
from pathlib import Path

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

PORT, LOG = int(sys.argv[1]), Path(sys.argv[2])
URL = f"http://127.0.0.1:{PORT}"


def note(what: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{what}\n")


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Says yes to everybody, in memory."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.access: dict[str, tuple[AccessToken, str]] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        note("registered")
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        note("authorized")
        assert client.client_id is not None
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=f"{URL}/"
        )

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._granted("code", authorization_code.client_id, authorization_code.scopes)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refresh[refresh_token.token]
        return self._granted("refresh", refresh_token.client_id, scopes or refresh_token.scopes)

    def _granted(self, how: str, client: str, scopes: list[str]) -> OAuthToken:
        note(f"token by {how}")
        token, refresh = f"at-{secrets.token_urlsafe()}", f"rt-{secrets.token_urlsafe()}"
        self.access[token] = AccessToken(token=token, client_id=client, scopes=scopes), how
        self.refresh[refresh] = RefreshToken(token=refresh, client_id=client, scopes=scopes)
        return OAuthToken(access_token=token, expires_in=3600, refresh_token=refresh, scope=" ".join(scopes))

    async def load_access_token(self, token: str) -> AccessToken | None:
        found, how = self.access.get(token, (None, ""))
        if how == "code" and LOG.with_suffix(".expired").exists():
            note("refused")
            return None
        return found

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        pass


server = MCPServer(
    "private",
    auth_server_provider=Provider(),
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(URL),
        resource_server_url=AnyHttpUrl(f"{URL}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
        required_scopes=["notes"],
    ),
)


@server.tool(structured_output=False)
def secret_note() -> str:
    """Only for those who have logged in."""
    return "the cake is in the fridge"


if __name__ == "__main__":
    server.run("streamable-http", port=PORT)
