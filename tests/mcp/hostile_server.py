"""An MCP server that misbehaves on request, in plain JSON-RPC over stdio: `hostile_server.py MODE [FILE]`.

What it lists depends on the mode, what a call does on the tool's name. FILE counts how often it was started.
`hostile_server.py flood KIND FILE` sends what nobody asked for, without end, as soon as FILE is there.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
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
COSTLY: dict[str, dict[str, Any]] = {
    "all_wrong": {"type": "string"},
    "one_of": {"oneOf": [{"const": number} for number in range(200)]},
    "any_of": {"anyOf": [{"type": "object", "required": [f"x{number}"]} for number in range(50)]},
}
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
                "blocks",
                "many_blocks",
                "deep",
                "lists",
                "numbers",
                "late_id",
                "middle_id",
            ]
            declared = {"type": "object", "properties": {"n": {"type": "number"}}, "required": ["n"]}
            return [
                {"name": name, "inputSchema": OPEN, **({"outputSchema": declared} if name == "lie" else {})}
                for name in names
            ] + [
                {
                    "name": name,
                    "inputSchema": OPEN,
                    "outputSchema": {
                        "type": "object",
                        "properties": {"n": {"type": "array", "items": items}},
                    },
                }
                for name, items in COSTLY.items()
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
        case "blocks":
            answer(request, {"content": [{"type": "text", "text": "x"}] * 49_000})
        case "many_blocks":
            answer(request, {"content": [{"type": "text", "text": "x"}] * 200_000})
        case "deep":
            write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":' % request["id"] + nested(100_000) + b"}}")
        case "lists":
            write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[%b]}}' % (request["id"], LISTS))
        case "numbers":
            answer(request, {"content": [], "structuredContent": {"n": [7] * 5_000_000}})
        case "all_wrong" | "one_of" | "any_of":
            answer(request, {"content": [], "structuredContent": {"n": [7] * 240_000}})
        case "late_id":
            write(b'{"result":{"content":' + nested(100_000) + b'},"jsonrpc":"2.0","id":%d}' % request["id"])
        case "middle_id":
            end = b',"more":' + nested(10) + b"}"
            write(b'{"result":{"content":' + nested(100_000) + b'},"id":%d' % request["id"] + end)
        case "noise":
            sys.stdout.write("starting up...\n{]\n\x00\xff\n[]\n{}\n")
            answer(request, text)
        case _:
            answer(request, text)


def answer(request: dict[str, Any], result: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


def send(message: dict[str, Any]) -> None:
    write(json.dumps(message).encode())


TURN = threading.Lock()


def write(line: bytes) -> None:
    with TURN:
        sys.stdout.flush()
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()


def notification(method: str, params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), params)


def question(number: int) -> bytes:
    asked = b'{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}'
    return b'{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":%b}' % (number, asked)


LISTS, NUMBERS = b",".join([b"[]"] * 4_000_000), b",".join([b"7"] * 4_000_000)
FLOODS: dict[str, Callable[[int], bytes]] = {
    "lists": lambda _: notification("notifications/message", b'{"data":[%b]}' % LISTS),
    "progress of lists": lambda _: notification("notifications/progress", b'{"progress":[%b]}' % LISTS),
    "logs": lambda _: notification("notifications/message", b'{"level":"info","data":"x"}'),
    "progress": lambda _: notification("notifications/progress", b'{"progressToken":1,"progress":1}'),
    "changed": lambda _: notification("notifications/tools/list_changed"),
    "pings": lambda at: b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}' % at,
    "questions": question,
    "answers": lambda at: b'{"jsonrpc":"2.0","id":%d,"result":{}}' % (at + 1_000_000),
    "large answers": lambda _: b'{"jsonrpc":"2.0","id":"x","result":{"a":[%b]}}' % NUMBERS,
    "empty lines": lambda _: b"\n" * 10_000,
    "rubbish": lambda _: b"{]" * 10,
}  # fmt: skip


def flood(kind: str, trigger: Path) -> None:
    while not trigger.exists():
        time.sleep(0.01)
    made = [FLOODS[kind](at) for at in range(1 if "lists" in kind or "large" in kind else 1_000)]
    try:
        while True:
            for line in made:
                write(line)
    except OSError:
        os._exit(0)


def main() -> None:
    if MODE == "flood":
        threading.Thread(target=flood, args=(sys.argv[2], Path(sys.argv[3])), daemon=True).start()
    elif len(sys.argv) > 2:
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


if __name__ == "__main__":
    main()
