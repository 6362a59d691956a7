"""JSON Schemas of the answers, for the OpenAPI document. Data only."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "number"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_FLAG: Schema = {"type": "boolean"}
_OBJECT: Schema = {"type": "object"}
_NAMES: Schema = {"type": "array", "items": _TEXT}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    found: Schema = {"type": "object", "properties": {**required, **(optional or {})}}
    return found | ({"required": list(required)} if required else {})


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def flag(name: str) -> Schema:
    return _object({name: _FLAG})


def count(name: str) -> Schema:
    return _object({name: _COUNT})


_STATUS: Schema = {"enum": ["running", "waiting", "completed", "failed", "expired", "aborted"]}
_SUMMARY = _object(
    {
        "runId": _TEXT, "agent": _TEXT, "session": _TEXT, "agentRun": _TEXT, "status": _STATUS,
        "language": _TEXT, "startedAtMs": _COUNT, "bytes": _COUNT, "legs": _COUNT, "calls": _COUNT,
        "tools": _NAMES, "approvals": _COUNT,
    },
    {
        "reason": {"enum": ["pending_tools", "yield", "approval"]}, "code": _TEXT,
        "place": {"enum": ["here", "store", "elsewhere"]}, "endedAtMs": _COUNT, "suspendedAtMs": _COUNT,
        "expiresAtMs": _COUNT,
    },
)  # fmt: skip
_APPROVAL = _object(
    {
        "id": _TEXT, "runId": _TEXT, "callId": _TEXT, "agent": _TEXT, "session": _TEXT, "agentRun": _TEXT,
        "tool": _TEXT, "name": _TEXT, "summary": _TEXT, "arguments": _OBJECT, "lines": _NAMES,
        "argumentsSha256": _TEXT, "question": {}, "isQuestion": _FLAG, "askedAtMs": _COUNT,
        "expiresAtMs": _maybe(_COUNT), "sender": _TEXT, "channel": _TEXT,
    }
)  # fmt: skip
_CALL = _object(
    {"id": _TEXT, "tool": _TEXT, "name": _TEXT, "method": _TEXT, "status": _TEXT},
    {"ms": _NUMBER, "bytesIn": _COUNT, "bytesOut": _COUNT, "error": {}, "meta": _OBJECT},
)
_LEG = _object(
    {"name": {"enum": ["exec", "wait"]}, "startedAtMs": _COUNT, "status": _TEXT},
    {
        "toolKind": _TEXT, "toolInputKind": _TEXT, "endedAtMs": _COUNT, "reason": _TEXT, "code": _TEXT,
        "output": _OBJECT, "suspended": _OBJECT, "resumed": _OBJECT, "calls": _list(_CALL),
        "moreCalls": _COUNT,
    },
)  # fmt: skip
_OUTPUT = _object({"type": {"enum": ["text", "json", "image", "file"]}})
_TOOL = {
    "id": _TEXT, "name": _TEXT, "source": _TEXT, "owner": _TEXT, "call": _TEXT, "description": _TEXT,
    "requiresApproval": _FLAG, "readOnly": _FLAG, "destructive": _FLAG, "idempotent": _FLAG,
}  # fmt: skip

RESULT = _object(
    {"status": {"enum": ["completed", "waiting", "failed"]}, "output": _list(_OUTPUT), "telemetry": _OBJECT},
    {
        "value": {}, "runId": _TEXT, "reason": _TEXT, "pendingToolCalls": _list(_OBJECT), "error": _TEXT,
        "code": _TEXT, "phase": _TEXT, "notes": _NAMES, "forModel": _OBJECT,
    },
)  # fmt: skip
RUNS = _object(
    {
        "runs": _list(_SUMMARY),
        "next": _maybe(_TEXT),
        "counts": _object({"running": _COUNT, "waiting": _COUNT, "finished": _COUNT}),
    }
)
RUN = _object(
    {
        "run": _SUMMARY,
        "program": _object({"language": _TEXT, "bytes": _COUNT}, {"text": _TEXT}),
        "positions": {
            "type": "object",
            "additionalProperties": _list(_object({"line": _COUNT, "column": _COUNT})),
        },
        "error": _maybe(_object({"code": _TEXT}, {"message": _TEXT, "line": _COUNT, "column": _COUNT})),
        "legs": _list(_LEG),
        "droppedLegs": _COUNT,
        "ledger": _list(_CALL),
        "output": _list(_OUTPUT),
        "value": _object({"known": _FLAG}, {"value": {}}),
        "pending": _list(_OBJECT),
        "approvals": _list(_APPROVAL),
        "settled": _COUNT,
        "redaction": {"enum": ["shape", "custom", "none"]},
        "history": {"type": ["object", "null"]},
    }
)
HISTORY = _object(
    {
        "checkpoints": _list(
            _object(
                {
                    "at": _COUNT, "keptAtMs": _COUNT, "bytes": _COUNT, "calls": _COUNT,
                    "answered": {"type": "object", "additionalProperties": _TEXT},
                    "pending": {"type": "object", "additionalProperties": _TEXT},
                }
            )
        )
    }
)  # fmt: skip
FORKED = _object({"runId": _TEXT})
TRAJECTORY = _object({"format": _TEXT, "version": _COUNT, "runId": _TEXT, "status": _STATUS})
APPROVALS = _object({"approvals": _list(_APPROVAL), "more": _COUNT})
TOOLS = _object(
    {
        "tools": _list(_object(_TOOL, {"label": _TEXT, "sourceName": _TEXT})),
        "total": _COUNT,
        "sources": {"type": "object", "additionalProperties": _COUNT},
    }
)
TOOL = _object(
    {
        **_TOOL,
        "parameters": _OBJECT,
        "returns": {},
        "returnsSource": _maybe({"enum": ["declared", "observed"]}),
        "declaration": _TEXT,
    },
    {"label": _TEXT, "sourceName": _TEXT},
)
PROMPT = _object(
    {
        "active": _FLAG, "description": _TEXT, "characters": _COUNT, "tokens": _COUNT, "prompt": _TEXT,
        "tools": _list(_OBJECT), "toolsTokens": _COUNT, "directTokens": _COUNT, "warnings": _NAMES,
    }
)  # fmt: skip
HEALTH = _object(
    {
        "status": {"enum": ["healthy", "degraded", "unavailable"]},
        "reasons": _NAMES,
        "checks": _list(_object({"name": _TEXT, "status": _TEXT, "reason": _TEXT})),
    },
    {"mcp": _list(_OBJECT)},
)
ENGINE = _object(
    {
        "version": _TEXT, "startedAtMs": _COUNT, "isDraining": _FLAG, "health": HEALTH, "workers": _OBJECT,
        "loop": _OBJECT, "runs": _OBJECT, "totals": _OBJECT, "store": _OBJECT, "mcp": _list(_OBJECT),
        "mcpTraffic": _list(_OBJECT), "limits": _OBJECT, "settings": _OBJECT, "http": _OBJECT,
    }
)  # fmt: skip
WHOAMI = _object({"name": _TEXT, "rights": _NAMES, "agent": _TEXT, "sessions": _NAMES, "tokens": _FLAG})
ERROR = _object({"error": _object({"status": _COUNT, "code": _TEXT, "message": _TEXT}, {"requestId": _TEXT})})
