"""Bearer tokens: what they open, whose runs they reach, and which entries are refused."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from codemode.config import ConfigError
from codemode.serve import tokens as tokens_module
from codemode.serve.tokens import (
    EVERYBODY,
    Token,
    Tokens,
    bearer,
    digest_of,
    load_tokens,
    new_secret,
    read_entries,
)
from tests.harness.cli import as_process as codemode

SECRET = "a secret of more than thirty-two characters"


def entry(**given: Any) -> dict[str, Any]:
    return {"name": "ci", "sha256": digest_of(SECRET), "rights": ["run"]} | given


def test_a_token_is_found_by_its_secret_alone() -> None:
    known = Tokens(read_entries("x", {"tokens": [entry(), entry(name="b", sha256=digest_of("b" * 40))]}))

    found = known.find(SECRET)

    assert found is not None
    assert found.name == "ci"
    assert known.find(SECRET + " ") is None
    assert known.find(digest_of(SECRET)) is None
    assert known.find("") is None
    assert known.find("x" * 10_000) is None
    assert known.find("\udc80") is None


def test_without_tokens_nobody_is_let_in() -> None:
    assert Tokens().find("") is None
    assert Tokens().find(SECRET) is None


@pytest.mark.parametrize(
    ("agent", "sessions", "asked", "reached"),
    [
        ("main", ["*"], ("main", "s"), True),
        ("main", ["*"], ("other", "s"), False),
        ("*", ["*"], ("other", "s"), True),
        ("main", ["ci-*"], ("main", "ci-7"), True),
        ("main", ["ci-*"], ("main", "ci"), False),
        ("main", ["one", "two"], ("main", "two"), True),
        ("main", ["one"], ("main", "ones"), False),
    ],
)
def test_a_token_reaches_its_agent_and_its_sessions(
    agent: str, sessions: list[str], asked: tuple[str, str], reached: bool
) -> None:
    (token,) = read_entries("x", [entry(agent=agent, sessions=sessions)])
    assert token.reaches(*asked) is reached


def test_admin_has_every_right_and_every_agent_within_its_sessions() -> None:
    (token,) = read_entries("x", [entry(rights=["admin"], sessions=["a"])])
    assert token.may("run")
    assert token.may("approve")
    assert token.reaches("anybody", "a")
    assert not token.reaches("anybody", "b")
    assert not token.reaches_all
    assert EVERYBODY.reaches_all


def test_what_a_request_does_not_say_is_the_tokens_own() -> None:
    one = Token("a", "", frozenset(("run",)), "bot", ("s",))
    many = Token("a", "", frozenset(("run",)), "*", ("s-*",))
    assert (one.own_agent, one.own_session) == ("bot", "s")
    assert (many.own_agent, many.own_session) == ("main", "default")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"rights": []}, "needs rights"),
        ({"rights": ["fly"]}, "fly"),
        ({"name": " "}, "needs a name"),
        ({"sha256": "abc"}, "64 hex digits"),
        ({"sha256": ""}, "either sha256"),
        ({"token": SECRET}, "either sha256"),
        ({"sha256": "", "token": "short"}, "32 to 512 characters"),
        ({"sessions": []}, "must not be blank"),
        ({"session": ["a"]}, "session"),
    ],
)
def test_an_entry_that_cannot_be_used_is_refused_with_its_place(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=r"tokens\[0\]") as refused:
        read_entries("tokens.json", {"tokens": [entry(**given)]})
    assert told in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("document", [None, {}, {"tokens": {}}, "text", [entry(), entry()]])
def test_a_document_that_is_no_list_of_tokens_is_refused(document: object) -> None:
    with pytest.raises(ConfigError):
        read_entries("tokens.json", document)


def test_the_environment_gives_a_list_and_one_token_with_all_rights() -> None:
    listed = json.dumps({"tokens": [entry()]})
    known = load_tokens(None, {"CODEMODE_HTTP_TOKENS": listed, "CODEMODE_HTTP_TOKEN": "x" * 32})

    found = known.find("x" * 32)

    assert len(known) == 2
    assert found is not None
    assert found.may("admin")
    assert len(load_tokens(None, {})) == 0
    with pytest.raises(ConfigError, match="32 to 512"):
        load_tokens(None, {"CODEMODE_HTTP_TOKEN": "short"})
    with pytest.raises(ConfigError, match="not JSON"):
        load_tokens(None, {"CODEMODE_HTTP_TOKENS": "{"})


def test_a_file_that_changes_is_read_again_and_a_broken_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_module, "_LOOK_SECONDS", 0)
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps([entry()]))
    known = load_tokens(str(path), {})
    path.write_text("{")
    assert known.find(SECRET) is not None
    path.write_text(json.dumps([entry(name="other", sha256=digest_of("y" * 40))]))
    assert known.find(SECRET) is None
    assert known.find("y" * 40) is not None


def test_the_secret_is_read_out_of_a_bearer_header_only() -> None:
    assert bearer("Bearer abc") == "abc"
    assert bearer("bearer  abc ") == "abc"
    assert bearer("Basic abc") is None
    assert bearer("Bearer ") is None
    assert bearer(None) is None


def test_secrets_are_long_and_differ() -> None:
    assert new_secret() != new_secret()
    assert len(new_secret()) == 46


def test_the_command_makes_lists_and_removes_tokens_and_the_file_has_no_secret(tmp_path: Path) -> None:
    path = str(tmp_path / "tokens.json")

    made = codemode("tokens", "new", "ci", "--rights", "run,read", "--session", "ci-*", "--file", path)
    again = codemode("tokens", "new", "ci", "--file", path)
    listed = codemode("tokens", "list", "--file", path)

    secret = made.out.strip()
    found = load_tokens(path).find(secret)
    assert found is not None
    assert found.sessions == ("ci-*",)
    assert secret not in Path(path).read_text()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert again.code == 2
    assert "two tokens" in again.err
    assert listed.out == "ci  read,run  agent main  sessions ci-*\n"
    assert codemode("tokens", "remove", "ci", "--file", path).code == 0
    assert codemode("tokens", "remove", "ci", "--file", path).code == 1
    assert codemode("tokens", "new", "x", "--rights", "fly").code == 2
