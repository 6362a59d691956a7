"""What one run's program can see and call: its catalog, which the guest asks for piece by piece.

Immutable; runs with the same tools under the same policy share one. A small catalog travels with the program;
a large one stays here, and the worker asks over its socket only for what a program names.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from codemode_runtime import orders
from codemode_runtime.shapes import Lookup
from msgspec import Raw

from codemode.catalog import Catalog
from codemode.contract.telemetry import CatalogFacts, estimate_tokens_saved
from codemode.executor import Executor

if TYPE_CHECKING:  # loaded for runs that fail; by engines with MCP servers or namespaces
    from codemode.failures import Available
    from codemode.mcp.library import Library
    from codemode.namespaces import NamespaceScopes

_INLINE_BYTES = 16 << 10
_INLINE_TOOLS = 64
# The size of exec and wait with a full quick index. Making the real text of a run takes longer than the run.
_SHOWN_CHARS = 5_200
_encode = msgspec.json.encode


class Environment:
    """Answers the guest's look-ups; runtime/README.md lists their kinds."""

    def __init__(
        self,
        catalog: Catalog,
        executor: Executor,
        mcp: Library | None = None,
        scopes: NamespaceScopes | None = None,
        *,
        bare: bool = False,
    ) -> None:
        """`scopes` are the namespaces of one run; with them the environment is that run's own. `bare`: a
        program has them, the language and console, and the guest gets no other answer."""
        self.catalog = catalog
        self.executor = executor
        self.mcp = mcp
        self.scopes = scopes
        self._bare = bare

    def with_scopes(self, scopes: NamespaceScopes) -> Environment:
        return Environment(self.catalog, self.executor, self.mcp, scopes)

    @property
    def offer(self) -> orders.Offer:
        return self._offer

    @cached_property
    def _offer(self) -> orders.Offer:
        """What travels with a run: everything, or nothing if that is too large. The worker asks for MCP."""
        has_namespaces = self.scopes is not None
        if self._bare:
            names = orders.OfferedAnswer(
                Lookup.NAMESPACES, "", Raw(self.scopes.json if self.scopes else b"{}")
            )
            return orders.Offer(has_namespaces, answers=(names,), bare=True)
        if len(self.catalog) > _INLINE_TOOLS:
            return orders.Offer(has_namespaces, complete=False)
        answers = [
            orders.OfferedAnswer(Lookup.ALL_TOOLS, "", Raw(self._all_tools)),
            orders.OfferedAnswer(Lookup.TOOL_NAMES, "", Raw(self._tool_names)),
            *(
                orders.OfferedAnswer(Lookup.TOOL, name, Raw(_encode(self.catalog.convenience(name))))
                for name in self.catalog.convenience_names()
            ),
        ]
        if self.scopes is not None:
            answers.append(orders.OfferedAnswer(Lookup.NAMESPACES, "", Raw(self.scopes.json)))
        if sum(len(answer.json) for answer in answers) > _INLINE_BYTES:
            return orders.Offer(has_namespaces, complete=False)
        return orders.Offer(has_namespaces, complete=self.mcp is None, answers=tuple(answers))

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        match kind:
            case _ if self._bare and kind is not Lookup.NAMESPACES:
                return None
            case Lookup.ALL_TOOLS:
                return self._all_tools
            case Lookup.TOOL:
                found = self.catalog.convenience(key)
                return None if found is None else _encode(found)
            case Lookup.TOOL_NAMES:
                return self._tool_names
            case Lookup.NAMESPACES:
                return None if self.scopes is None else self.scopes.json
            case _:
                return None if self.mcp is None else self.mcp.lookup(kind, key)

    @cached_property
    def available(self) -> Available:
        from codemode.failures import Available

        catalog = self.catalog
        names = {name: catalog.convenience(name) or "" for name in catalog.convenience_names()}
        schemas = {tool.id: tool.parameters for tool in catalog.tools}
        return Available(
            namespaces=() if self.scopes is None else self.scopes.global_names,
            convenience=names,
            ids=catalog.guest_ids(),
            mcp={} if self.mcp is None else self.mcp.expressions,
            servers=() if self.mcp is None else self.mcp.server_names,
            parameters=schemas.get,
            root="openclaw.tools" if self._bare else "tools",
        )

    @cached_property
    def facts(self) -> CatalogFacts:
        return CatalogFacts(len(self.catalog), self.catalog.by_source())

    @cached_property
    def tokens_saved(self) -> int:
        """An estimate for each request in which the model sees exec and wait instead of these tools."""
        return estimate_tokens_saved(sum(tool.chars for tool in self.catalog.tools), _SHOWN_CHARS)

    @cached_property
    def _tool_names(self) -> bytes:
        catalog = self.catalog
        return _encode({name: catalog.convenience(name) for name in catalog.convenience_names()})

    @cached_property
    def _all_tools(self) -> bytes:
        return _encode(self.catalog.all_tools())
