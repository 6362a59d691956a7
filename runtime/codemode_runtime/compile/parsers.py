"""The tree-sitter parsers, loaded at their first use.

A JavaScript cell must never load the TypeScript grammar, and most cells need no parser at all, so nothing
here is imported before it is called.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree

Language = Literal["javascript", "typescript"]


def parse(source: bytes, language: Language) -> Tree:
    return _parser(language).parse(source)


@cache
def _parser(language: Language) -> Parser:
    import tree_sitter

    match language:
        case "javascript":
            import tree_sitter_javascript

            grammar = tree_sitter_javascript.language()
        case "typescript":
            import tree_sitter_typescript

            grammar = tree_sitter_typescript.language_typescript()
    return tree_sitter.Parser(tree_sitter.Language(grammar))
