"""The plugins of one engine, and what they offer at this moment.

A change replaces the offer as a whole, and never changes one: runs and prepared runs keep the offer that they
began with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from codemode.catalog import Catalog
from codemode.config import ConfigError
from codemode.nearest import did_you_mean
from codemode.plugins.plugin import Plugin, PluginHealth, probe_plugin, tools_of
from codemode.tools import Tool

if TYPE_CHECKING:  # the first registration loads them
    from codemode.namespaces import Namespace, NamespaceRegistry
    from codemode.namespaces.registry import Registered


class Offering(NamedTuple):
    """The tools and namespaces that new runs may have, beside those of servers; `version` tells two apart."""

    tools: tuple[Tool, ...]
    namespaces: tuple[Registered, ...] = ()
    version: int = 0


class PluginRegistry:
    """Takes plugins in and out; one per engine. `tools` are the engine's own, which stay."""

    def __init__(self, tools: tuple[Tool, ...]) -> None:
        """Raises ConfigError if two tools have one id."""
        Catalog(tools)
        self._own_tools = tools
        self._plugins: dict[str, tuple[Plugin, tuple[Tool, ...]]] = {}
        self._health: dict[str, PluginHealth] = {}
        self._namespaces: NamespaceRegistry | None = None
        self._offer = Offering(tools)

    @property
    def offer(self) -> Offering:
        return self._offer

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._plugins)

    def register(self, plugin: Plugin) -> None:
        """Takes all of it or nothing. Raises ConfigError."""
        tools = tools_of(plugin)
        if plugin.id in self._plugins:
            raise ConfigError(f"plugin.{plugin.id}", "is registered already: unregister it first.")
        Catalog((*self._offer.tools, *tools))  # raises if two have one id
        registered = self._registry().copy()
        for namespace in plugin.namespaces:
            registered.register(plugin.id, namespace)
        self._plugins[plugin.id] = (plugin, tools)
        self._namespaces = registered
        self._renew()

    def unregister(self, plugin_id: str) -> None:
        """Also removes the namespaces that were registered under its id. Raises ConfigError."""
        if plugin_id not in self._plugins:
            hint = did_you_mean(str(plugin_id), self._plugins)
            raise ConfigError("plugin", f'no plugin "{str(plugin_id)[:80]}" is registered.{hint}')
        del self._plugins[plugin_id]
        self._health.pop(plugin_id, None)
        self._registry().clear(plugin_id)
        self._renew()

    def register_namespace(self, plugin_id: str, namespace: Namespace | Mapping[str, Any]) -> None:
        self._registry().register(plugin_id, namespace)
        self._renew()

    def clear_namespaces(self, plugin_id: str) -> int:
        count = self._registry().clear(plugin_id)
        self._renew()
        return count

    async def probe(self, patience_seconds: float) -> None:
        """Asks each plugin how it is; `health` then has the answers."""
        asked = [(name, plugin) for name, (plugin, _) in self._plugins.items() if plugin.probe is not None]
        found = await asyncio.gather(*(probe_plugin(plugin, patience_seconds) for _, plugin in asked))
        for (name, plugin), health in zip(asked, found, strict=True):
            now = self._plugins.get(name)
            if now is not None and now[0] is plugin:  # it may be gone meanwhile, or another one
                self._health[name] = health

    def health(self) -> dict[str, PluginHealth]:
        """The last known health of each plugin; one that was never asked is held to be well."""
        return {name: self._health.get(name, PluginHealth()) for name in self._plugins}

    def _registry(self) -> NamespaceRegistry:
        if self._namespaces is None:
            from codemode.namespaces import NamespaceRegistry

            self._namespaces = NamespaceRegistry()
        return self._namespaces

    def _renew(self) -> None:
        tools = (*self._own_tools, *(tool for _, own in self._plugins.values() for tool in own))
        self._offer = Offering(tools, self._registry().registered, self._offer.version + 1)
