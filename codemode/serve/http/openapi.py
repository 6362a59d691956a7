"""The OpenAPI document, made from the table of endpoints and the shapes that read requests."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

import codemode
from codemode.serve.http.answers import ERROR
from codemode.serve.http.inputs import EventsQuery
from codemode.serve.http.routes import ENDPOINTS, Endpoint

_ALWAYS = {400: "not as this document says", 401: "no known token", 403: "not with this token"}
_TOLD = {
    404: "not for this token, or not at all",
    409: "not as it is now",
    413: "too large",
    415: "not JSON",
    429: "too many streams",
    503: "not now",
}
_ERROR = {"$ref": "#/components/schemas/Error"}


def document() -> dict[str, Any]:
    bodies = [one.body for one in ENDPOINTS if one.body is not None]
    _, components = msgspec.json.schema_components(bodies, ref_template="#/components/schemas/{name}")
    paths: dict[str, Any] = {}
    for one in ENDPOINTS:
        paths.setdefault(_path(one.path), {})[one.method.lower()] = _operation(one)
    paths["/v1/events"] = {"get": _events()}
    for path, told in (("/healthz", "Whether the process answers"), ("/readyz", "Whether it takes work")):
        paths[path] = {"get": _probe(path, told)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "codemode",
            "version": codemode.__version__,
            "description": "An engine that runs programs of models. docs/http.md tells what is meant.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": components | {"Error": ERROR},
        },
    }


def _operation(one: Endpoint) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "description": f"Needs the right `{one.right}`." if one.right else "Any token.",
        "parameters": [*_path_parameters(one.path), *_query_parameters(one.query)],
        "responses": {"200": _answered("done", one.answer), **_refusals(one)},
    }
    if one.body is not None:
        required = any(field.required for field in msgspec.structs.fields(one.body))
        schema = {"$ref": f"#/components/schemas/{one.body.__name__}"}
        found["requestBody"] = {"required": required, "content": {"application/json": {"schema": schema}}}
    return found


def _answered(told: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": told, "content": {"application/json": {"schema": schema}}}


def _refusals(one: Endpoint) -> dict[str, Any]:
    statuses = {*one.refusals, 503, *((413, 415) if one.body is not None else ())}
    told = _ALWAYS | {status: _TOLD[status] for status in sorted(statuses)}
    return {str(status): _answered(text, _ERROR) for status, text in told.items()}


def _path(path: str) -> str:
    return re.sub(r"{(\w+):\w+}", r"{\1}", path)


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)", path)
    ]


def _query_parameters(shape: type[Struct]) -> list[dict[str, Any]]:
    if not msgspec.structs.fields(shape):
        return []
    schema = msgspec.json.schema(shape)
    properties = schema["$defs"][shape.__name__]["properties"]
    return [
        {"name": name, "in": "query", "required": False, "schema": _plain(found)}
        for name, found in properties.items()
    ]


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null: a name is there or is not."""
    found = {key: value for key, value in schema.items() if key != "default"}
    kinds = [kind for kind in found.get("anyOf", ()) if kind != {"type": "null"}]
    return kinds[0] if "anyOf" in found and len(kinds) == 1 else found


def _events() -> dict[str, Any]:
    kinds = {"text/event-stream": {"schema": {"type": "string"}}}
    stream = {"description": "events until one side ends", "content": kinds}
    header = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "pattern": r"^[0-9a-f]+\.[0-9]{1,15}$"},
    }
    told = _ALWAYS | {429: _TOLD[429], 503: _TOLD[503]}
    return {
        "operationId": "events",
        "summary": "What happens, as it happens",
        "description": "Needs the right `read`. A stream that broke is taken up by its id.",
        "parameters": [*_query_parameters(EventsQuery), header],
        "responses": {
            "200": stream,
            **{str(status): _answered(text, _ERROR) for status, text in told.items()},
        },
    }


def _probe(path: str, told: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    answers: dict[str, Any] = {"200": _answered("yes", schema)}
    if path == "/readyz":
        answers["503"] = _answered("no", _ERROR)
    return {"operationId": path[1:], "summary": told, "security": [], "responses": answers}
