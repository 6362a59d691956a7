"""Whether declarations are TypeScript, by its tree-sitter grammar; an oracle for tests only."""

from __future__ import annotations

from functools import cache

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser


def problems(text: str) -> list[str]:
    """The lines on which the grammar fails; empty if it parses."""
    data = text.encode()
    tree = _parser().parse(data)
    if not tree.root_node.has_error:
        return []
    lines = text.split("\n")
    return sorted({lines[node.start_point.row] for node in _errors(tree.root_node)}) or ["?"]


def _errors(node: Node) -> list[Node]:
    if node.is_error or node.is_missing:
        return [node]
    return [found for child in node.children if child.has_error for found in _errors(child)]


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_typescript.language_typescript()))
