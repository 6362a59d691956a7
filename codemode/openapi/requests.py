"""One call of an operation: the request that its arguments make, and the value of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote

from codemode.gate.lane import is_large, lane
from codemode.openapi.documents import Api
from codemode.openapi.operations import Operation, RequestPart
from codemode.tools import CallContext, File, Image, ToolError
from codemode.tools.content import content_of

if TYPE_CHECKING:  # the first call loads it
    import httpx2

_MAX_ANSWER_BYTES = 8 << 20
_SHOWN_CHARS = 600
_RETRYABLE = frozenset((408, 425, 429, 500, 502, 503, 504))
_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|"}

Json = dict[str, Any]


def request_of(
    client: httpx2.AsyncClient, api: Api, operation: Operation, given: Json, context: CallContext
) -> httpx2.Request:
    """Raises ToolError for arguments that no request can carry."""
    path = operation.path
    query: list[tuple[str, str | int | float | bool | None]] = []
    headers = {"accept": "application/json, */*;q=0.5", **api.auth.headers}
    cookies: list[str] = []
    for one in operation.parameters:
        value = given.get(one.key)
        if value is None:
            continue
        match one.place:
            case "path":
                path = path.replace(f"{{{one.name}}}", _segment(one, value))
            case "query":
                query.extend(_pairs(one, value))
            case "header":
                headers[one.name] = _header(one, _joined(value, ","))
            case "cookie":
                cookies.append(f"{one.name}={quote(_joined(value, ','), safe='')}")
    if cookies:
        headers["cookie"] = "; ".join(cookies)
    if operation.method not in ("GET", "HEAD", "OPTIONS") and context.idempotency_key:
        headers.setdefault("idempotency-key", context.idempotency_key)
    query.extend(api.auth.query.items())
    body = _body(operation.body, given["body"], context) if operation.body and "body" in given else {}
    headers |= body.pop("headers", {})
    return client.build_request(
        operation.method, f"{api.server}{path}", params=query or None, headers=headers, **body
    )


async def answer_of(response: httpx2.Response, operation: Operation) -> Any:
    """The value for the program. Raises ToolError for an answer that is no success."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) > _MAX_ANSWER_BYTES:
            text = f"the answer to {operation.name} has more than {_MAX_ANSWER_BYTES} bytes"
            raise ToolError(text, code="too_large")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    value = await _value(bytes(data), kind, response)
    if response.is_success:
        return value
    raise _failure(response, operation, value)


def _segment(one: RequestPart, value: Any) -> str:
    """A value within a path: it can neither end its segment nor go up."""
    text = quote(_joined(value, ","), safe="")
    if not text:
        raise ToolError(f"{one.key} must not be empty: it is part of the path", code="invalid_arguments")
    return {".": "%2E", "..": "%2E%2E"}.get(text, text)


def _pairs(one: RequestPart, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        items = cast("Json", value).items()
        if one.style == "deepObject":
            yield from ((f"{one.name}[{key}]", _text(item)) for key, item in items)
        elif one.explode:
            yield from ((key, _text(item)) for key, item in items)
        else:
            yield one.name, ",".join(f"{key},{_text(item)}" for key, item in items)
    elif isinstance(value, list) and one.explode:
        yield from ((one.name, _text(item)) for item in cast("list[Any]", value))
    else:
        yield one.name, _joined(value, _DELIMITERS.get(one.style, ","))


def _joined(value: Any, delimiter: str) -> str:
    if isinstance(value, list):
        return delimiter.join(_text(item) for item in cast("list[Any]", value))
    if isinstance(value, dict):
        return delimiter.join(f"{key}{delimiter}{_text(item)}" for key, item in cast("Json", value).items())
    return _text(value)


def _text(value: Any) -> str:
    """As JSON writes it, but for strings: `true`, `3`, `null`."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _header(one: RequestPart, text: str) -> str:
    if not text.isprintable() or not text.isascii():
        raise ToolError(f"{one.key} is a header: plain ASCII without line ends", code="invalid_arguments")
    return text


def _body(kind: str, value: Any, context: CallContext) -> Json:
    """Keyword arguments of the request for a body of this media type."""
    plain = kind.partition(";")[0].strip().lower()
    if plain.endswith("json"):
        return {"content": json.dumps(value).encode(), "headers": {"content-type": kind}}
    fields = cast("Json", value) if isinstance(value, dict) else None
    content = content_of(cast("object", value), context.contents)
    if content is not None:
        return {"content": content.data, "headers": {"content-type": content.mime_type}}
    if plain == "application/x-www-form-urlencoded" and fields is not None:
        return {"data": {key: _field(item) for key, item in fields.items()}}
    if plain == "multipart/form-data" and fields is not None:
        parts = {key: content_of(item, context.contents) for key, item in fields.items()}
        files = [(key, (part.name or key, part.data, part.mime_type)) for key, part in parts.items() if part]
        texts = {key: _field(item) for key, item in fields.items() if parts[key] is None}
        return {"data": texts, "files": files or [("", b"")]}
    text = value if isinstance(value, str) else json.dumps(value)
    return {"content": text.encode(), "headers": {"content-type": kind}}


def _field(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(item) for item in cast("list[Any]", value)]
    return _text(value)


async def _value(data: bytes, kind: str, response: httpx2.Response) -> Any:
    if not data:
        return None
    if kind.endswith("json"):
        try:
            return await lane().run(lambda: json.loads(data)) if is_large(data) else json.loads(data)
        except (ValueError, RecursionError):
            raise ToolError("the answer says that it is JSON, and is not", code="bad_answer") from None
    if kind.startswith("image/") and kind != "image/svg+xml":
        return Image(data, kind)
    if kind.startswith("text/") or kind in ("", "application/xml", "application/yaml", "image/svg+xml"):
        return data.decode(response.encoding or "utf-8", errors="replace")
    return File(data, kind)


def _failure(response: httpx2.Response, operation: Operation, value: Any) -> ToolError:
    said = value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)
    words = f"{response.status_code} {response.reason_phrase}".strip()
    if response.is_redirect:
        said = "it redirects, and redirects are not followed"
    shown = f": {said[:_SHOWN_CHARS]}" if said else ""
    data: Mapping[str, Any] = {"status": response.status_code}
    if isinstance(value, dict | list | str) and len(said) <= 8_000:
        data = {**data, "body": value}
    return ToolError(
        f"{operation.name} failed with {words}{shown}",
        code=f"http_{response.status_code}",
        data=data,
        retryable=response.status_code in _RETRYABLE,
    )
