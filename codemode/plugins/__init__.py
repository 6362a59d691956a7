"""Plugins: tools, namespaces and a health probe that come and go as one object."""

from codemode.plugins.plugin import Plugin, PluginHealth, Probe
from codemode.plugins.registry import Offering, PluginRegistry

__all__ = ["Offering", "Plugin", "PluginHealth", "PluginRegistry", "Probe"]
