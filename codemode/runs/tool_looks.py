"""The tools that programs have, for people: listed, searched as a program searches, described."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from codemode.catalog import Catalog
from codemode.catalog.names import safe_name
from codemode.catalog.searches import Asker
from codemode.contract.scope import Scope
from codemode.runs.admission import Admission
from codemode.runs.host_work import HostWork
from codemode.tools import Tool

_NO_RUN = "-"  # under which no call is made: a look teaches the search nothing


class ToolPage(Struct, frozen=True):
    """`total` counts what the list would have without its limit, `sources` all tools by their source."""

    tools: tuple[dict[str, Any], ...]
    total: int
    sources: dict[str, int]


class ToolLooks:
    """One per engine."""

    def __init__(self, admission: Admission, work: HostWork) -> None:
        self._admission = admission
        self._work = work

    async def page(
        self, who: Scope, query: str, provider: str | None, model: str | None, offset: int, limit: int
    ) -> ToolPage:
        catalog = await self._catalog(who, provider, model)
        sources = catalog.by_source()
        if not query.strip():
            found = list(catalog.tools)
            return ToolPage(
                tuple(_row(catalog, one) for one in found[offset : offset + limit]), len(found), sources
            )
        asker = Asker(who.agent, who.session, _NO_RUN)
        hits = await self._work.searches.find(catalog, query, offset + limit, asker)
        tools = [tool for hit in hits if (tool := catalog.get(hit["id"])) is not None]
        return ToolPage(tuple(_row(catalog, one) for one in tools[offset:]), len(tools), sources)

    async def describe(
        self, who: Scope, id_or_name: str, provider: str | None, model: str | None
    ) -> dict[str, Any] | None:
        """With schemas and a declaration; None if there is no such tool for this agent."""
        from codemode.declarations.declarations import declare_tool  # for those who ask

        catalog = await self._catalog(who, provider, model)
        tool = catalog.get(id_or_name) or catalog.resolve(id_or_name)
        if tool is None:
            return None
        source, returns = "declared", tool.returns
        if returns is None:
            source, returns = "observed", self._work.shapes.returns(who.agent, tool)
        name = catalog.convenience_of(tool) or safe_name(tool.name) or "tool"
        return _row(catalog, tool) | {
            "description": tool.description,
            "parameters": tool.parameters,
            "returns": returns,
            "returnsSource": None if returns is None else source,
            "declaration": declare_tool(name, tool),
        }

    async def _catalog(self, who: Scope, provider: str | None, model: str | None) -> Catalog:
        await self._admission.prepare()
        return self._admission.environment((), who.agent, provider, model, None, None).catalog


def _row(catalog: Catalog, tool: Tool) -> dict[str, Any]:
    hints = tool.hints
    return catalog.entry(tool) | {
        "owner": tool.owner,
        "call": catalog.call_expression(tool),
        "requiresApproval": hints.requires_approval,
        "readOnly": hints.read_only,
        "destructive": hints.destructive,
        "idempotent": hints.idempotent,
    }
