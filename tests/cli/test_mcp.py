"""`codemode mcp`: which logins there are, and forgetting them. Logging in is in tests/mcp/test_login.py."""

from __future__ import annotations

import asyncio
from pathlib import Path

from codemode.mcp.token_store import TokenFile
from tests.harness.cli import Cli


def test_status_and_logout_tell_and_forget_and_login_says_what_it_needs(cli: Cli, tmp_path: Path) -> None:
    tokens = tmp_path / "logins.json"
    asyncio.run(TokenFile(tokens).save("https://a.example/mcp", '{"tokens":"{}"}'))
    shown = cli("mcp", "status", "--tokens", str(tokens))
    assert shown.out == "-                    logged in      https://a.example/mcp\n"
    out = cli("mcp", "logout", "https://a.example/mcp", "--tokens", str(tokens))
    again = cli("mcp", "logout", "https://a.example/mcp", "--tokens", str(tokens))
    assert (out.out, again.out) == ("logged out\n", "there was no login\n")
    assert cli("mcp", "status", "--tokens", str(tokens)).out == "no logins\n"
    assert "login needs a SERVER" in cli("mcp", "login").err
    assert "there is no server x over HTTP" in cli("mcp", "login", "x").err
