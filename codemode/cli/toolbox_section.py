"""Reads the section `toolbox` of a configuration. What the command line says wins over it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from codemode.cli.errors import CommandError
from codemode.toolbox import CommandRules, Profile, Toolbox, WebLimits


class _Commands(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    security: Literal["deny", "allowlist", "full"] = "allowlist"
    ask: Literal["off", "on-miss", "always"] = "on-miss"
    allow: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    timeout_seconds: float = 120.0


class _Web(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    seconds: float = 20.0
    page_bytes: int = 4 * 1024 * 1024
    text_bytes: int = 64 * 1024
    cache_seconds: float = 900.0
    private_hosts: tuple[str, ...] = ()


class _Section(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    profile: Profile | None = None
    workspace: str = "."
    commands: _Commands = msgspec.field(default_factory=_Commands)
    web: _Web = msgspec.field(default_factory=_Web)


def toolbox_from(
    found: object, file: str | None, *, profile: Profile | None, workspace: str | None, allow: Iterable[str]
) -> Toolbox | None:
    """None for a section without a profile. Raises CommandError and ConfigError."""
    try:
        section = msgspec.convert(found, _Section)
    except msgspec.ValidationError as problem:
        raise CommandError(f"{file}: toolbox: {problem}") from None
    wanted = profile or section.profile
    if wanted is None:
        return None
    commands, web = section.commands, section.web
    return Toolbox(
        wanted,
        workspace=Path(workspace or section.workspace),
        commands=CommandRules(
            security=commands.security,
            ask=commands.ask,
            allow=(*commands.allow, *allow),
            environment=commands.environment,
            timeout_seconds=commands.timeout_seconds,
        ),
        web=WebLimits(
            seconds=web.seconds,
            page_bytes=web.page_bytes,
            text_bytes=web.text_bytes,
            cache_seconds=web.cache_seconds,
            private_hosts=web.private_hosts,
        ),
    )
