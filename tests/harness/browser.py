"""A real Chromium for tests, and a server with the console for it to look at.

Debian's package will do: `apt-get install chromium`. Without one the tests are skipped, unless
CODEMODE_CHROMIUM=required says that there has to be one, as .ci/run does where it could install it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.harness.mcp_servers import answers, free_port
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT, environment

TOOLS = PROJECT / "tests" / "serve" / "console_tools.py"
_EXPECT_MS = 15_000
# What the browser itself logs when a token is wrong or a server is gone.
_EXPECTED = (
    "status of 401",
    "net::ERR_CONNECTION_REFUSED",
    "net::ERR_INCOMPLETE_CHUNKED",
    "net::ERR_EMPTY_RESPONSE",
)
_OPTIONS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip


def chromium() -> str:
    """The path of the browser. Skips the test without one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("CODEMODE_CHROMIUM") != "required":
        pytest.skip("needs Chromium: apt-get install chromium")
    assert found is not None, "CODEMODE_CHROMIUM=required, and there is none"
    return found


@contextmanager
def browser() -> Generator[Browser]:
    """Has a profile of its own, which goes with it."""
    path = chromium()
    expect.set_options(timeout=_EXPECT_MS)
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=_OPTIONS)
        try:
            yield made
        finally:
            made.close()


@dataclass
class Site:
    """A running server, and what a host would ask of it."""

    port: int
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def post(self, path: str, **body: Any) -> Any:
        return self._ask(path, json.dumps(body).encode())

    def get(self, path: str) -> Any:
        return self._ask(path, None)

    def _ask(self, path: str, body: bytes | None) -> Any:
        heads = {"Content-Type": "application/json"}
        if self.token:
            heads["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(self.url + path, body, heads)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            return json.load(response)

    def exec(self, code: str, **more: Any) -> Any:
        return self.post("v1/exec", code=code, **more)

    def run_of(self, session: str) -> str:
        """The id of the only run of a session."""
        (found,) = self.get(f"v1/runs?session={quote(session)}")["runs"]
        return found["runId"]

    def begin(self, code: str, **more: Any) -> Begun:
        """The same, while the test goes on."""
        return Begun(self, code, more)


class Begun:
    """An exec under way; `result` waits for its end."""

    def __init__(self, site: Site, code: str, more: dict[str, Any]) -> None:
        self._found: list[Any] = []
        self._thread = threading.Thread(
            target=lambda: self._found.append(site.exec(code, **more)), daemon=True
        )
        self._thread.start()

    def result(self) -> Any:
        self._thread.join(PATIENCE_SECONDS)
        assert self._found, "the exec has no result"
        return self._found[0]


@contextmanager
def site(*options: str, token: str = "", port: int = 0, **env: str) -> Generator[Site]:
    port = port or free_port()
    command = [sys.executable, "-m", "codemode", "serve", "--http", f"127.0.0.1:{port}", *options]
    process = subprocess.Popen(
        [*command, "--tools", f"{TOOLS}:tools"],
        cwd=PROJECT,
        env={**environment(), **env},
        stderr=subprocess.DEVNULL,
    )
    try:
        patience = time.monotonic() + PATIENCE_SECONDS
        while not answers(port):
            assert process.poll() is None, "the server ended"
            assert time.monotonic() < patience, "the server does not listen"
            time.sleep(0.05)
        yield Site(port, token)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_SECONDS)


@dataclass
class Watched:
    """What a page did beside what a test asked of it; all of it has to stay empty."""

    said: list[str] = field(default_factory=list[str])
    strangers: list[str] = field(default_factory=list[str])


@contextmanager
def page_at(made: Browser, place: Site, path: str = "", **options: Any) -> Generator[Page]:
    """A page in a context of its own. Fails if it logged an error or asked another host for anything."""
    context: BrowserContext = made.new_context(viewport={"width": 1280, "height": 860}, **options)
    context.set_default_timeout(_EXPECT_MS)
    page, watched = context.new_page(), Watched()
    page.on("pageerror", lambda error: watched.said.append(str(error)))
    page.on(
        "console",
        lambda message: watched.said.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("request", lambda request: _note_host(watched, place, request.url))
    try:
        page.goto(place.url + path)
        yield page
        said = [text for text in watched.said if not any(expected in text for expected in _EXPECTED)]
        assert (said, watched.strangers) == ([], [])
    finally:
        context.close()


def _note_host(watched: Watched, place: Site, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme != "data" and parts.netloc != f"127.0.0.1:{place.port}":
        watched.strangers.append(url)


def give(path: Path, text: str) -> None:
    """Answers the tool `hold`; whole, because it is read as soon as it is there."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.rename(path)
