"""Namespaces: small domain APIs over catalog tools, for programs."""

from codemode.namespaces.registry import Namespace, NamespaceContext, NamespaceRegistry, Registered
from codemode.namespaces.scopes import NamespaceScopes, NamespaceTool, ScopeRefused, namespace_tool

__all__ = [
    "Namespace",
    "NamespaceContext",
    "NamespaceRegistry",
    "NamespaceScopes",
    "NamespaceTool",
    "Registered",
    "ScopeRefused",
    "namespace_tool",
]
