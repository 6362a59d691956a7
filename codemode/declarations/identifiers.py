"""Names of servers and tools as programs write them: camelCase, all different, no reserved words. Pure.

`create_issue` becomes `createIssue`, `chrome-devtools` becomes `chromeDevtools`. Any name becomes an
identifier; a word that is taken or reserved gets a number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from codemode_runtime.language import RESERVED_WORDS

from codemode.catalog.names import NOT_FOR_TOOLS

# Members that stand beside a server's tools; a tool of such a name gets a number.
SERVER_MEMBERS = frozenset(("resources", "prompts", "$api"))
# `await` would take an object with `then` for a promise; the language itself reads the others.
_NEVER = RESERVED_WORDS | (NOT_FOR_TOOLS - {"search", "describe", "call"}) | {"undefined", "NaN", "Infinity"}
_MAX_LENGTH = 80
_SEPARATORS = re.compile(r"[\W_]+")


def camel_case(name: str, fallback: str) -> str:
    """Makes an identifier of a name; `fallback` if the name has no letter or digit."""
    words = [word for word in _SEPARATORS.split(name[: 4 * _MAX_LENGTH]) if word]
    if not words:
        return fallback
    first = words[0].lower() if words[0].isupper() else words[0][:1].lower() + words[0][1:]
    joined = (first + "".join(word[:1].upper() + word[1:] for word in words[1:]))[:_MAX_LENGTH]
    kept = "".join(letter for letter in joined if f"_{letter}".isidentifier())
    if not kept:
        return fallback
    return kept if kept.isidentifier() else f"_{kept}"


def server_identifiers(names: Iterable[str]) -> dict[str, str]:
    """How programs name MCP servers: all that are configured, because each has a claim to its identifier."""
    # the index has a file of its own among theirs
    return assign(names, taken={"$api", "index"}, fallback="server")


def assign(names: Iterable[str], *, taken: Collection[str] = (), fallback: str = "tool") -> dict[str, str]:
    """Maps names to identifiers; the order of the names changes nothing.

    A name that is already an identifier in this spelling has the first claim to it.
    """
    wanted = {name: camel_case(name, fallback) for name in names}
    used = {*_NEVER, *taken}
    found: dict[str, str] = {}
    numbers: dict[str, int] = {}
    for name in sorted(wanted, key=lambda name: (wanted[name] != name, name)):
        identifier = wanted[name]
        while identifier in used:
            number = numbers[wanted[name]] = numbers.get(wanted[name], 1) + 1
            identifier = f"{wanted[name]}{number}"
        used.add(identifier)
        found[name] = identifier
    return found
