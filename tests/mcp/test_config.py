"""The mcpServers object: what is read, from where, and how what is wrong is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import ConfigError, Engine
from codemode.mcp.servers import Http, Server, Stdio, read_servers


def read(**entry: Any) -> Server:
    (server,) = read_servers({"mcpServers": {"s": entry}})
    return server


def test_a_child_process_has_a_command_and_more() -> None:
    server = read(command="npx", args=["-y", "pkg"], env={"A": "1"}, cwd="/srv", type="stdio")
    assert server.transport == Stdio("npx", ("-y", "pkg"), {"A": "1"}, "/srv")


def test_a_remote_server_has_a_url_and_headers() -> None:
    for kind in ({}, {"type": "http"}, {"type": "streamable-http"}):
        server = read(url="https://h/mcp", headers={"Authorization": "Bearer x"}, **kind)
        assert server.transport == Http("https://h/mcp", {"Authorization": "Bearer x"})


def test_numbers_have_defaults_and_are_clamped() -> None:
    server = read(command="c")
    assert (server.timeout_ms, server.connect_timeout_ms, server.concurrency) == (300_000, 20_000, 16)
    assert server.is_eager
    server = read(command="c", timeoutMs=0, connectTimeoutMs=10**9, concurrency=-1, connect="lazy")
    assert (server.timeout_ms, server.connect_timeout_ms, server.concurrency) == (1, 600_000, 1)
    assert not server.is_eager


def test_wildcards_choose_tools_in_any_case_and_exclusion_wins() -> None:
    server = read(command="c", allow=["get_*", "List"], exclude=["*secret*", "resources/*"])
    wanted = ["get_x", "GET_X", "list", "lists", "get_secret_x", "x"]
    assert [name for name in wanted if server.offers(name)] == ["get_x", "GET_X", "list"]
    assert server.excludes("resources/read")
    assert not server.excludes("prompts/get")


def test_secrets_come_from_the_environment_and_are_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_TEST_TOKEN", "t0ps3cret")
    server = read(url="http://h/${MCP_TEST_NONE:-a}", headers={"X": "Bearer ${env:MCP_TEST_TOKEN}"})
    assert server.transport == Http("http://h/a", {"X": "Bearer t0ps3cret"})
    assert "t0ps3cret" not in repr(server)


def test_a_disabled_server_is_not_there() -> None:
    assert read_servers({"mcpServers": {"s": {"command": "c", "disabled": True}}}) == ()
    assert read_servers(None) == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"mcpServers": {"s": {"command": "c"}}}'),
        ("a.json5", "{other: 1, mcpServers: {s: {command: 'c',},}, /* more */}"),
        ("a.toml", '[mcpServers.s]\ncommand = "c"\n'),
        ("a.json", '{"mcp": {"mcpServers": {"s": {"command": "c"}}}}'),
    ],
)
def test_a_file_is_read_by_its_path(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    for path in (tmp_path / name, str(tmp_path / name)):
        assert [server.name for server in read_servers(path)] == ["s"]


@pytest.mark.parametrize(
    ("given", "key"),
    [
        (7, "mcp"),
        ({}, "mcp"),
        ({"mcpServers": []}, "mcpServers"),
        ({"mcpServers": {"": {}}}, "mcpServers."),
        ({"mcpServers": {"a:b": {"command": "c"}}}, "mcpServers.a:b"),
        ({"mcpServers": {"s": "npx"}}, "mcpServers.s"),
        ({"mcpServers": {"s": {}}}, "mcpServers.s"),
        ({"mcpServers": {"s": {"command": "c", "url": "http://h"}}}, "mcpServers.s"),
        ({"mcpServers": {"s": {"command": ""}}}, "mcpServers.s.command"),
        ({"mcpServers": {"s": {"command": "c", "args": "x"}}}, "mcpServers.s.args"),
        ({"mcpServers": {"s": {"command": "c", "args": ["x", 1]}}}, "mcpServers.s.args[1]"),
        ({"mcpServers": {"s": {"command": "c", "env": {"K": 1}}}}, "mcpServers.s.env.K"),
        ({"mcpServers": {"s": {"command": "c", "env": {"K": "${MCP_TEST_NONE}"}}}}, "mcpServers.s.env.K"),
        ({"mcpServers": {"s": {"command": "c", "comand": "c"}}}, "mcpServers.s.comand"),
        ({"mcpServers": {"s": {"command": "c", "timeoutMS": 1}}}, "mcpServers.s.timeoutMS"),
        ({"mcpServers": {"s": {"command": "c", "timeoutMs": "1"}}}, "mcpServers.s.timeoutMs"),
        ({"mcpServers": {"s": {"command": "c", "connect": "soon"}}}, "mcpServers.s.connect"),
        ({"mcpServers": {"s": {"command": "c", "disabled": "no"}}}, "mcpServers.s.disabled"),
        ({"mcpServers": {"s": {"command": "c", "type": "http"}}}, "mcpServers.s.type"),
        ({"mcpServers": {"s": {"url": "http://h", "type": "sse"}}}, "mcpServers.s.type"),
        ({"mcpServers": {"s": {"url": "ftp://h"}}}, "mcpServers.s.url"),
        ({"mcpServers": {"s": {"url": "http://h", "headers": []}}}, "mcpServers.s.headers"),
    ],
)
def test_what_is_wrong_is_refused_by_its_key(given: Any, key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Engine(mcp=given)
    assert refused.value.key == key


def test_keys_of_other_hosts_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    read(command="c", timeout=30, autoApprove=["x"], xyzzy=1)
    assert [record.getMessage() for record in caplog.records] == [
        f"mcpServers.s.{key} is not a key of this engine; it is ignored"
        for key in ("timeout", "autoApprove", "xyzzy")
    ]
