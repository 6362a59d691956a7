"""The operations of a document: name, words, parameters, body and result of each. Pure.

What cannot be offered is left out, and its neighbours stay: documents in the wild have all sorts of mistakes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, cast

from codemode.openapi.documents import Api
from codemode.openapi.schemas import Json, Schemas, find

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
_PLACES = ("path", "query", "header", "cookie")
# what the host or the transport says, and no program
_OWN_HEADERS = frozenset(("accept", "content-type", "authorization", "host", "content-length", "cookie"))
_MAX_DESCRIPTION = 2_000
_JSON = re.compile(r"application/(?:[\w.+-]+\+)?json", re.IGNORECASE)

Place = Literal["path", "query", "header", "cookie"]


@dataclass(frozen=True, slots=True)
class RequestPart:
    """`key` is what a program writes, `name` what the request carries."""

    key: str
    name: str
    place: Place
    style: str
    explode: bool


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    method: str
    path: str
    description: str
    parameters: tuple[RequestPart, ...]
    body: str | None  # its media type
    schema: Json
    returns: Json | None
    deprecated: bool


def read_operations(api: Api) -> Iterator[Operation]:
    schemas = Schemas(api.document)
    taken: set[str] = set()
    for path, item in cast("Json", api.document.get("paths") or {}).items():
        item = _object(api.document, item)
        shared = item.get("parameters")
        for method in _METHODS:
            operation = item.get(method)
            if not isinstance(operation, dict) or not path.startswith("/"):
                continue
            made = _operation(api, schemas, method, path, cast("Json", operation), shared)
            if made.name in taken:
                continue  # two operations of one id: nobody could say which is meant
            taken.add(made.name)
            yield made


def _operation(api: Api, schemas: Schemas, method: str, path: str, given: Json, shared: object) -> Operation:
    document = api.document
    listed = _merged(document, shared, given.get("parameters"))
    body = _object(document, given.get("requestBody"))
    kind, body_schema = _media(document, body.get("content"))
    properties: Json = {}
    required: list[str] = []
    parameters: list[RequestPart] = []
    taken = {"body"} if kind else set[str]()
    for one in listed:
        made = _parameter(one, taken)
        if made is None:
            continue
        parameters.append(made)
        taken.add(made.key)
        properties[made.key] = _described(_schema_of(document, one), one.get("description"))
        if one.get("required") is True or made.place == "path":
            required.append(made.key)
    if kind:
        properties["body"] = _described(body_schema, body.get("description"))
        if body.get("required") is True:
            required.append("body")
    whole: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        whole["required"] = required
    return Operation(
        _name(given.get("operationId"), method, path),
        method.upper(),
        path,
        _words(given, method, path),
        tuple(parameters),
        kind,
        schemas.whole(whole),
        _returns(document, schemas, given.get("responses")),
        given.get("deprecated") is True,
    )


def _merged(document: Json, shared: object, own: object) -> list[Json]:
    """Parameters of the path and of the operation, which may say one of them anew."""
    found: dict[tuple[str, str], Json] = {}
    for group in (shared, own):
        for one in cast("list[Any]", group) if isinstance(group, list) else []:
            given = _object(document, one)
            if isinstance(given.get("name"), str) and given.get("in") in _PLACES:
                found[given["name"], given["in"]] = given
    return list(found.values())


def _parameter(given: Json, taken: set[str]) -> RequestPart | None:
    name, place = cast("str", given["name"]), cast("Place", given["in"])
    if place == "header" and name.lower() in _OWN_HEADERS:
        return None
    key = name
    while key in taken:
        key = f"{key}_{place}"
    style = str(given.get("style") or ("form" if place in ("query", "cookie") else "simple"))
    explode = given.get("explode")
    return RequestPart(key, name, place, style, explode if isinstance(explode, bool) else style == "form")


def _schema_of(document: Json, given: Json) -> Json:
    if isinstance(given.get("schema"), dict):
        return dict(cast("Json", given["schema"]))
    return dict(_media(document, given.get("content"))[1])


def _media(document: Json, content: object) -> tuple[str | None, Json]:
    """The media type that is used, JSON if there is one, and its schema."""
    kinds = cast("Json", content) if isinstance(content, dict) else {}
    if not kinds:
        return None, {}
    kind = next((one for one in kinds if _JSON.match(one)), None) or next(
        (one for one in kinds if one.split(";")[0] in _FORMS), next(iter(kinds))
    )
    schema = _object(document, kinds[kind]).get("schema")
    return kind, dict(cast("Json", schema)) if isinstance(schema, dict) else {}


_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")


def _returns(document: Json, schemas: Schemas, responses: object) -> Json | None:
    """The schema of the first success in JSON; None where the document does not say."""
    given = cast("dict[Any, Any]", responses) if isinstance(responses, dict) else {}
    listed = {str(code): response for code, response in given.items()}  # YAML reads 200 as a number
    good = sorted(code for code in listed if code.startswith("2"))
    for code in (*good, "default"):
        response = _object(document, listed.get(code))
        kind, schema = _media(document, response.get("content"))
        if kind and _JSON.match(kind) and schema:
            return schemas.whole(schema)
    return None


def _name(given: object, method: str, path: str) -> str:
    """The operationId as a name that a program can write; without one, the method and the path."""
    text = given if isinstance(given, str) and given.strip() else f"{method} {path}"
    words = re.split(r"[^A-Za-z0-9_$]+", text.strip())
    words = [word for word in words if word]
    name = words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:]) if words else method
    return name[:128]


def _words(given: Json, method: str, path: str) -> str:
    said = [str(given[key]).strip() for key in ("summary", "description") if given.get(key)]
    if len(said) == 2 and said[1].startswith(said[0].rstrip(".")):
        said = said[1:]
    if given.get("deprecated") is True:
        said.insert(0, "Deprecated.")
    return " ".join((*said, f"({method.upper()} {path})"))[:_MAX_DESCRIPTION]


def _described(schema: Json, words: object) -> Json:
    if isinstance(words, str) and words.strip() and "$ref" not in schema:
        return {**schema, "description": words.strip()[:500]}
    return schema


def _object(document: Json, given: object) -> Json:
    """An object of the document, through its reference if it is one."""
    if not isinstance(given, dict):
        return {}
    found = cast("Json", given)
    if isinstance(found.get("$ref"), str):
        target = find(document, found["$ref"])
        return cast("Json", target) if isinstance(target, dict) else {}
    return found
