"""Bearer tokens of our servers: who asks, what they may do, and whose runs they reach.

A token is a secret of 256 random bits. Files hold digests of tokens, so that a file that leaks opens nothing,
and digests are compared in constant time. Guessing is no way in: there is nothing to slow down, and a shorter
secret of a person's own making is refused where it is given as it is.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast, get_args

import msgspec
from msgspec import Struct

from codemode.config import ConfigError, read_document

_log = logging.getLogger("codemode.serve")

Right = Literal["run", "approve", "read", "admin"]
RIGHTS: tuple[Right, ...] = get_args(Right)
ANY = "*"
TOKENS_VARIABLE = "CODEMODE_HTTP_TOKENS"
TOKEN_VARIABLE = "CODEMODE_HTTP_TOKEN"  # noqa: S105 - the name of a variable
_PREFIX = "cm_"
_MIN_CHARACTERS = 32  # of a token that is given as it is
_MAX_CHARACTERS = 512
_MAX_TOKENS = 1_000
_LOOK_SECONDS = 1.0  # how often a file is looked at, at most
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Token(Struct, frozen=True):
    """One caller. `digest` is the SHA-256 of its secret, as hex."""

    name: str
    digest: str
    rights: frozenset[Right]
    agent: str = "main"
    sessions: tuple[str, ...] = (ANY,)

    def may(self, right: Right) -> bool:
        return right in self.rights or "admin" in self.rights

    def reaches(self, agent: str, session: str) -> bool:
        """Whether a run of this agent in this session exists for the token."""
        if self.agent not in (ANY, agent) and "admin" not in self.rights:
            return False
        return any(_matches(pattern, session) for pattern in self.sessions)

    @property
    def reaches_all(self) -> bool:
        return ANY in self.sessions and (self.agent == ANY or "admin" in self.rights)

    @property
    def own_agent(self) -> str:
        """Whom it speaks for where a request does not say."""
        return "main" if self.agent == ANY else self.agent

    @property
    def own_session(self) -> str:
        one = self.sessions[0] if len(self.sessions) == 1 else ANY
        return "default" if one.endswith(ANY) else one


def _matches(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith(ANY) else name == pattern


EVERYBODY = Token("everybody", "", frozenset(RIGHTS), ANY, (ANY,))
"""The caller of a server that needs no tokens: who reaches it may do everything."""


class TokenEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A token as a file has it: with the digest of the secret, or the secret as it is."""

    name: str
    rights: list[Right]
    sha256: str = ""
    token: str = ""
    agent: str = "main"
    sessions: tuple[str, ...] = (ANY,)


class Tokens:
    """The tokens of one server. An empty one lets nobody in."""

    def __init__(self, known: Sequence[Token] = (), path: str | None = None) -> None:
        """`path` is the file they were read from: it is read again when it changes."""
        self._known = tuple(known)
        self._path = path
        self._stamp = None if path is None else _stamp(path)
        self._looked = time.monotonic()

    def __len__(self) -> int:
        return len(self._known)

    def find(self, secret: str) -> Token | None:
        """Takes the same time whichever token it is, and whether it is one."""
        self._look_again()
        if not 0 < len(secret) <= _MAX_CHARACTERS:
            return None
        digest, found = digest_of(secret), None
        for token in self._known:
            if hmac.compare_digest(token.digest, digest):
                found = token
        return found

    def _look_again(self) -> None:
        if self._path is None or time.monotonic() - self._looked < _LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._known = read_entries(self._path, read_document(self._path))
            _log.info("the tokens were read anew: %d", len(self._known))
        except ConfigError as error:
            _log.error("the tokens stay as they were: %s", error)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def load_tokens(path: str | None, environment: Mapping[str, str] = os.environ) -> Tokens:
    """From the file, or else from the environment; none at all is an empty one. Raises ConfigError."""
    if path is not None:
        return Tokens(read_entries(path, read_document(path)), path)
    known: list[Token] = []
    listed, single = environment.get(TOKENS_VARIABLE, ""), environment.get(TOKEN_VARIABLE, "")
    if listed.strip():
        try:
            document = msgspec.json.decode(listed)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise ConfigError(TOKENS_VARIABLE, f"is not JSON: {error}") from None
        known += read_entries(TOKENS_VARIABLE, document)
    if single:
        known.append(Token("environment", _digest_of_plain(TOKEN_VARIABLE, single), frozenset(RIGHTS), ANY))
    return Tokens(known)


def read_entries(where: str, document: object) -> tuple[Token, ...]:
    """From plain data: {tokens: […]}, or the list itself. Raises ConfigError, which names no secret."""
    listed = cast("Mapping[str, Any]", document).get("tokens") if isinstance(document, Mapping) else document
    if not isinstance(listed, list):
        raise ConfigError(where, 'needs a list under "tokens".')
    entries = cast("list[object]", listed)
    if len(entries) > _MAX_TOKENS:
        raise ConfigError(where, f"has {len(entries)} tokens; {_MAX_TOKENS} are allowed.")
    found = [_read_entry(f"{where}: tokens[{index}]", entry) for index, entry in enumerate(entries)]
    _refuse_doubles(where, found)
    return tuple(found)


def _read_entry(where: str, given: object) -> Token:
    try:
        entry = msgspec.convert(given, TokenEntry)
    except msgspec.ValidationError as error:
        raise ConfigError(where, f"{error}.") from None
    if not entry.name.strip():
        raise ConfigError(where, "needs a name, by which logs can tell it.")
    if not entry.rights:
        raise ConfigError(where, f"needs rights: some of {', '.join(RIGHTS)}.")
    if bool(entry.sha256) == bool(entry.token):
        raise ConfigError(where, "needs either sha256 (the digest of the token, as hex) or token.")
    digest = entry.sha256.lower() if entry.sha256 else _digest_of_plain(where, entry.token)
    if not _DIGEST.fullmatch(digest):
        raise ConfigError(where, "sha256 must be 64 hex digits; `codemode tokens new` makes one.")
    if not entry.agent.strip() or not entry.sessions or not all(name.strip() for name in entry.sessions):
        raise ConfigError(where, 'agent and sessions must not be blank; "*" stands for all.')
    return Token(entry.name, digest, frozenset(entry.rights), entry.agent, entry.sessions)


def _refuse_doubles(where: str, found: Iterable[Token]) -> None:
    names: set[str] = set()
    for token in found:
        if token.name in names:
            raise ConfigError(where, f"has two tokens named {token.name!r}.")
        names.add(token.name)


def _digest_of_plain(where: str, secret: str) -> str:
    if not _MIN_CHARACTERS <= len(secret) <= _MAX_CHARACTERS:
        raise ConfigError(
            where,
            f"a token has {_MIN_CHARACTERS} to {_MAX_CHARACTERS} characters: see `codemode tokens new`.",
        )
    return digest_of(secret)


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def new_secret() -> str:
    return _PREFIX + secrets.token_urlsafe(32)


def bearer(header: str | None) -> str | None:
    """The secret in an Authorization header; None if there is none in it."""
    kind, _, secret = (header or "").partition(" ")
    return secret.strip() or None if kind.lower() == "bearer" else None
