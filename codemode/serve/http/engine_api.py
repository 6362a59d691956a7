"""The engine itself over HTTP: its tools, what a model is shown, its state, its health."""

from __future__ import annotations

from typing import Any

import msgspec

import codemode
from codemode.serve.http.asked import HttpAsked
from codemode.serve.http.errors import HttpRefused
from codemode.serve.http.inputs import PromptQuery, ToolsQuery
from codemode.surface import render_tools

_CHARACTERS_OF_A_TOKEN = 4  # about; every provider counts in its own way


def tokens_of(text: str) -> int:
    return -(-len(text) // _CHARACTERS_OF_A_TOKEN)


async def list_tools(asked: HttpAsked[ToolsQuery, Any]) -> Any:
    query = asked.query
    who = asked.caller.scope(query.agent, query.session, None)
    return await asked.engine.list_tools(
        query.q,
        agent=who.agent,
        session=who.session,
        provider=query.provider,
        model=query.model,
        offset=query.offset,
        limit=query.limit,
    )


async def describe_tool(asked: HttpAsked[PromptQuery, Any]) -> Any:
    query = asked.query
    who = asked.caller.scope(query.agent, query.session, None)
    found = await asked.engine.describe_tool(
        asked.path["toolId"],
        agent=who.agent,
        session=who.session,
        provider=query.provider,
        model=query.model,
    )
    if found is None:
        raise HttpRefused(404, "There is no such tool for this agent.")
    return found


async def show_prompt(asked: HttpAsked[PromptQuery, Any]) -> Any:
    """What a model is shown, exactly."""
    query = asked.query
    who = asked.caller.scope(query.agent, query.session, None)
    prepared = await asked.engine.prepare(scope=who, provider=query.provider, model=query.model)
    shown = render_tools(prepared.visible, query.format)
    own = prepared.visible if prepared.catalog is None else prepared.catalog.tools
    direct = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in own
    ]
    description = prepared.exec_description
    return {
        "active": prepared.active,
        "description": description,
        "characters": len(description),
        "tokens": tokens_of(description),
        "prompt": prepared.prompt,
        "tools": shown,
        "toolsTokens": tokens_of(msgspec.json.encode(shown).decode()),
        "directTokens": tokens_of(msgspec.json.encode(direct).decode()),
        "warnings": prepared.warnings,
    }


async def show_engine(asked: HttpAsked[Any, Any]) -> Any:
    engine, state = asked.engine, asked.state
    stats, health = engine.stats(), engine.health()
    return {
        "version": codemode.__version__,
        "startedAtMs": state.started_at_ms,
        "isDraining": state.is_draining,
        "health": {name: health[name] for name in ("status", "reasons", "checks")},
        "workers": stats["workers"],
        "loop": stats["loop"],
        "runs": stats["runs"],
        "totals": stats["totals"],
        "store": await engine.store_info(),
        "mcp": health.mcp,
        "mcpTraffic": stats["mcp"],
        "limits": engine.config.to_dict(),
        "settings": engine.settings.to_dict(),
        "http": {
            "requests": state.under_way,
            "streams": state.streams,
            "maxStreams": state.max_streams,
            "maxConnections": state.max_connections,
        },
    }


async def show_health(asked: HttpAsked[Any, Any]) -> Any:
    return dict(asked.engine.health())


async def probe(asked: HttpAsked[Any, Any]) -> Any:
    return dict(await asked.engine.probe())


async def drain(asked: HttpAsked[Any, Any]) -> Any:
    asked.state.drain()
    await asked.engine.drain(timeout=0)  # for MCP too
    return {"isDraining": True}


async def whoami(asked: HttpAsked[Any, Any]) -> Any:
    token = asked.caller.token
    return {
        "name": token.name,
        "rights": sorted(token.rights),
        "agent": token.agent,
        "sessions": token.sessions,
        "tokens": bool(token.digest),
    }
