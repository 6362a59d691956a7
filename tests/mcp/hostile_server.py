"""An MCP server that misbehaves on request, in plain JSON-RPC over stdio: `hostile_server.py MODE [FILE]`.

What it lists depends on the mode, what a call does on the tool's name. FILE counts how often it was started.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "names"
OPEN = {"type": "object"}
GROWN: list[dict[str, Any]] = []


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"inner": schema}}
    return schema


NAMES = [
    "*/ evil", "`${1}`", "line\nbreak", "__proto__", "constructor", "then", "delete", "create_issue",
    "create-issue", "createIssue", "resources", "prompts", "$api", "resources/list", "1st", "Ünï_cødé", "🦊",
    " ", "a" * 200, "\u2028x",
]  # fmt: skip
SCHEMAS: list[dict[str, Any]] = [
    {"$ref": "#"},
    {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
    {"type": "object", "properties": {"self": {"$ref": "#"}, "*/": {"description": "*/ }; evil"}}},
    {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}},
     "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}}},
    deep(200),
    {"properties": {"__proto__": {"type": "string"}, "a\nb": {"enum": ["*/", "`", "\u2028", "\\"]}}},
    {"properties": {"x": {"type": ["object", "nonsense"], "properties": "no", "required": 7, "anyOf": "x"}}},
    {"anyOf": [{"$ref": "#/nowhere"}, {"$ref": "http://example.invalid/x"}]},
    {"type": "object", "properties": {"p": {"type": "string", "pattern": "(a+)+$"}}},
]  # fmt: skip


def tools() -> list[dict[str, Any]]:
    match MODE:
        case "names":
            return [
                {"name": name, "description": f"{name} */ ` \u2028 {{", "inputSchema": OPEN} for name in NAMES
            ]
        case "many":
            return [
                {"name": f"tool_{number}", "description": "x" * 50, "inputSchema": deep(2)}
                for number in range(10_000)
            ]
        case "schemas":
            return [
                {"name": f"schema_{at}", "inputSchema": OPEN | schema, "outputSchema": OPEN | schema}
                for at, schema in enumerate(SCHEMAS)
            ]
        case "grow":
            return [{"name": "grow", "inputSchema": OPEN}, *GROWN]
        case "huge":
            return [
                {"name": "big", "description": "y" * (1 << 20), "inputSchema": OPEN},
                {
                    "name": "wide",
                    "inputSchema": {"type": "object", "properties": {f"p{n}": {} for n in range(30_000)}},
                },
                {"name": "fine", "inputSchema": OPEN},
            ]
        case _:
            names = [
                "ok",
                "hang",
                "die",
                "wrong_id",
                "rubbish",
                "large",
                "too_large",
                "error",
                "lie",
                "odd",
                "noise",
            ]
            declared = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
            return [
                {"name": name, "inputSchema": OPEN, **({"outputSchema": declared} if name == "lie" else {})}
                for name in names
            ]


def call(request: dict[str, Any]) -> None:
    name = request["params"]["name"]
    text: dict[str, Any] = {"content": [{"type": "text", "text": name}]}
    match name:
        case "hang":
            return
        case "grow":
            GROWN.append({"name": f"grown_{len(GROWN)}", "inputSchema": OPEN})
            send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            answer(request, text)
        case "die":
            sys.stdout.write('{"jsonrpc": "2.0", "id":')
            sys.stdout.flush()
            os._exit(3)
        case "wrong_id":
            answer({"id": 987_654}, text)
            answer({"id": "x"}, text)
        case "rubbish":
            answer(request, {"content": "no list", "isError": "maybe"})
        case "large":
            answer(request, {"content": [{"type": "text", "text": "z" * (9 << 20)}]})
        case "too_large":
            answer(request, {"content": [{"type": "text", "text": "z" * (17 << 20)}]})
        case "error":
            answer(request, {"content": [{"type": "text", "text": "it did not work"}], "isError": True})
        case "lie":
            answer(request, {"content": [], "structuredContent": {"n": "not a number"}})
        case "odd":
            send(
                {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "odd arguments"}}
            )
        case "noise":
            sys.stdout.write("starting up...\n{]\n\x00\xff\n[]\n{}\n")
            answer(request, text)
        case _:
            answer(request, text)


def answer(request: dict[str, Any], result: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main() -> None:
    if len(sys.argv) > 2:
        with Path(sys.argv[2]).open("a") as starts:
            starts.write("x")
    if MODE == "exit":
        sys.exit(7)
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "initialize" if MODE == "mute":
                time.sleep(3600)
            case "initialize":
                version = request["params"]["protocolVersion"]
                info = {"name": "hostile */", "version": "0"}
                answer(
                    request, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
                )
            case "tools/list":
                answer(request, {"tools": tools()})
            case "tools/call":
                call(request)
            case _ if "id" in request:
                send(
                    {
                        "jsonrpc": "2.0",
                        "id": request["id"],
                        "error": {"code": -32601, "message": "no such method"},
                    }
                )
            case _:
                pass


main()
