"""TypeScript: erased in place where the parse tree can be trusted, reprinted by OXC where it cannot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from . import oxc
from .erase import erase
from .nodes import Untrusted, descendants
from .parsers import parse
from .positions import SourceError, refusal_at
from .tokens import next_code

if TYPE_CHECKING:
    from tree_sitter import Tree

_NAMESPACE_HEAD = re.compile(rb"(?:namespace|module)[ \t]+[^\n{]*+[\r\n]")
_NAMESPACES = frozenset({"internal_module", "module"})
_FOUND = re.compile(r"found `([^`]+)`")


def to_javascript(tree: Tree, source: bytes) -> tuple[str, bool]:
    """JavaScript for a parsed program, and whether its positions are still those of the source."""
    try:
        try:
            return erase(tree, source).decode("utf-8", "replace"), True
        except Untrusted:
            joined = _join_heads(tree, source)
            if joined == source:
                raise
            return erase(parse(joined, "typescript"), joined).decode("utf-8", "replace"), True
    except Untrusted as untrusted:
        return _reprint(source, untrusted.offset), False


def _join_heads(tree: Tree, source: bytes) -> bytes:
    """`namespace N⏎{` with its brace on the first line: the parser ends the statement at the line break."""
    if not _NAMESPACE_HEAD.search(source):
        return source
    parts: list[bytes] = []
    position = 0
    for node in descendants(tree.root_node):
        if (
            node.type not in _NAMESPACES
            or not node.child_count
            or node.child_by_field_name("body") is not None
        ):
            continue
        brace, _ = next_code(source, node.end_byte)
        if source.startswith(b"{", brace):
            parts += (source[position : node.end_byte], b"{", source[node.end_byte : brace], b" ")
            position = brace + 1
    return b"".join((*parts, source[position:]))


def _reprint(source: bytes, offset: int) -> str:
    try:
        return oxc.transform(source.decode("utf-8", "replace"))
    except oxc.OxcRefused as refused:
        raise _failure(source, offset, str(refused)) from refused
    except oxc.OxcUnavailable as unavailable:
        raise _failure(source, offset, "Unexpected token") from unavailable


def _failure(source: bytes, offset: int, reason: str) -> SourceError:
    """OXC knows what it found but not where, the tree where its own trouble began."""
    found = _FOUND.search(reason)
    if found is not None:
        at_end = found[1] == "EOF"
        place = len(source.rstrip()) if at_end else source.find(found[1].encode(), offset)
        offset = place if place >= 0 else offset
    message = f"The TypeScript does not parse: {reason.strip().rstrip('.')}; correct it and send it again."
    return refusal_at("typescript_transform_failed", message, source, offset)
