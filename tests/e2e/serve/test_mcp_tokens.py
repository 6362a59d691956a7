"""The MCP server over HTTP with tokens: who is let in, and what the others are told."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from tests.e2e.serve.mcp_clients import another
from tests.harness.serve import http_server, refusal

pytestmark = pytest.mark.usefixtures("leaves_nothing")
GOOD, READER = "cm_" + "g" * 40, "cm_" + "r" * 40


def token_file(folder: Path) -> Path:
    file = folder / "tokens.json"
    entries = [
        {"name": "good", "token": GOOD, "rights": ["run"]},
        {"name": "reader", "token": READER, "rights": ["read"]},
    ]
    file.write_text(json.dumps(entries))
    file.chmod(0o600)
    return file


async def test_a_token_that_may_run_is_let_in_and_others_are_told_what_they_need(tmp_path: Path) -> None:
    async with http_server("--tokens", token_file(tmp_path)) as (url, _):
        async with another(url, "since 2026", authorization=f"Bearer {GOOD}") as client:
            value = (await client.call_tool("exec", {"code": "return 1"})).structured_content
        async with httpx2.AsyncClient() as http:
            place = url.replace("/mcp", "/.well-known/oauth-protected-resource/mcp")
            metadata = (await http.get(place)).json()
            nobody = await http.post(url, json={})
            wrong = await http.post(url, json={}, headers={"authorization": "Bearer wrong"})
            reader = await http.post(url, json={}, headers={"authorization": f"Bearer {READER}"})
            twice = await http.post(
                url, json={}, headers=[("authorization", f"Bearer {GOOD}"), ("authorization", "Bearer x")]
            )
    assert value is not None
    assert value["value"] == 1
    assert metadata == {
        "resource": url,
        "resource_name": "codemode",
        "scopes_supported": ["run"],
        "bearer_methods_supported": ["header"],
    }
    told = f'scope="run", resource_metadata="{place}"'
    assert [(one.status_code, one.headers["www-authenticate"]) for one in (nobody, wrong, reader, twice)] == [
        (401, f"Bearer {told}"),
        (401, f'Bearer error="invalid_token", {told}'),
        (403, f'Bearer error="insufficient_scope", {told}'),
        (401, f'Bearer error="invalid_token", {told}'),
    ]
    assert GOOD not in nobody.text + wrong.text + reader.text + twice.text


def test_tokens_go_with_http_and_a_file_that_is_not_there_is_told_before_anything_is_served() -> None:
    assert "--tokens goes with --http" in refusal("--mcp", "--tokens", "x.json")[2]
    assert "cannot be read" in refusal("--mcp", "--http", "127.0.0.1:0", "--tokens", "gone.json")[2]
