"""The names that programs of an engine can use, for declarations, lists and completion. Read once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import msgspec

from codemode.catalog import Catalog
from codemode.cli.errors import CommandError
from codemode.contract.results import Completed
from codemode.declarations.declarations import declare_tool
from codemode.engine import Engine
from codemode.mcp.library import Library
from codemode.nearest import did_you_mean
from codemode.tools import Tool

_GLOBALS = """\
type Entry = {
  id: string; name: string; label?: string; description: string; source: string; sourceName?: string;
};
/** Every tool but those of MCP servers; no schemas. */
declare const ALL_TOOLS: readonly Entry[];
declare function text(value: unknown): void;
declare function json(value: unknown): void;
/** Show content that a tool returned, by its handle. */
declare function image(handle: { id: string }): void;
declare function file(handle: { id: string }): void;
declare function yield_control(reason?: string): Promise<void>;
type ApiFile = { path: string; bytes: number; description: string };
/** A list is also iterated and indexed as its files; a file converts to its content. */
declare const API: {
  list(prefix?: string): Promise<{ files: ApiFile[] } & ReadonlyArray<ApiFile>>;
  read(path: string): Promise<ApiFile & { content: string }>;
};
"""
_OWN = """\
  function search(query: string, options?: { limit?: number }): Promise<Array<Entry & { call: string }>>;
  function describe(id: string): Promise<Entry & { parameters: unknown; returns?: unknown }>;
  function call(id: string, input?: unknown): Promise<unknown>;
"""


_LIST_NAMESPACES = (
    "return Object.fromEntries(Object.entries(namespaces).map(([n, v]) => [n, Object.keys(v)]))"
)


class GuestSurface:
    """The names in a catalog; `servers` are all configured servers, with tools or without."""

    def __init__(
        self,
        tools: Iterable[Tool],
        servers: Iterable[str] = (),
        namespaces: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.catalog = Catalog(tools)
        self.namespaces = namespaces or {}  # by global name: the members
        self._library = Library(self.catalog.tools, servers)

    @cached_property
    def servers(self) -> dict[str, list[str]]:
        """The identifiers of the tools, by the server's identifier."""
        return {name: self._api(name)["tools"] for name in self._library.server_names}

    @property
    def names(self) -> list[str]:
        """Every name that `declare` knows."""
        tools = [f"{server}.{tool}" for server, tools in self.servers.items() for tool in tools]
        return [*self.catalog.convenience_names(), *self.servers, *tools]

    @property
    def all(self) -> str:
        """The declarations of `tools`, then the files that `API.read` serves."""
        own = [self._declare(tool) for tool in self.catalog.tools if tool.source != "mcp"]
        files = [f"{_GLOBALS}declare namespace tools {{\n{_OWN}{''.join(own)}}}\n"]
        paths = [file["path"] for file in _decode(self._library.list_files(""))["files"]]
        files += [_decode(self._library.read_file(path))["content"] for path in paths]
        return "\n".join(files)

    def declare(self, name: str) -> str:
        """Declares a tool, an MCP server, or one of its tools as server.tool. Raises CommandError."""
        wanted = name.removeprefix("tools.").removeprefix("MCP.")
        tool = self.catalog.resolve(wanted) or self.catalog.get(self.catalog.convenience(wanted) or "")
        if tool is not None:
            return f"declare namespace tools {{\n{self._declare(tool)}}}\n"
        server, _, member = wanted.partition(".")
        if server in self.servers and not member:
            return self._api(server)["header"]
        if member in self.servers.get(server, ()):
            return f"declare namespace MCP.{server} {{\n{self._api(server, member)['header']}}}\n"
        raise CommandError(f"{name}: there is no such tool or server.{did_you_mean(wanted, self.names)}")

    def _declare(self, tool: Tool) -> str:
        name = self.catalog.convenience_of(tool)
        if name is None:
            return f"  // {json.dumps(tool.id)} has no function of its own: call it by its id\n"
        # without a declared result the type is `unknown`; McpToolResult is for servers
        return declare_tool(name, tool if tool.returns is not None else replace(tool, returns={}))

    def _api(self, server: str, *tool: str) -> dict[str, Any]:
        return _decode(self._library.api(json.dumps([server, *tool])))


async def read_surface(engine: Engine) -> GuestSurface:
    """Applies the engine's policy and connects the servers; works with code mode on or off."""
    prepared = await engine.prepare()
    tools = prepared.visible if prepared.catalog is None else prepared.catalog.tools
    servers = [server["server"] for server in engine.health().mcp]
    return GuestSurface(tools, servers, await _namespaces(engine))


async def _namespaces(engine: Engine) -> dict[str, list[str]]:
    """Asks a program: which namespaces are visible, and their members, is decided when a program starts."""
    result = await engine.exec(_LIST_NAMESPACES, session="cli")
    return result.value if isinstance(result, Completed) else {}


def _decode(answer: bytes | None) -> dict[str, Any]:
    assert answer is not None, "the library was asked for what it lists"
    return msgspec.json.decode(answer)
