"""The options of an engine: tools, servers, a store, a configuration, limits.

Only this module turns them into keyword arguments of `Engine`; every command that has an engine uses it,
`serve` too: `add_engine_arguments(parser)`, then `engine_arguments(options)`.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from codemode.cli.errors import CommandError
from codemode.cli.quantities import milliseconds, seconds, size
from codemode.cli.toolbox_options import add_toolbox_arguments, made_toolbox

if TYPE_CHECKING:
    from pathlib import Path

    from codemode.otel import OpenTelemetry

# option, field of tools.codeMode, how it is read; what it means is in the settings table
_LIMITS = (
    ("--timeout", "timeoutMs", milliseconds, "TIME"),
    ("--memory", "memoryLimitBytes", size, "SIZE"),
    ("--max-output", "maxOutputBytes", size, "SIZE"),
    ("--max-snapshot", "maxSnapshotBytes", size, "SIZE"),
    ("--max-pending", "maxPendingToolCalls", int, "N"),
    ("--ttl", "snapshotTtlSeconds", seconds, "TIME"),
)
# Sections of a --config file that are arguments of their own; the engine reads the rest by itself.
_OWN_ARGUMENTS = ("settings", "mcpServers", "mcp", "openapi", "toolbox")
_DOCUMENT_KEYS = ("tools", "agents", "policy", *_OWN_ARGUMENTS)


def add_engine_arguments(
    parser: argparse.ArgumentParser, *, servers: tuple[str, ...] = ("--mcp", "--servers")
) -> None:
    """`servers` are the names of the option for MCP servers: for `serve`, --mcp is something else."""
    from codemode.config import CodeModeConfig, EngineSettings
    from codemode.config.rows import choices_of, help_of, rows_of

    add_tool_arguments(parser, servers=servers)
    add_store_argument(parser)
    parser.add_argument(
        "--otel",
        action="store_true",
        help="tell OpenTelemetry of runs and calls, by the OTEL_* variables (extra: otel)",
    )
    limits = parser.add_argument_group(
        "limits (times as 10, 500ms or 2m, sizes as 64k or 10M; clamped to what is allowed, and it says so)"
    )
    fields, settings = rows_of(CodeModeConfig), rows_of(EngineSettings)
    for option, field, read, metavar in _LIMITS:
        limits.add_argument(option, dest=field, type=read, metavar=metavar, help=help_of(fields[field]))
    confinement = settings["confinement"]
    limits.add_argument("--confinement", choices=choices_of(confinement), help=help_of(confinement))


def add_tool_arguments(
    parser: argparse.ArgumentParser, *, servers: tuple[str, ...] = ("--mcp", "--servers")
) -> None:
    group = parser.add_argument_group("tools")
    group.add_argument(
        "--tools",
        action="append",
        default=[],
        metavar="SPEC",
        help="module:attribute or file.py:attribute: a tool, a function or a list of them; without an"
        " attribute everything made with @tool. May be given more than once",
    )
    group.add_argument(
        "--namespaces",
        action="append",
        default=[],
        metavar="SPEC",
        help="as --tools: an object of plugin ids, each with its list of namespaces",
    )
    group.add_argument(*servers, dest="servers", metavar="FILE", help="MCP servers: a file with mcpServers")
    group.add_argument(
        "--config",
        metavar="FILE",
        help="JSON or TOML: the codeMode object, or a document with tools, agents, policy, settings,"
        " mcpServers, toolbox; `codemode init` writes one",
    )
    add_toolbox_arguments(parser)


def add_store_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store", metavar="PATH", help="what keeps suspended runs: a file (SQLite), or a postgresql:// URL"
    )


def add_scope_arguments(parser: argparse.ArgumentParser, session: str | None) -> None:
    """The options that say whose run it is. Without a default session the run itself tells."""
    from codemode_snapshots.label import NO_VALUE

    group = parser.add_argument_group("whose run it is")
    told = f"default: {session}" if session else "default: the run's own"
    agent = "main" if session else None
    group.add_argument("--session", default=session, metavar="NAME", help=told)
    group.add_argument("--agent", default=agent, metavar="NAME", help=told.replace("cli", "main"))
    group.add_argument("--agent-run", default=NO_VALUE, metavar="NAME", help=argparse.SUPPRESS)


def engine_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Keyword arguments for Engine, and `toolbox`: `made_engine` takes both. Turns code mode on.

    Raises CommandError, and ConfigError for the contents of a configuration.
    """
    from codemode.cli.tool_specs import load_namespaces, load_tools

    config, document = _read_document(options.config)
    limits = limits_of(options)
    _tell_clamped(config, limits)
    settings = document.get("settings", {})
    if not isinstance(settings, Mapping):
        raise CommandError(f"{options.config}: settings must be an object")
    if getattr(options, "confinement", None):
        settings = {**cast("Mapping[str, Any]", settings), "confinement": options.confinement}
    return {
        "tools": load_tools(options.tools),
        "namespaces": load_namespaces(options.namespaces),
        "config": config,
        "agent_config": {**limits, "enabled": True},
        "settings": settings,
        "store": _store(getattr(options, "store", None)),
        "mcp": _servers(options.servers, document),
        "openapi": document.get("openapi"),
        "toolbox": made_toolbox(options, document),
        "otel": _otel(is_asked=getattr(options, "otel", False)),
    }


def _otel(*, is_asked: bool) -> OpenTelemetry | None:
    from codemode.otel import read_otel

    found = read_otel(is_asked)
    if found is not None:
        from codemode.otel.collector import open_collector

        open_collector()
    return found


def limits_of(options: argparse.Namespace) -> dict[str, Any]:
    """The fields of tools.codeMode that the command line sets."""
    asked = {field: getattr(options, field, None) for _, field, *_ in _LIMITS}
    return {field: value for field, value in asked.items() if value is not None}


def _read_document(path: str | None) -> tuple[object, dict[str, Any]]:
    """What the engine reads by itself, and the document; a file without any section of a document is the
    codeMode object. Nothing is dropped: what is in a wrong place is the engine's to refuse."""
    if path is None:
        return None, {}
    from codemode.config import read_document

    found = read_document(path)
    if not isinstance(found, Mapping):
        return found, {}
    document = dict(cast("Mapping[str, Any]", found))
    if not any(key in document for key in _DOCUMENT_KEYS):
        return document, {}
    own: dict[str, Any] = {"tools": {}}
    own |= {key: value for key, value in document.items() if key not in _OWN_ARGUMENTS}
    return own, document


def _tell_clamped(config: object, limits: dict[str, Any]) -> None:
    import logging

    from codemode.config import load_config

    used = load_config(config, overlay=limits).to_dict()
    for option, field, *_ in _LIMITS:
        if field in limits and int(limits[field]) != used[field]:
            logging.getLogger("codemode.cli").warning(
                "%s: %s is outside what is allowed; %s is %s", option, limits[field], field, used[field]
            )


def _store(path: str | None) -> Path | str | None:
    if path is None:
        return None
    from codemode.config.store_argument import PostgresUrl, read_store  # not for those who only ask for help

    found = read_store(path)
    if found is None:
        return None
    if isinstance(found, PostgresUrl):
        return path
    if found.is_dir() or not found.absolute().parent.is_dir():
        raise CommandError(f"--store {path}: name a file in a folder that exists")
    return found


def _servers(path: str | None, document: Mapping[str, Any]) -> object:
    if path is not None:
        return path
    inner = document.get("mcp")
    has_servers = "mcpServers" in document or (isinstance(inner, Mapping) and "mcpServers" in inner)
    return document if has_servers else None
