"""A running `codemode serve --http`, for commands that act on it: plain requests with a token."""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Generator
from contextlib import suppress
from typing import Any, cast
from urllib.parse import quote, urlsplit

from codemode.cli.errors import CommandError, ExitCode

_SECONDS = 30.0
_MAX_ANSWER = 64 << 20


class Remote:
    """Raises CommandError for what cannot be asked or is refused."""

    def __init__(self, url: str, token: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandError(f"--server {url}: must be http://HOST:PORT")
        self._parts = parts
        self._token = token or os.environ.get("CODEMODE_HTTP_TOKEN")

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        connection, answer = self._begin(method, path, body, _SECONDS)
        try:
            data = answer.read(_MAX_ANSWER)
        except OSError as error:
            raise CommandError(f"{self._parts.geturl()}: {error}", ExitCode.UNAVAILABLE) from None
        finally:
            connection.close()
        return self._read(answer.status, data)

    def _read(self, status: int, data: bytes) -> Any:
        try:
            found: Any = json.loads(data)
        except ValueError:
            found = None
        if status == 200 and found is not None:
            return found
        told = ""
        with suppress(TypeError, KeyError):
            told = str(cast("Any", found)["error"]["message"])
        code = ExitCode.UNAVAILABLE if status >= 500 else ExitCode.FAILED
        raise CommandError(f"{self._parts.geturl()} answers {status}: {told or 'not as codemode does'}", code)

    def _begin(
        self, method: str, path: str, body: dict[str, Any] | None, seconds: float
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=seconds)
        headers = {"content-type": "application/json"} if body is not None else {}
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        base = self._parts.path.rstrip("/")
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, f"{base}{path}", data, headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException, ValueError) as error:
            connection.close()
            text = f"{self._parts.geturl()} cannot be reached: {error}"
            raise CommandError(text, ExitCode.UNAVAILABLE) from None

    def events(self, types: str) -> Generator[dict[str, Any]]:
        """What happens from now on, until the server ends the stream."""
        connection, answer = self._begin("GET", f"/v1/events?types={quote(types)}", None, 60.0)
        try:
            if answer.status != 200:
                self._read(answer.status, answer.read(_MAX_ANSWER))
            for line in answer:
                if line.startswith(b"data: "):
                    yield json.loads(line[6:])
        except OSError as error:
            raise CommandError(f"{self._parts.geturl()}: {error}", ExitCode.UNAVAILABLE) from None
        finally:
            connection.close()
