"""What programs see of MCP: the tree of servers, the virtual files of `API`, and `$api`. Immutable.

It is made from the MCP tools of one catalog, so it has nothing that the policy denied. Each part is rendered
at the first request and then kept as long as the catalog.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import msgspec
from codemode_runtime.shapes import Lookup

from codemode.declarations.declarations import (
    METHODS,
    declare_index,
    declare_methods,
    declare_server,
    declare_tool,
)
from codemode.declarations.identifiers import SERVER_MEMBERS, assign, server_identifiers
from codemode.tools import Tool

_encode = msgspec.json.encode
_INDEX = "mcp/index.d.ts"


class VirtualFile(NamedTuple):
    """`alias` is its path under the name that the host's configuration gives the server."""

    path: str
    alias: str
    description: str
    text: bytes

    @property
    def entry(self) -> dict[str, Any]:
        return {"path": self.path, "bytes": len(self.text), "description": self.description}


class Library:
    """Answers the lookups of `Environment`; each answer is JSON, or None for what does not exist."""

    def __init__(self, tools: Iterable[Tool], names: Iterable[str] = ()) -> None:
        """`names`: all configured servers. Those without tools now still reserve their identifiers."""
        by_server: dict[str, list[Tool]] = {}
        for tool in tools:
            if tool.source == "mcp":
                by_server.setdefault(tool.owner, []).append(tool)
        identifiers = server_identifiers({*by_server, *names})
        self._servers = {
            identifier: ServerView(identifier, owner, by_server[owner])
            for owner, identifier in sorted(identifiers.items(), key=lambda item: item[1])
            if owner in by_server
        }

    @property
    def server_names(self) -> tuple[str, ...]:
        return tuple(self._servers)

    @property
    def expressions(self) -> dict[str, str]:
        """How a program names each tool, by catalog id; also what lists and reads resources and prompts."""
        found: dict[str, str] = {}
        for view in self._servers.values():
            found |= {tool.id: f"MCP.{view.identifier}.{name}" for name, tool in view.tools.items()}
            for method, tool in view.methods.items():
                found[tool.id] = f"MCP.{view.identifier}.{'.'.join(METHODS[method][:2])}"
        return found

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        """See runtime/README.md for the kinds."""
        match kind:
            case Lookup.SERVER:
                return self.server(key)
            case Lookup.SERVERS:
                return _encode(self.server_names)
            case Lookup.API_LIST:
                return self.list_files(key)
            case Lookup.API_READ:
                return self.read_file(key)
            case Lookup.API:
                return self.api(key)
            case _:
                return None

    def server(self, identifier: str) -> bytes | None:
        found = self._servers.get(identifier)
        return None if found is None else found.tree

    def list_files(self, prefix: str) -> bytes | None:
        if not _is_clean(prefix):
            return None
        listed = [file for file in self._files if file.path.startswith(prefix)]
        listed = listed or [file for file in self._files if file.alias.startswith(prefix)]
        return _encode({"files": [file.entry for file in listed]})

    def read_file(self, path: str) -> bytes | None:
        """By the path that is listed, or else by the server's configured name."""
        if not _is_clean(path):
            return None
        by_path = {file.alias: file for file in self._files} | {file.path: file for file in self._files}
        file = by_path.get(path)
        if file is None:
            return None
        whole = {"path": file.path, "content": file.text.decode(), "description": file.description}
        return _encode(whole | {"bytes": len(file.text)})

    def api(self, key: str) -> bytes | None:
        """For `$api(tool?, options?)`: the key is a JSON array of the server and the arguments."""
        server, *given = cast("list[Any]", msgspec.json.decode(key))
        if server is None:
            return _encode(
                {"header": self._index, "servers": [view.summary for view in self._servers.values()]}
            )
        view = self._servers.get(server) if isinstance(server, str) else None
        return None if view is None else view.api(*_arguments(given))

    @cached_property
    def _files(self) -> tuple[VirtualFile, ...]:
        """No files, not even the index, if there is no server."""
        if not self._servers:
            return ()
        told = "The MCP servers of this run, and the types that their files share."
        index = VirtualFile(_INDEX, _INDEX, told, self._index.encode())
        return (index, *(view.file for view in self._servers.values()))

    @cached_property
    def _index(self) -> str:
        return declare_index({name: len(view.tools) for name, view in self._servers.items()})


class ServerView:
    """One server: its tools under the identifiers that programs use."""

    def __init__(self, identifier: str, owner: str, tools: Sequence[Tool]) -> None:
        self.identifier = identifier
        self.owner = owner
        self.path = _path(identifier)
        by_name = {tool.name: tool for tool in tools}
        self.methods = {method: by_name.pop(method) for method in METHODS if method in by_name}
        self.identifiers = assign(by_name, taken=SERVER_MEMBERS)
        named = sorted(
            ((self.identifiers[name], tool) for name, tool in by_name.items()), key=lambda item: item[0]
        )
        self.tools: dict[str, Tool] = dict(named)

    @cached_property
    def tree(self) -> bytes:
        """See runtime/README.md for the encoding."""
        members: dict[str, Any] = {name: _leaf(tool) for name, tool in self.tools.items()}
        for method, tool in self.methods.items():
            group, member, _ = METHODS[method]
            members.setdefault(group, {"o": {}})["o"][member] = _leaf(tool)
        members["$api"] = {"api": self.identifier}
        return _encode({"o": members})

    @cached_property
    def declarations(self) -> str:
        return declare_server(self.identifier, self.owner, self.tools, self.methods)

    @property
    def file(self) -> VirtualFile:
        """Its description is in our own words: what a server writes stays inside the file."""
        groups = sorted({METHODS[method][0] for method in self.methods})
        told = f"MCP.{self.identifier}: {', '.join((_count(len(self.tools), 'tool'), *groups))}."
        return VirtualFile(self.path, _path(self.owner), told, self.declarations.encode())

    @property
    def summary(self) -> dict[str, Any]:
        return {"name": self.identifier, "server": self.owner, "tools": len(self.tools), "file": self.path}

    def api(self, wanted: str | None, with_schema: bool) -> bytes | None:
        tools = self.tools
        if wanted is not None:
            own = wanted if wanted in tools else self.identifiers.get(wanted)
            if own is None:
                return self._method_api(wanted)
            tools = {own: tools[own]}
        header = (
            self.declarations if wanted is None else "".join(declare_tool(*item) for item in tools.items())
        )
        answer: dict[str, Any] = {"header": header, "server": self.identifier, "tools": list(tools)}
        if with_schema:
            answer["schemas"] = {name: _schemas(tool) for name, tool in tools.items()}
        return _encode(answer)

    def _method_api(self, wanted: str) -> bytes | None:
        """`resources` and `prompts` are not tools, but a program may ask for them."""
        group = {name: tool for name, tool in self.methods.items() if METHODS[name][0] == wanted}
        if not group:
            return None
        return _encode({"header": "".join(declare_methods(group)), "server": self.identifier, "tools": []})


def _path(server: str) -> str:
    return f"mcp/{server}.d.ts"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _leaf(tool: Tool) -> dict[str, str]:
    return {"c": tool.id, "m": "mcp"}


def _schemas(tool: Tool) -> dict[str, Any]:
    both: dict[str, Any] = {"input": tool.parameters}
    return both if tool.returns is None else both | {"output": tool.returns}


def _arguments(given: list[Any]) -> tuple[str | None, bool]:
    """`$api()`, `$api(tool)`, `$api(tool, { schema })` and `$api({ schema })`."""
    wanted = next((item for item in given[:1] if isinstance(item, str)), None)
    options = [cast("dict[str, Any]", item) for item in given if isinstance(item, dict)]
    return wanted, any(item.get("schema") is True for item in options)


def _is_clean(path: str) -> bool:
    return not any(step in (".", "..") for step in path.split("/")) and "\\" not in path
