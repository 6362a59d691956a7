"""The application: endpoints, events, files and metrics as one ASGI app; MCP is mounted beside them."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from codemode_snapshots import StoreFull, StoreUnavailable

from codemode.config import ConfigError
from codemode.engine import Engine
from codemode.serve.http.asked import ClientGone, HttpAsked
from codemode.serve.http.caller import HttpCaller
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.events_api import EventStream
from codemode.serve.http.files import ConsoleFiles
from codemode.serve.http.gate import TOKEN, Gate
from codemode.serve.http.inputs import EmptyBody, EventsQuery, read_body, read_query
from codemode.serve.http.journal import Journal
from codemode.serve.http.metrics import MetricsPage, engine_metrics
from codemode.serve.http.openapi import document
from codemode.serve.http.routes import ENDPOINTS, Endpoint
from codemode.serve.http.state import ServerState
from codemode.serve.mcp.door import App, Message, Receive, Send

if TYPE_CHECKING:  # loaded when it is served
    from starlette.requests import Request
    from starlette.responses import Response

_JSON = "application/json"
_NO_STORE = {"cache-control": "no-store"}


class HttpApi:
    """Serves one engine. `app` is the ASGI app behind the gate."""

    def __init__(self, engine: Engine, state: ServerState, files: ConsoleFiles, mcp: App | None) -> None:
        self._engine = engine
        self._state = state
        self._files = files
        self._mcp = mcp
        self.gate: Gate | None = None  # for its counts
        self.journal = Journal(engine)
        self._document = msgspec.json.encode(document())
        self._inner = self._starlette()

    async def app(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] != "/mcp":
            await self._inner(scope, receive, send)
        elif self._mcp is not None:
            if scope["type"] == "http":
                HttpCaller(scope[TOKEN]).require("run")
            await self._mcp(scope, receive, send)
        elif scope["type"] == "http":
            raise HttpRefused(404, 'MCP needs its SDK: pip install "codemode[mcp]".')
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)

    def _starlette(self) -> App:
        from starlette.exceptions import HTTPException
        from starlette.routing import Route, Router

        routes = [
            Route(one.path, partial(self._endpoint, one), methods=[one.method], name=one.name)
            for one in ENDPOINTS
        ]
        routes += [Route(path, self._file, methods=["GET"]) for path in sorted(self._files.paths)]
        routes += [
            Route("/v1/events", self._events, methods=["GET"]),
            Route("/v1/openapi.json", self._openapi, methods=["GET"]),
            Route("/metrics", self._metrics, methods=["GET"]),
            Route("/healthz", self._healthz, methods=["GET"]),
            Route("/readyz", self._readyz, methods=["GET"]),
        ]

        router = Router(routes, redirect_slashes=False)

        async def routed(scope: Message, receive: Receive, send: Send) -> None:
            """What goes wrong is the gate's to tell; with an `app` in the scope the router raises."""
            try:
                await router({**scope, "app": self}, receive, send)
            except HTTPException as error:
                told = {404: "There is no such path.", 405: "This path takes another method."}
                text = told.get(error.status_code, "This cannot be served.")
                raise HttpRefused(error.status_code, text) from None

        return routed

    # ---- endpoints -----------------------------------------------------------------------------------------

    async def _endpoint(self, one: Endpoint, request: Request) -> Response:
        asked = await self._asked(request, one.query, one.body or EmptyBody, one.right)
        try:
            with self._state.request():
                answer = await one.handler(asked)
        except ClientGone:
            return _json(b"{}", 400)  # nobody reads it
        except ConfigError as error:
            raise HttpRefused(400, str(error)) from None
        except (StoreUnavailable, StoreFull):
            raise HttpRefused(503, "The store cannot be reached now; try again.") from None
        return _json(msgspec.json.encode(answer))

    async def _asked(
        self, request: Request, query: type[Any], body: type[Any], right: Any
    ) -> HttpAsked[Any, Any]:
        caller = HttpCaller(request.scope[TOKEN])
        if right is not None:
            caller.require(right)
        data = await request.body()
        if data and request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
            raise HttpRefused(415, f"A body must be {_JSON}.")
        return HttpAsked(
            self._engine,
            self._state,
            caller,
            request.path_params,
            request.headers,
            read_query(request.query_params.multi_items(), query),
            read_body(data, body),
            request.receive,
        )

    async def _events(self, request: Request) -> Response:
        from starlette.responses import StreamingResponse

        asked = await self._asked(request, EventsQuery, EmptyBody, "read")
        asked.require_ready()
        stream, stack = EventStream(asked, self.journal), AsyncExitStack()
        token = stream.token
        stack.enter_context(self._state.stream(token.name, not token.digest))

        class FreeingStream(StreamingResponse):
            async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
                async with stack:  # the place is free again whatever ends the stream
                    await super().__call__(scope, receive, send)

        headers = {**_NO_STORE, "x-accel-buffering": "no"}
        return FreeingStream(stream.chunks(), media_type="text/event-stream", headers=headers)

    # ---- everything else -----------------------------------------------------------------------------------

    async def _openapi(self, request: Request) -> Response:
        HttpCaller(request.scope[TOKEN])
        return _json(self._document)

    async def _file(self, request: Request) -> Response:
        from starlette.responses import Response

        data, headers = self._files.read(request.url.path)
        if request.headers.get("if-none-match") == headers["etag"]:
            return Response(status_code=304, headers=headers)
        return Response(data, headers=headers)

    async def _metrics(self, request: Request) -> Response:
        from starlette.responses import Response

        HttpCaller(request.scope[TOKEN]).require("read")
        page = MetricsPage()
        engine_metrics(page, self._engine.stats(), self._engine.health())
        answered = Counter[int]() if self.gate is None else self.gate.answered
        page.add(
            "http_responses_total", "counter", "Answers over HTTP, by status.",
            [({"status": str(status)}, count) for status, count in sorted(answered.items())],
        )  # fmt: skip
        page.one("http_requests", "gauge", "Requests under way.", self._state.under_way)
        page.one("http_streams", "gauge", "Open event streams.", self._state.streams)
        page.one("draining", "gauge", "1 while nothing new is begun.", float(self._state.is_draining))
        text = "text/plain; version=0.0.4; charset=utf-8"
        return Response(str(page), media_type=text, headers=_NO_STORE)

    async def _healthz(self, _: Request) -> Response:
        return _json(b'{"status":"ok"}')

    async def _readyz(self, _: Request) -> Response:
        if self._state.is_draining:
            raise HttpRefused(503, "draining")
        if self._engine.health().status == "unavailable":
            raise HttpRefused(503, "no program can run")
        return _json(b'{"status":"ready"}')


def _json(data: bytes, status: int = 200) -> Response:
    from starlette.responses import Response

    return Response(data, status_code=status, media_type=_JSON, headers=_NO_STORE)


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
