"""The tree-sitter parser of JavaScript, loaded at its first use: most cells need no parser at all."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser, Tree


def parse(source: bytes) -> Tree:
    return _parser().parse(source)


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_javascript

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language()))
