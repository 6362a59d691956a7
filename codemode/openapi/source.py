"""The APIs of an engine: their tools, and the one HTTP client that carries all calls."""

from __future__ import annotations

import fnmatch
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from codemode.config import ConfigError
from codemode.openapi.documents import Api, read_apis
from codemode.openapi.operations import Operation, read_operations
from codemode.openapi.requests import answer_of, request_of
from codemode.tools import CallContext, Tool, ToolDefinitionError, ToolError, ToolHints
from codemode.tools.threads import call_in_thread

if TYPE_CHECKING:  # the first call loads it
    import httpx2

_log = logging.getLogger("codemode.openapi")

_READING = ("GET", "HEAD", "OPTIONS")


class OpenApiSource:
    """`tools` once, then calls; `close` with the engine."""

    def __init__(self, given: object) -> None:
        """`given` is the argument of Engine. Raises ConfigError."""
        self._apis = read_apis(given)
        if self._apis and find_spec("httpx2") is None:
            raise ConfigError("openapi", 'needs an HTTP client: pip install "codemode[openapi]".')
        self._client: httpx2.AsyncClient | None = None
        self.tools: tuple[Tool, ...] = tuple(tool for api in self._apis for tool in self._tools(api))

    def _tools(self, api: Api) -> list[Tool]:
        made: list[Tool] = []
        for operation in read_operations(api):
            if not _is_offered(api, operation.name):
                continue
            try:
                made.append(self._tool(api, operation))
            except ToolDefinitionError as problem:
                _log.warning("%s: an operation is left out: %.300s", api.name, problem)
        if not made:
            raise ConfigError(f"openapi.{api.name}", "offers no operation: see document, allow and exclude.")
        return made

    def _tool(self, api: Api, operation: Operation) -> Tool:
        async def run(arguments: dict[str, Any], context: CallContext) -> Any:
            return await self._call(api, operation, arguments, context)

        is_reading = operation.method in _READING
        hints = ToolHints(
            read_only=is_reading,
            destructive=operation.method in ("DELETE", "PUT", "PATCH"),
            idempotent=is_reading,
            timeout_ms=api.timeout_ms,
            concurrency=32,
        )
        return Tool(
            operation.name,
            operation.description,
            operation.schema,
            run,
            operation.returns,
            "plugin",
            api.name,
            hints=hints,
        )

    async def _call(
        self, api: Api, operation: Operation, arguments: dict[str, Any], context: CallContext
    ) -> Any:
        import httpx2

        client = await self._opened()
        request = request_of(client, api, operation, arguments, context)
        try:
            response = await client.send(request, stream=True)
            try:
                return await answer_of(response, operation)
            finally:
                await response.aclose()
        except httpx2.TransportError as problem:  # its text may name the address, which is the host's
            text = f"{api.name} cannot be reached: {type(problem).__name__}"
            raise ToolError(text, code="unreachable", retryable=True) from None

    async def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            import httpx2

            trusted = await call_in_thread("certificates", httpx2.create_ssl_context)
            # the call has its own time-out; redirects would carry the credentials elsewhere
            made = httpx2.AsyncClient(
                verify=trusted, timeout=httpx2.Timeout(30.0, read=None), follow_redirects=False
            )
            if self._client is None:
                self._client = made
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()


def _is_offered(api: Api, name: str) -> bool:
    def matches(patterns: tuple[str, ...]) -> bool:
        return any(fnmatch.fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns)

    return matches(api.allow) and not matches(api.exclude)
