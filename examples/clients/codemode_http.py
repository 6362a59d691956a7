"""A reference client in Python for `codemode serve --http`: the standard library and nothing else.

The API is docs/http.md. Copy this file and change it; it knows nothing of the codemode package.

    engine = HttpEngine("http://127.0.0.1:8000", token)
    result = engine.exec("return await tools.add({ a: 1, b: 2 })", session="s1")
    while result["status"] == "waiting" and result["reason"] != "approval":
        result = engine.wait(result["runId"])
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode

Json = dict[str, Any]
PATIENCE_SECONDS = 600.0


class Refused(Exception):
    """The server refused the request; a program that fails is a result and no error."""

    def __init__(self, error: Json) -> None:
        super().__init__(f"{error.get('code')}: {error.get('message')}")
        self.status: int = error.get("status", 0)
        self.code: str = error.get("code", "")


class HttpEngine:
    def __init__(self, url: str, token: str | None = None) -> None:
        self._url = url.rstrip("/")
        self._headers = {} if token is None else {"authorization": f"Bearer {token}"}

    def exec(self, code: str, **given: Any) -> Json:
        return self.post("/v1/exec", {"code": code, **given})

    def wait(self, run_id: str, **given: Any) -> Json:
        return self.post(f"/v1/runs/{quote(run_id, safe='')}/wait", given)

    def approvals(self, **query: str) -> list[Json]:
        return self.get("/v1/approvals", **query)["approvals"]

    def approve(self, asked: Json, value: Any = None) -> Json:
        """What was shown is what is approved: its digest goes along."""
        return self._decide(asked, "approve", {"value": value, "argumentsSha256": asked["argumentsSha256"]})

    def deny(self, asked: Json, reason: str = "") -> Json:
        return self._decide(asked, "deny", {"reason": reason})

    def _decide(self, asked: Json, how: str, body: Json) -> Json:
        run, approval = (quote(asked[name], safe="") for name in ("runId", "id"))
        return self.post(f"/v1/runs/{run}/approvals/{approval}/{how}", body)

    def events(self, after: str = "", **query: str) -> Iterator[Json]:
        """Events from now on, or behind the event of that id; each has its own as `id`."""
        headers = {"last-event-id": after} if after else {}
        name = ""
        with self._open("GET", "/v1/events", None, query, headers) as answer:
            for line in answer:
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "id":
                    name = value
                elif field == "data":
                    yield {**json.loads(value), "id": name}

    def get(self, path: str, **query: str) -> Json:
        with self._open("GET", path, None, query, {}) as answer:
            return json.loads(answer.read())

    def post(self, path: str, body: Json) -> Json:
        with self._open("POST", path, body, {}, {"content-type": "application/json"}) as answer:
            return json.loads(answer.read())

    def _open(self, method: str, path: str, body: Json | None, query: Json, headers: Json) -> Any:
        url = f"{self._url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, {**self._headers, **headers}, method=method)  # noqa: S310 - the caller's own server
        try:
            return urllib.request.urlopen(request, timeout=PATIENCE_SECONDS)  # noqa: S310 - likewise
        except HTTPError as error:
            with error:
                raise Refused(
                    json.loads(error.read() or b"{}").get("error", {"status": error.code})
                ) from None
