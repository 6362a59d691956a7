"""Which commands may run, and which need a person's word. Pure."""

from __future__ import annotations

import fnmatch
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Security = Literal["deny", "allowlist", "full"]
Ask = Literal["off", "on-miss", "always"]
Verdict = Literal["run", "ask", "refuse"]

# Outside of quotes these make a shell do more than start the one program that was read.
_SHELL = frozenset(";&|<>()$`\\\n\r*?[]{}~#!=")
# What a command gets of the host's environment, besides what `environment` adds.
_PASSED = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR", "SHELL")


@dataclass(frozen=True, slots=True)
class CommandRules:
    """`allow` has names (`git`) or beginnings of commands (`git status`, `npm run *`).

    security: "deny" runs nothing; "allowlist" runs what `allow` names, and never by a shell unless a person
    said so; "full" runs anything, by `sh` where it takes a shell.
    ask: "off" asks nobody; "on-miss" asks about what `allow` does not name; "always" asks about each.
    """

    security: Security = "allowlist"
    ask: Ask = "on-miss"
    allow: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_seconds: float = 120.0
    max_timeout_seconds: float = 3_600.0
    output_bytes: int = 64 * 1024
    max_background: int = 16

    def judge(self, command: str) -> Verdict:
        if self.security == "deny":
            return "refuse"
        if self.ask == "always":
            return "ask"
        argv = simple_words(command)
        if argv is not None and any(_fits(rule, argv) for rule in self.allow):
            return "run"
        if self.ask == "on-miss":
            return "ask"
        return "run" if self.security == "full" else "refuse"

    def argv(self, command: str, environment: Mapping[str, str]) -> list[str]:
        """A program is started as it is; anything else, as `cd src && make` or `exit 3`, needs a shell."""
        words = simple_words(command)
        is_program = words is not None and (
            "/" in words[0] or shutil.which(words[0], path=environment["PATH"])
        )
        if words is not None and (
            is_program or (self.judge(command) == "run" and self.security == "allowlist")
        ):
            return words
        return ["/bin/sh", "-c", command]

    def environment_from(self, host: Mapping[str, str]) -> dict[str, str]:
        passed = {name: host[name] for name in _PASSED if name in host}
        passed |= {name: value for name, value in host.items() if name.startswith("LC_")}
        passed.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
        return passed | dict(self.environment)


def simple_words(command: str) -> list[str] | None:
    """The words of a command that needs no shell; None for one that does."""
    quote = ""
    for letter in command:
        if quote:
            if letter == quote:
                quote = ""
            elif quote == '"' and letter in "$`\\!":
                return None
        elif letter in "'\"":
            quote = letter
        elif letter in _SHELL:
            return None
    if quote or "\0" in command:
        return None
    return shlex.split(command) or None


def _fits(rule: str, argv: list[str]) -> bool:
    """A rule fits a command that begins with its words; `*` and `?` stand for parts of one word."""
    words = rule.split()
    if len(argv) < len(words):
        return False
    return all(fnmatch.fnmatchcase(given, wanted) for wanted, given in zip(words, argv, strict=False))
