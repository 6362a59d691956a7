"""Fetches a page over HTTP for `web_fetch`: bounded in time, bytes and redirects, to public addresses only.

Each connection resolves its host itself, judges every address that comes back, and connects to one of those:
nothing is resolved a second time between the check and the use. Proxies of the environment are not used,
because behind one nobody knows where a request leads.
"""

from __future__ import annotations

import asyncio
import socket
import zlib
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from codemode.config import ConfigError
from codemode.toolbox.addresses import is_public
from codemode.tools import InvalidArguments, ToolError

if TYPE_CHECKING:
    import httpcore2

_MAX_URL = 4_096
_MAX_REDIRECTS = 5
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_AGENT = "codemode-web-fetch/1"
_PATH_CHARACTERS = "/:@!$&'()*+,;=~-._%"


@dataclass(frozen=True, slots=True)
class WebLimits:
    """What one `web_fetch` may take, and what is kept of earlier ones."""

    seconds: float = 20.0
    page_bytes: int = 4 * 1024 * 1024  # read of a page; the rest is left
    text_bytes: int = 64 * 1024  # in one answer
    cache_seconds: float = 900.0
    cache_bytes: int = 8 * 1024 * 1024
    private_hosts: tuple[str, ...] = ()  # `host` or `host:port`: may be reached though they are not public


@dataclass(frozen=True, slots=True)
class Fetched:
    url: str  # after redirects
    status: int
    content_type: str
    charset: str
    body: bytes
    is_cut: bool  # the page is longer


def load_http() -> Any:
    """The HTTP library of the extra `web`. Raises ConfigError where it is missing."""
    try:
        import httpcore2
    except ImportError:
        raise ConfigError("toolbox", 'web_fetch needs more packages: pip install "codemode[web]".') from None
    return httpcore2


def checked_url(url: str) -> str:
    """The URL as it is requested: ASCII, without its fragment. Raises InvalidArguments."""
    if len(url) > _MAX_URL or any(ord(letter) < 0x21 or letter == "\\" for letter in url.strip()):
        raise InvalidArguments(f"A URL has at most {_MAX_URL} characters, no spaces and no backslashes.")
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise InvalidArguments(f"{url[:100]!r} is not a URL: {error}.") from None
    if parts.scheme.lower() not in ("http", "https"):
        raise InvalidArguments(f"Only http and https are fetched, not {parts.scheme[:20] or url[:40]!r}.")
    if not host:
        raise InvalidArguments(f"{url[:100]!r} has no host.")
    if parts.username is not None or parts.password is not None:
        raise InvalidArguments("A URL with a name or a password in it is not fetched.")
    try:
        ascii_host = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise InvalidArguments(f"{host[:100]!r} is not a host name.") from None
    place = f"[{ascii_host}]" if ":" in ascii_host else ascii_host
    place = place if port is None else f"{place}:{port}"
    path = quote(parts.path or "/", safe=_PATH_CHARACTERS)
    query = quote(parts.query, safe=_PATH_CHARACTERS + "?[]")
    return urlunsplit((parts.scheme.lower(), place, path, query, ""))


class Fetcher:
    """Makes requests; each has a connection of its own, so nothing of one request is left for another."""

    def __init__(self, limits: WebLimits) -> None:
        self._limits = limits
        self._http = load_http()
        self._backend = _backend(self._http, frozenset(one.casefold() for one in limits.private_hosts))

    async def get(self, url: str) -> Fetched:
        """Raises ToolError and InvalidArguments, never another exception for what a server did."""
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._follow(checked_url(url))
        except TimeoutError:
            told = f"{url[:200]} did not answer within {self._limits.seconds:g} s."
            raise ToolError(told, code="timeout", retryable=True) from None
        except (self._http.TimeoutException, self._http.NetworkError, self._http.ProtocolError) as error:
            told = f"{url[:200]} could not be fetched: {_reason(error)}."
            raise ToolError(told, code="unreachable", retryable=True) from None

    async def _follow(self, url: str) -> Fetched:
        for _ in range(_MAX_REDIRECTS + 1):
            found = await self._request(url)
            if isinstance(found, Fetched):
                return found
            url = checked_url(urljoin(url, found))
        raise ToolError(f"More than {_MAX_REDIRECTS} redirects, the last to {url[:200]}.", code="redirects")

    async def _request(self, url: str) -> Fetched | str:
        """The page, or where it says that it is."""
        headers = {
            "host": urlsplit(url).netloc,
            "user-agent": _AGENT,
            "accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
            "accept-encoding": "gzip, deflate",
            "connection": "close",
        }
        pool = self._http.AsyncConnectionPool(network_backend=self._backend, max_connections=1)
        async with pool, pool.stream("GET", url, headers=list(headers.items())) as response:
            told = _headers(response.headers)
            if response.status in _REDIRECTS and told.get("location"):
                return told["location"]
            unpack = _Unpacker(told.get("content-encoding", ""), self._limits.page_bytes)
            async with aclosing(response.aiter_stream()) as chunks:
                async for chunk in chunks:
                    if unpack.add(chunk):
                        break
            content_type, charset = _content_type(told.get("content-type", ""))
            return Fetched(url, response.status, content_type, charset, bytes(unpack.body), unpack.is_full)


def _backend(http: Any, private: frozenset[str]) -> httpcore2.AsyncNetworkBackend:
    """A class of a library that is loaded on use is made on use."""

    class PublicOnly(http.AsyncNetworkBackend):
        def __init__(self) -> None:
            self._inner = http.AnyIOBackend()

        async def connect_tcp(
            self,
            host: str,
            port: int,
            timeout: float | None = None,  # noqa: ASYNC109 - the library's own
            local_address: str | None = None,
            socket_options: Iterable[Any] | None = None,
        ) -> Any:
            addresses = await _resolved(host, port)
            is_allowed = not private.isdisjoint({host.casefold(), f"{host.casefold()}:{port}"})
            if not is_allowed and not all(map(is_public, addresses)):
                raise ToolError(
                    f"{host[:200]} is not on the public internet, and so is not fetched.",
                    code="address_refused",
                    suggestion="Only the host of this agent can allow it.",
                )
            failure: Exception | None = None
            for address in addresses[:4]:
                try:
                    return await self._inner.connect_tcp(
                        address, port, timeout, local_address, socket_options
                    )
                except (http.ConnectError, http.ConnectTimeout) as error:
                    failure = error
            raise failure or http.ConnectError("no address")

        async def connect_unix_socket(self, *_: Any, **__: Any) -> Any:
            raise http.ConnectError("no sockets of this machine")

        async def sleep(self, seconds: float) -> None:
            await self._inner.sleep(seconds)

    return PublicOnly()


async def _resolved(host: str, port: int) -> list[str]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise ToolError(
            f"There is no host {host[:200]!r}, or it cannot be looked up now.", code="unknown_host"
        ) from None
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


class _Unpacker:
    """Collects a body up to a number of bytes, whatever they are packed in."""

    def __init__(self, encoding: str, most: int) -> None:
        self.body = bytearray()
        self.is_full = False
        self._most = most
        match encoding.strip().lower():
            case "" | "identity":
                self._inflate = None
            case "gzip" | "x-gzip" | "deflate":
                self._inflate = zlib.decompressobj(wbits=47)  # either of them, by its head
            case other:
                raise ToolError(f"The page is packed as {other[:40]!r}, which is not read.", code="not_text")

    def add(self, chunk: bytes) -> bool:
        """Returns whether that is enough."""
        room = self._most - len(self.body)
        if self._inflate is not None:
            try:
                chunk = self._inflate.decompress(chunk, room + 1)
            except zlib.error as error:
                raise ToolError(f"The page is packed wrongly: {error}.", code="not_text") from None
        self.is_full = len(chunk) > room
        self.body += chunk[:room]
        return self.is_full


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}


def _content_type(header: str) -> tuple[str, str]:
    kind, *parameters = header.split(";")
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return kind.strip().lower(), value.strip(" \"'").lower()
    return kind.strip().lower(), ""


def _reason(error: Exception) -> str:
    return str(error)[:200].rstrip(".") or type(error).__name__
