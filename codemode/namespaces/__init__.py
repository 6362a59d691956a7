"""Namespaces: small domain APIs over catalog tools, for programs."""

from codemode.namespaces.registry import Namespace, NamespaceContext, NamespaceRegistry, Registered
from codemode.namespaces.scopes import NamespaceTool, ScopeRefused, Scopes, namespace_tool

__all__ = [
    "Namespace",
    "NamespaceContext",
    "NamespaceRegistry",
    "NamespaceTool",
    "Registered",
    "ScopeRefused",
    "Scopes",
    "namespace_tool",
]
