"""Clients of the HTTP API that are not meant well: one shape of error, nothing leaked, others are served."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness.http_api import Server, api_server, events_of, until
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.serve import refusal

pytestmark = pytest.mark.usefixtures("leaves_nothing")
JSON = "content-type: application/json"


async def raw(server: Server, data: bytes, *, then: bytes = b"") -> tuple[int, Any]:
    """Sends bytes as they are; the status and the body that come back.

    A head that comes in pieces is refused where it grows too long, with 400: so those are sent whole.
    """
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    try:
        writer.write(data)
        await writer.drain()
        if then:
            writer.write(then)
        async with asyncio.timeout(PATIENCE_SECONDS):
            whole = await reader.read()
    finally:
        writer.close()
    head, _, body = whole.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def head(server: Server, line: str, *more: str, host: str = "") -> bytes:
    host = host or f"127.0.0.1:{server.port}"
    return "\r\n".join([line, f"Host: {host}", "Connection: close", *more, "", ""]).encode()


def is_refusal(answer: Any, status: int, code: str) -> bool:
    error = answer["error"]
    return (error["status"], error["code"], list(answer)) == (status, code, ["error"]) and error["message"]


async def test_what_is_wrong_oversized_slow_or_foreign_is_refused_in_one_shape(tmp_path: Path) -> None:
    limits = ("--max-message-bytes", "2000", "--body-seconds", "1", "--head-seconds", "1")
    async with api_server(tmp_path, *limits) as server, server.client() as good:
        auth = f"Authorization: {good.headers['authorization']}"
        post = "POST /v1/exec HTTP/1.1"
        cases: list[tuple[int, str, bytes]] = [
            (421, "wrong_host", head(server, "GET /healthz HTTP/1.1", host="evil.example")),
            (421, "wrong_host", head(server, "GET /healthz HTTP/1.1", host="127.0.0.1.evil.example:1")),
            (403, "forbidden", head(server, "GET /healthz HTTP/1.1", "Origin: http://evil.example")),
            (403, "forbidden", head(server, "GET /healthz HTTP/1.1", "Origin: null")),
            (401, "unauthorized", head(server, "GET /v1/runs HTTP/1.1")),
            (401, "unauthorized", head(server, "GET /v1/runs HTTP/1.1", "Authorization: Bearer guess")),
            (401, "unauthorized", head(server, "GET /v1/runs HTTP/1.1", "Authorization: Basic Zm9v")),
            (401, "unauthorized", head(server, "GET /v1/nothing HTTP/1.1")),
            (400, "bad_request", head(server, "GET /v1/runs HTTP/1.1", auth, auth)),
            (400, "bad_request", b"\x16\x03\x01 nonsense\r\n\r\n"),
            (400, "bad_request", head(server, "GET /v1/runs HTTP/one", auth)),
            (431, "too_large", head(server, "GET /v1/runs HTTP/1.1", auth, "X: " + "y" * 70_000)),
            (431, "too_large", head(server, f"GET /v1/runs?q={'y' * 70_000} HTTP/1.1", auth)),
            (404, "not_found", head(server, "GET /v1/../../etc/passwd HTTP/1.1", auth)),
            (404, "not_found", head(server, "GET /%2e%2e/%2e%2e/server.py HTTP/1.1", auth)),
            (405, "method_not_allowed", head(server, "DELETE /v1/runs HTTP/1.1", auth)),
            (413, "too_large", head(server, post, auth, JSON, "Content-Length: 3000")),
            (413, "too_large", head(server, post, auth, JSON, "Content-Length: 99999999999")),
            (408, "timeout", head(server, post, auth, JSON, "Content-Length: 20") + b"{"),
            (408, "timeout", b"GET /healthz HTTP/1.1\r\nHost:"),
            (415, "unsupported_media_type", head(server, post, auth, "Content-Length: 2") + b"{}"),
            (400, "bad_request", head(server, post, auth, JSON, "Content-Length: 1") + b"{"),
            (400, "bad_request", head(server, post, auth, JSON, "Content-Length: 4") + b'"\xff\xfe"'),
            (400, "bad_request", head(server, post, auth, JSON, "Content-Length: 1800") + b"[" * 1800),
            (400, "bad_request", head(server, "GET /v1/runs?limit=0 HTTP/1.1", auth)),
            (400, "bad_request", head(server, "GET /v1/runs?limit=1&limit=2 HTTP/1.1", auth)),
            (400, "bad_request", head(server, "GET /v1/runs?cursor=x HTTP/1.1", auth)),
            (400, "bad_request", head(server, "GET /v1/events?after=x HTTP/1.1", auth)),
        ]
        found = await asyncio.gather(*(raw(server, data) for _, _, data in cases))
        wrong = [
            (status, code, data[:60], got)
            for (status, code, data), got in zip(cases, found, strict=True)
            if got[0] != status or not is_refusal(got[1], status, code)
        ]
        assert wrong == []
        assert (await good.post("/v1/exec", json={"code": "return 1"})).json()["value"] == 1


async def test_runs_approvals_and_events_of_others_do_not_exist(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path) as server,
        server.client("ada") as ada,
        server.client("bob") as bob,
        server.client("reader") as reader,
        server.client("boss") as boss,
    ):
        async with ada.stream("GET", "/v1/events") as stream:
            events = events_of(stream)
            await until(events, "hello")
            held = (await bob.post("/v1/exec", json={"code": "return await tools.pay({ amount: 1 })"})).json()
            own = (await ada.post("/v1/exec", json={"code": "return 2", "session": "ada-1"})).json()
            assert own["status"] == "completed"
            assert (await until(events, "started", "approval_opened"))["session"] == "ada-1"

        run, unknown = f"/v1/runs/{held['runId']}", "/v1/runs/run_unknown"
        (asked,) = (await bob.get("/v1/approvals")).json()["approvals"]
        pairs = [
            (await ada.get(run), await ada.get(unknown)),
            (await ada.get(run, params={"session": "bob"}), await ada.get(unknown)),
            (await ada.get(f"{run}/trajectory"), await ada.get(f"{unknown}/trajectory")),
            (await ada.post(f"{run}/wait", json={}), await ada.post(f"{unknown}/wait", json={})),
            (
                await ada.post(f"{run}/wait", json={"session": "bob"}),
                await ada.post(f"{unknown}/wait", json={}),
            ),
            (await ada.post(f"{run}/abort", json={}), await ada.post(f"{unknown}/abort", json={})),
        ]
        assert [theirs.status_code for theirs, _ in pairs] == [404] * len(pairs)
        assert [theirs.content for theirs, _ in pairs] == [none.content for _, none in pairs]
        assert [one["session"] for one in (await ada.get("/v1/runs")).json()["runs"]] == ["ada-1"]
        assert (await ada.get("/v1/runs", params={"session": "bob"})).json()["runs"] == []
        assert (await ada.get("/v1/approvals")).json()["approvals"] == []

        approve = f"{run}/approvals/{asked['id']}/approve"
        assert (await ada.post(approve, json={})).status_code == 403
        assert (await reader.post(approve, json={})).status_code == 403
        assert (await reader.post("/v1/exec", json={"code": "return 1"})).status_code == 403
        assert (await boss.get("/v1/approvals")).status_code == 403
        assert (await bob.post("/v1/drain", json={})).status_code == 403
        spoken = {"code": "return 1", "session": "bob"}
        assert (await ada.post("/v1/exec", json=spoken)).status_code == 403
        assert (
            await ada.post("/v1/exec", json={**spoken, "session": "ada-1", "agent": "x"})
        ).status_code == 403
        assert (await ada.post("/v1/sessions/bob/abort", json={})).status_code == 403
        assert (await boss.post(approve, json={})).json() == {"decided": True}
        done = (await bob.post(f"{run}/wait", json={})).json()
        assert done["value"] == "paid 1"


async def test_streams_are_bounded_for_each_token_and_a_place_is_free_again(tmp_path: Path) -> None:
    async with (
        api_server(tmp_path, "--max-streams", "2") as server,
        server.client("ada") as ada,
        server.client("bob") as bob,
    ):
        async with ada.stream("GET", "/v1/events") as first:
            open_one = events_of(first)  # dropped, it would close the stream
            await until(open_one, "hello")
            refused = await ada.get("/v1/events")
            assert is_refusal(refused.json(), 429, "too_many")
            async with bob.stream("GET", "/v1/events") as second:
                await until(events_of(second), "hello")
        status = 429
        while status == 429:  # until the server has seen that the client is gone
            async with ada.stream("GET", "/v1/events") as again:
                status = again.status_code
        assert status == 200


def test_a_server_that_everybody_could_use_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "tokens.json"
    broken.write_text("[]")
    for arguments, told in (
        (("--http", "127.0.0.1:0"), "tokens: there are none"),
        (("--http", "127.0.0.1:0", "--tokens", str(broken)), "tokens: there are none"),
        (("--http", "0.0.0.0:0", "--no-tokens", "--allow-host", "a:1"), "only for this machine"),
        (("--http", "127.0.0.1:0", "--no-tokens", "--tokens", str(broken)), "does not go with --tokens"),
        (("--mcp", "--no-tokens"), "goes with --http alone"),
    ):
        code, out, err = refusal(*arguments)
        assert (code, out) == (2, "")
        assert told in err
