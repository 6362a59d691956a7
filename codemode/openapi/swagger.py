"""OpenAPI 2 (Swagger) in the shape of version 3: parameters, bodies, responses, servers. Pure."""

from __future__ import annotations

from typing import Any, cast

Json = dict[str, Any]
_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_FILE = {"type": "string", "format": "binary"}
_FORM = "application/x-www-form-urlencoded"
# what of a version 2 parameter is its schema
_SCHEMA_KEYS = (
    "type", "format", "items", "enum", "default", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems",
    "uniqueItems", "multipleOf",
)  # fmt: skip
_STYLES = {"csv": ("form", False), "ssv": ("spaceDelimited", False), "pipes": ("pipeDelimited", False)}


def from_swagger(document: Json) -> Json:
    """A document whose references into `definitions` and `parameters` still lead there: those stay."""
    scheme = (document.get("schemes") or ["https"])[0]
    host, base = document.get("host"), str(document.get("basePath") or "")
    made: Json = {"openapi": "3.0.0", "info": document.get("info", {})}
    for kept in ("definitions", "parameters", "responses"):
        if kept in document:
            made[kept] = document[kept]
    made["servers"] = [{"url": f"{scheme}://{host}{base}" if host else base}]
    paths = cast("Json", document.get("paths") or {})
    items = {path: cast("Json", item) for path, item in paths.items() if isinstance(item, dict)}
    made["paths"] = {path: _item(document, item) for path, item in items.items()}
    return made


def _item(document: Json, item: Json) -> Json:
    made: Json = {}
    shared = _resolved(document, item.get("parameters"))
    for method in _METHODS:
        operation = item.get(method)
        if isinstance(operation, dict):
            made[method] = _operation(document, cast("Json", operation), shared)
    return made


def _operation(document: Json, operation: Json, shared: list[Json]) -> Json:
    given = _resolved(document, operation.get("parameters"))
    names = {(one.get("name"), one.get("in")) for one in given}
    every = [*(one for one in shared if (one.get("name"), one.get("in")) not in names), *given]
    made = {key: value for key, value in operation.items() if key not in ("parameters", "responses")}
    made["parameters"] = [_parameter(one) for one in every if one.get("in") not in ("body", "formData")]
    consumes = operation.get("consumes") or document.get("consumes") or ["application/json"]
    body = _body(every, consumes)
    if body is not None:
        made["requestBody"] = body
    produces = operation.get("produces") or document.get("produces") or ["application/json"]
    responses = cast("Json", operation.get("responses") or {})
    made["responses"] = {str(code): _response(document, one, produces) for code, one in responses.items()}
    return made


def _parameter(given: Json) -> Json:
    made = {key: given[key] for key in ("name", "in", "required", "description") if key in given}
    made["schema"] = _schema(given)
    style, explode = _STYLES.get(str(given.get("collectionFormat", "csv")), ("form", True))
    if given.get("in") == "query" and given.get("type") == "array":
        made |= {"style": style, "explode": explode}
    return made


def _schema(given: Json) -> Json:
    return {key: given[key] for key in _SCHEMA_KEYS if key in given and given[key] != "file"}


def _body(parameters: list[Json], consumes: list[str]) -> Json | None:
    for one in parameters:
        if one.get("in") == "body":
            schema: Json = one.get("schema") or {}
            content = {kind: {"schema": schema} for kind in consumes}
            words = one.get("description")
            return {"required": bool(one.get("required")), "content": content, "description": words}
    fields = [one for one in parameters if one.get("in") == "formData"]
    if not fields:
        return None
    has_files = any(one.get("type") == "file" for one in fields)
    kind = "multipart/form-data" if has_files else next((k for k in consumes if "form" in k), _FORM)
    properties = {
        str(one.get("name")): _FILE if one.get("type") == "file" else _schema(one) for one in fields
    }
    required = [str(one.get("name")) for one in fields if one.get("required")]
    schema = {"type": "object", "properties": properties, "required": required}
    return {"required": bool(required), "content": {kind: {"schema": schema}}}


def _response(document: Json, given: object, produces: list[str]) -> Json:
    found = _resolved(document, [given])
    response = found[0] if found else {}
    schema = response.get("schema")
    content = {} if schema is None else {kind: {"schema": schema} for kind in produces}
    return {"description": response.get("description", ""), "content": content}


def _resolved(document: Json, given: object) -> list[Json]:
    """Objects of a list, with references followed once: those of version 2 lead to the top level."""
    made: list[Json] = []
    for one in cast("list[Any]", given) if isinstance(given, list) else []:
        found: Any = one
        if isinstance(found, dict) and isinstance(found.get("$ref"), str):  # pyright: ignore[reportUnknownMemberType] - JSON
            found = document
            for step in cast("str", one["$ref"]).removeprefix("#/").split("/"):
                found = cast("Json", found).get(step) if isinstance(found, dict) else None
        if isinstance(found, dict):
            made.append(cast("Json", found))
    return made
