"""The console's files, from the wheel: only those that are there, each with its type and a strict policy.

A new file in console/ is served under its own name; index.html is also `/`. Nothing is read but what the
folder held when the server started, so no path leads out of it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

_FOLDER = Path(__file__).parent / "console"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
# No inline script or style, nothing from elsewhere; pictures of runs are data.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self';"
    " connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-cache",
}


class ConsoleFiles:
    """By path, as clients ask for them."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in _TYPES)
        self._files = {f"/{path.relative_to(folder).as_posix()}": path for path in files}
        if "/index.html" in self._files:
            self._files["/"] = self._files["/index.html"]

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self._files)

    def read(self, path: str) -> tuple[bytes, dict[str, str]]:
        """The bytes and the headers; the file may have changed since the start."""
        file = self._files[path]
        data = file.read_bytes()
        tag = f'"{hashlib.sha256(data).hexdigest()[:32]}"'
        return data, {"content-type": _TYPES[file.suffix], "etag": tag, **HEADERS}
