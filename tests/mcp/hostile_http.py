"""An MCP server over HTTP that misbehaves: `python -m tests.mcp.hostile_http PORT KIND FILE`.

What a call does depends on the tool's name. As soon as FILE is there, the stream for notifications floods
with KIND of hostile_server.FLOODS.
"""

from __future__ import annotations

import gzip
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.mcp.hostile_server import FLOODS, LISTS, OPEN, nested

PORT, KIND, TRIGGER = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
TOOLS = ("ok", "plain", "events", "deep", "wrong_id", "bomb", "rubbish", "before")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match request.get("method"):
            case "initialize":
                version, info = request["params"]["protocolVersion"], {"name": "hostile", "version": "0"}
                self.answer(
                    request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
                )
            case "tools/list":
                self.answer(request, {"tools": [{"name": name, "inputSchema": OPEN} for name in TOOLS]})
            case "tools/call":
                self.call(request, request["params"]["name"])
            case _ if "id" in request and "method" in request:
                error = {"code": -32601, "message": "no such method"}
                self.reply(json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": error}).encode())
            case _:
                self.reply(b"", status=202)

    def call(self, request: dict[str, Any], name: str) -> None:
        begin = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[' % request["id"]
        text: dict[str, Any] = {"content": [{"type": "text", "text": name}]}
        match name:
            case "plain":
                self.reply(begin + LISTS + b"]}}")
            case "events":
                self.reply(b"id: 1\r\ndata: " + begin + LISTS + b"]}}\r\n\r\n", "text/event-stream")
            case "deep":
                self.reply(b"data: " + begin + nested(50_000) + b"]}}\n\n", "text/event-stream")
            case "wrong_id":
                self.answer({"id": 999_999}, text)
            case "bomb":
                bomb = gzip.compress(b"[" + b" " * (64 << 20) + b"]")
                self.reply(bomb, encoding="gzip")
            case "rubbish":
                self.reply(b"{]")
            case "before":  # notifications before the answer, in data lines of their own
                progress = b'data: {"jsonrpc":"2.0",\ndata: "method":"notifications/message","params":{}}\r\r'
                answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": text}).encode()
                self.reply(b": hello\n\n" + progress * 3 + b"data:" + answer + b"\n\n", "text/event-stream")
            case _:
                self.answer(request, text)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while not TRIGGER.exists():
            time.sleep(0.01)
        made = [FLOODS[KIND](at) for at in range(1 if "lists" in KIND or "large" in KIND else 1_000)]
        try:
            while True:
                for message in made:
                    self.wfile.write(b"data: " + message + b"\n\n")
        except OSError:
            return

    def do_DELETE(self) -> None:
        self.reply(b"")

    def answer(self, request: dict[str, Any], result: dict[str, Any]) -> None:
        self.reply(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode())

    def reply(
        self, body: bytes, kind: str = "application/json", *, status: int = 200, encoding: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "one")
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
