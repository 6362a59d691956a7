"""What a host does with plugins while its engine runs. Engine is one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from codemode.plugins.plugin import Plugin
from codemode.plugins.registry import PluginRegistry

if TYPE_CHECKING:  # loaded at the first use
    from codemode.namespaces import Namespace


class PluginControl:
    """A change holds for what starts or is prepared later; what there is keeps what it had."""

    _plugins: PluginRegistry

    def register(self, plugin: Plugin) -> None:
        """Adds the plugin's tools, namespaces and probe, or nothing of it. Raises ConfigError."""
        self._plugins.register(plugin)

    def unregister(self, plugin_id: str) -> None:
        """Takes the plugin out. Its calls under way go on. Raises ConfigError if there is no such plugin."""
        self._plugins.unregister(plugin_id)

    def plugins(self) -> tuple[str, ...]:
        """The ids of the plugins that are registered."""
        return self._plugins.names

    def register_namespace(self, plugin_id: str, namespace: Namespace | Mapping[str, Any]) -> None:
        """Adds a namespace in front of tools that a plugin has brought in another way. Raises ConfigError."""
        self._plugins.register_namespace(plugin_id, namespace)

    def clear_namespaces(self, plugin_id: str) -> int:
        """Removes the namespaces of this plugin and returns how many there were."""
        return self._plugins.clear_namespaces(plugin_id)
