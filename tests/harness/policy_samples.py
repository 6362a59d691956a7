"""The tools that the tests of policy ask about, and the sets they form."""

from __future__ import annotations

from typing import Any

from codemode.policy import GROUPS, Policy
from codemode.tools import Tool
from tests.harness.tool_samples import make

CORE = [
    make("image"),
    *(make(name) for names in GROUPS.values() for name in names if ":" not in name),
]
PLUGIN = make("browser_request", source="plugin", owner="browser")
SERVER = make("create_issue", source="mcp", owner="github")
ALL = [*CORE, PLUGIN, SERVER]
SLACK, DISCORD = (make(name, source="plugin", owner="chat") for name in ("slack", "discord"))
WITH_CHAT = [*ALL, SLACK, DISCORD]

FS = {"read", "write", "edit", "apply_patch"}
RUNTIME = {"exec", "bash", "process"}
SESSIONS = {"sessions_list", "sessions_history", "sessions_send", "sessions_spawn", "session_status"}
MEMORY = {"memory_search", "memory_get"}
CODING = FS | RUNTIME | SESSIONS | MEMORY | {"image"}
MESSAGING = {"message", "sessions_list", "sessions_history", "sessions_send", "session_status"}
EVERYTHING = {tool.name for tool in ALL}


def allowed(
    config: dict[str, Any] | None, tools: list[Tool] = ALL, document: object = None, /, **who: str
) -> set[str]:
    return {tool.name for tool in Policy(config, document).resolve(tools, **who).tools}
