"""The tools of one run, after policy: ids, views, look-ups, search. Never changed once it is made.

A tool that the policy denied was never put in, so no look-up or search finds it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from codemode.catalog.names import call_expression, convenience_names
from codemode.config import ConfigError
from codemode.nearest import nearest
from codemode.tools import Tool

if TYPE_CHECKING:
    from codemode.catalog.result_shapes import Returns
    from codemode.catalog.search import SearchIndex
    from codemode.catalog.search_memory import Learned

_log = logging.getLogger("codemode.catalog")

TOOL_SEARCH_CONTROLS = frozenset(("tool_search_code", "tool_search", "tool_describe", "tool_call"))
_COMPACT_DESCRIPTION = 400
# Larger catalogs are searched off the event loop: indexing ten thousand tools takes half a second.
LARGE_CATALOG = 300


class Catalog:
    """Guest view: what `tools.*` and ALL_TOOLS show, everything but MCP. Host view: everything."""

    def __init__(
        self,
        tools: Iterable[Tool],
        *,
        controls_excluded: bool = True,
        one_view: bool = False,
        mcp: Mapping[str, str] | None = None,
    ) -> None:
        """With `controls_excluded=False` the catalog lists Tool Search's own tools, but never exec and wait.
        With `one_view` the guest's view equals the host's: MCP tools are found like all others. `mcp` says by
        id how programs write MCP tools: their searches find those too."""
        self._mcp = mcp or {}
        self._by_id = _unique(tool for tool in tools if not _is_control(tool, controls_excluded))
        self.tools: Sequence[Tool] = tuple(self._by_id.values())
        self._one_view = one_view
        self._guest = tuple(tool for tool in self.tools if one_view or tool.source != "mcp")
        self._indexes: dict[bool, SearchIndex] = {}

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, tool_id: object) -> bool:
        return tool_id in self._by_id

    def get(self, tool_id: str) -> Tool | None:
        """By exact id, MCP included: for calls that did not come through `tools.*`."""
        return self._by_id.get(tool_id)

    def resolve(self, id_or_name: str) -> Tool | None:
        """The tool that `tools.call` and `tools.describe` mean: by id, or by a name that one tool has."""
        tool = self._by_id.get(id_or_name)
        if tool is not None:
            return tool if self._one_view or tool.source != "mcp" else None
        named = self._by_name.get(id_or_name, ())
        return named[0] if len(named) == 1 else None

    def has_name(self, name: str) -> bool:
        return name in self._by_name

    def entry(self, tool: Tool) -> dict[str, Any]:
        """The compact form, without schemas."""
        entry: dict[str, Any] = {"id": tool.id, "name": tool.name}
        if tool.label:
            entry["label"] = tool.label
        entry["description"] = _shortened(tool.description)
        entry["source"] = tool.source
        if tool.source != "openclaw":
            entry["sourceName"] = tool.owner
        return entry

    def describe(self, id_or_name: str, observed: Returns | None = None) -> dict[str, Any] | None:
        """The entry with the whole description and the schemas; None if there is no such tool. `observed`
        gives what is known of results that are not declared."""
        tool = self.resolve(id_or_name)
        if tool is None:
            return None
        described = self.entry(tool) | {"description": tool.description, "parameters": tool.parameters}
        source, returns = "declared", tool.returns
        if returns is None and observed is not None:
            source, returns = "observed", observed(tool)
        return described if returns is None else described | {"returns": returns, "returnsSource": source}

    def all_tools(self) -> list[dict[str, Any]]:
        """Compact entries; with `call` where a program cannot write the tool's name as it is."""
        return [
            self.entry(tool)
            if self.convenience_of(tool) == tool.name
            else self.entry(tool) | {"call": self.call_expression(tool)}
            for tool in self._guest
        ]

    def guest_ids(self) -> tuple[str, ...]:
        """The ids that `tools.call` takes."""
        return tuple(tool.id for tool in self._guest)

    def convenience(self, name: str) -> str | None:
        return self._convenience.get(name)

    def convenience_names(self) -> list[str]:
        return list(self._convenience)

    def convenience_of(self, tool: Tool) -> str | None:
        return self._convenience_of.get(tool.id)

    def call_expression(self, tool: Tool) -> str:
        return call_expression(tool, self.convenience_of(tool), self._mcp.get(tool.id))

    def mcp_expression(self, tool: Tool) -> str | None:
        """How programs call the tool of a server; None where they have no `MCP`."""
        return self.call_expression(tool) if tool.id in self._mcp else None

    def by_source(self) -> dict[str, int]:
        return dict(sorted(Counter(tool.source for tool in self.tools).items()))

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """Convenience names and ids that a wrong name may have meant."""
        wanted = name.rpartition(":")[2]
        if ":" in name:
            ids = {tool.id.rpartition(":")[2]: tool.id for tool in reversed(self._guest)}
            return [ids[found] for found in nearest(wanted, ids, count)]
        return nearest(wanted, {*self._convenience, *self._by_name}, count)

    def search(self, query: str, limit: int = 8, *, with_mcp: bool = False) -> list[dict[str, Any]]:
        """Entries, best first, each with a `call` that is ready to use. `with_mcp` is for host views."""
        return self.entries(self._index(with_mcp).search(query, limit))

    def hits(self, query: str, limit: int, learned: Learned) -> list[Tool]:
        """The tools of the guest's view, best first, lifted by what searches led to before."""
        return self._index(with_mcp=bool(self._mcp)).search(query, limit, learned)

    def entries(self, found: Iterable[Tool]) -> list[dict[str, Any]]:
        """As a search tells them: each with a `call` that is ready to use."""
        return [self.entry(tool) | {"call": self.call_expression(tool)} for tool in found]

    @property
    def searched(self) -> Sequence[Tool]:
        """The tools that a program's search may find."""
        return self.tools if self._mcp else self._guest

    def _index(self, with_mcp: bool) -> SearchIndex:
        # no cached_property: in Python 3.11 all catalogs share its lock, and building takes long
        index = self._indexes.get(with_mcp)
        if index is None:
            from codemode.catalog.indexes import index_of  # 2 ms, for runs that search

            index = self._indexes[with_mcp] = index_of(self.tools if with_mcp else self._guest)
        return index

    @cached_property
    def _by_name(self) -> dict[str, list[Tool]]:
        named: dict[str, list[Tool]] = {}
        for tool in self._guest:
            named.setdefault(tool.name, []).append(tool)
        return named

    @cached_property
    def _convenience(self) -> dict[str, str]:
        return convenience_names(self._guest)

    @cached_property
    def _convenience_of(self) -> dict[str, str]:
        return {tool_id: name for name, tool_id in self._convenience.items()}


def _is_control(tool: Tool, controls_excluded: bool) -> bool:
    return tool.control or (controls_excluded and tool.name in TOOL_SEARCH_CONTROLS)


def _unique(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by id, in the order of ids.

    Two trusted tools under one id are the host's mistake, and an error. Those of a server or a client must
    not stop the run: a call could not tell which tool is meant, so the catalog has none of them.
    """
    found: dict[str, Tool] = {}
    doubtful: set[str] = set()
    for tool in tools:
        known = found.setdefault(tool.id, tool)
        if known is tool:
            continue
        if tool.trusted:
            raise ConfigError(f'tool "{tool.id}"', "two tools have this id; rename one of them.")
        doubtful.add(tool.id)
    for tool_id in sorted(doubtful):
        _log.warning("%s is offered more than once; none of them is used", tool_id)
    return {tool_id: found[tool_id] for tool_id in sorted(found) if tool_id not in doubtful}


def _shortened(description: str) -> str:
    if len(description) <= _COMPACT_DESCRIPTION:
        return description
    return description[: _COMPACT_DESCRIPTION - 1].rstrip() + "…"
