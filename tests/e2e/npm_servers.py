"""The reference servers from npm, at fixed versions."""

from __future__ import annotations

from tests.harness.npm import installed_or_skip, node

VERSION = "2026.8.31"
PACKAGES = tuple(
    f"@modelcontextprotocol/server-{name}@{VERSION}" for name in ("everything", "filesystem", "memory")
)


def server_script(name: str) -> list[str]:
    """The command of a reference server, such as "everything". Skips where npm's registry is out of reach."""
    modules = installed_or_skip(*PACKAGES)
    return [node(), str(modules / "@modelcontextprotocol" / f"server-{name}" / "dist" / "index.js")]
