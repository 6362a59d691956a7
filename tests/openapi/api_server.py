"""A small API with an OpenAPI document, served for tests; it remembers what it was asked."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

PET = {"$ref": "#/components/schemas/Pet"}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets": {
            "get": {
                "operationId": "list-pets",
                "summary": "All pets.",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 10}},
                    {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                    {
                        "name": "ids",
                        "in": "query",
                        "explode": False,
                        "schema": {"type": "array", "items": {"type": "integer"}},
                    },
                    {
                        "name": "filter",
                        "in": "query",
                        "style": "deepObject",
                        "schema": {"type": "object", "properties": {"age": {"type": "integer"}}},
                    },
                    {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
                ],
                "responses": {
                    "200": {"content": {"application/json": {"schema": {"type": "array", "items": PET}}}}
                },
            },
            "post": {
                "operationId": "createPet",
                "requestBody": {"required": True, "content": {"application/json": {"schema": PET}}},
                "responses": {"201": {"content": {"application/json": {"schema": PET}}}},
            },
        },
        "/pets/{petId}": {
            "parameters": [{"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}],
            "get": {"operationId": "getPet", "responses": {"default": {"description": "a pet"}}},
            "delete": {"operationId": "deletePet", "responses": {"204": {"description": "gone"}}},
        },
        "/photo": {
            "get": {"operationId": "getPhoto", "responses": {"200": {"content": {"image/png": {}}}}},
            "post": {
                "operationId": "putPhoto",
                "requestBody": {
                    "content": {
                        "multipart/form-data": {
                            "schema": {
                                "type": "object",
                                "properties": {"title": {"type": "string"}, "file": {}},
                            }
                        }
                    }
                },
                "responses": {"200": {"content": {"text/plain": {}}}},
            },
        },
        "/login": {
            "post": {
                "operationId": "login",
                "requestBody": {
                    "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}
                },
                "responses": {"200": {"content": {"application/json": {}}}},
            }
        },
        "/away": {"get": {"operationId": "goAway", "responses": {}}},
        "/busy": {"get": {"operationId": "beBusy", "responses": {}}},
    },
    "components": {
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string"},
                    "age": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "friend": {"nullable": True, "allOf": [PET]},
                },
            }
        }
    },
}


class PetServer:
    def __init__(self) -> None:
        self.url = ""
        self.asked: list[tuple[str, str, dict[str, str]]] = []  # method, raw path and query, headers

    async def answer(self, request: Request) -> Response:
        raw = request.scope["raw_path"].decode()
        query = request.scope["query_string"].decode()
        self.asked.append((request.method, f"{raw}?{query}" if query else raw, dict(request.headers)))
        match request.method, request.url.path.removeprefix("/v1"):
            case "GET", "/pets":
                return JSONResponse([{"name": "Rex"}])
            case "POST", "/pets":
                return JSONResponse(await request.json(), 201)
            case "GET", "/photo":
                return Response(b"\x89PNG", media_type="image/png")
            case "POST", "/photo":
                return await self._upload(request)
            case "POST", "/login":
                async with request.form() as form:
                    return JSONResponse(dict(form))
            case "GET", "/away":
                return RedirectResponse("http://127.0.0.1:1/")
            case "GET", "/busy":
                return PlainTextResponse("later", 503)
            case "DELETE", _:
                return Response(status_code=204)
            case _:
                return JSONResponse({"problem": "no such pet"}, 404)

    async def _upload(self, request: Request) -> Response:
        async with request.form() as form:
            file: Any = form["file"]
            return PlainTextResponse(f"{form['title']} {file.content_type} {len(await file.read())}")


@asynccontextmanager
async def pet_server() -> AsyncGenerator[PetServer]:
    made = PetServer()
    methods = ["GET", "POST", "DELETE"]
    app = Starlette(routes=[Route("/{rest:path}", made.answer, methods=methods)])
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        made.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield made
        finally:
            server.should_exit = True
            await serving
