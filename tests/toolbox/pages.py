"""A real HTTP server on this machine, for the tests of web_fetch."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE = """<!doctype html><title>Tea &amp; more</title><script>alert(1)</script>
<nav><a href="/">home</a></nav><h1>Tea</h1><p>Pour <b>hot</b> water, see <a href="/how?a=1">how</a>.</p>
<ul><li>green</li><li>black</li></ul><img src="data:image/png;base64,AAAA" alt="a cup">"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, PageServer)
        self.server.asked.append(self.path)
        target = self.server.redirects.get(self.path)
        if target is not None:
            self._send(302, "text/plain", b"", ("location", target))
            return
        status, kind, body, *headers = self.server.pages.get(self.path, (404, "text/plain", b"no such page"))
        self._send(status, kind, body, *headers)

    def _send(self, status: int, kind: str, body: bytes, *headers: tuple[str, str]) -> None:
        self.send_response(status)
        if kind:
            self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # the reader had enough
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class PageServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.redirects: dict[str, str] = {}
        bomb = gzip.compress(b"a" * 50_000_000)
        self.pages: dict[str, tuple[int, str, bytes, *tuple[tuple[str, str], ...]]] = {
            "/": (200, "text/html; charset=utf-8", PAGE.encode()),
            "/plain": (200, "text/plain", b"just words"),
            "/latin": (200, "text/plain; charset=latin-1", "caf\u00e9".encode("latin-1")),
            "/slow-charset": (200, "text/plain; charset=punycode", b"words-"),
            "/strict-charset": (200, "text/plain; charset=idna", b"words"),
            "/odd-charset": (200, "text/plain; charset=klingon", b"words"),
            "/json": (200, "application/json", b'{"a": 1}'),
            "/picture": (200, "image/png", b"\x89PNG\r\n\x1a\n\0"),
            "/untold": (200, "", b"\0\1\2"),
            "/long": (200, "text/plain", b"0123456789" * 20_000),
            "/busy": (503, "text/plain", b"come back later"),
            "/zipped": (200, "text/plain", gzip.compress(b"packed words"), ("content-encoding", "gzip")),
            "/bomb": (200, "text/plain", bomb, ("content-encoding", "gzip")),
            "/broken-zip": (200, "text/plain", b"not packed", ("content-encoding", "gzip")),
            "/brotli": (200, "text/plain", b"xx", ("content-encoding", "br")),
            "/nested": (200, "text/html", b"<div>" * 100_000 + b"deep"),
        }

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server_address[1]}"


@contextmanager
def serving() -> Generator[PageServer]:
    server = PageServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
