"""Whether `<` compares or opens type arguments, by TypeScript's own rule; the parser's guess is only a guess.

TypeScript tries to read a list of types and keeps it if the token after `>` could not go on a comparison.
The parser takes `f(i < n, j > -1)` for type arguments and ``f<A | B>`x` `` for comparisons. Where the text
between the brackets is plain, the right reading is a matter of leaving it or blanking it; elsewhere the tree
around it may be wrong too, which is `Untrusted`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .nodes import Untrusted, last_child
from .tokens import SPACE_AND_COMMENTS, WORD, next_code

if TYPE_CHECKING:
    from tree_sitter import Node

    from .edits import Edits

# What can follow type arguments on their line: a call, a template, an operator, or what starts no expression.
_FOLLOWS = re.compile(
    rb"[(`)\]},;:?|&^*%=]|\.(?!\d)|/(?!=)|<[<=]|[+\-]=|!=|(?:as|in|instanceof|satisfies)(?![\w$\x80-\xff])|\Z"
)
_NEVER_FOLLOWS = re.compile(rb"<(?![<=])|>|[+\-](?![+\-=])")  # not even on a new line
_OPERATOR_GOES_ON = (b">", b"=")  # `>>`, `>>>`, `>=`: the bracket is a part of another operator

_STRING = rb"\"(?:[^\"\\\n\r]|\\.)*+\"|'(?:[^'\\\n\r]|\\.)*+'"
_ITEM = rb"\s*+(?:%b|%b)(?:\[\w*+\])*+\s*+" % (WORD, _STRING)
# No syntax of TypeScript's own, whether read as types or as expressions.
_PLAIN = re.compile(rb"%b(?:[.,|&]%b)*+|\s*+\{[\w$\x80-\xff\s.,|&:;?{}]*+" % (_ITEM, _ITEM))

_PREFIXES = rb"abstract|asserts|const|extends|import|infer|is|keyof|new|out|readonly|typeof|unique"
_NEXT_WORD = rb"(?=%b(?!(?:extends|is)\b)(?:[(`\"']|%b))" % (SPACE_AND_COMMENTS, WORD)
# Tokens that a list of types can hold; `stranger` is a word before a parenthesis or another word.
_TOKEN = re.compile(
    rb"(?P<stranger>(?!(?:%b)\b)%b%b)" % (_PREFIXES, WORD, _NEXT_WORD)
    + rb"|(?P<word>%b|%b)" % (WORD, _STRING)
    + rb"|(?P<plain>=>|\.\.\.|\.|,|\|(?![|=])|&(?![&=])|-(?=\d)|!(?!=))"
    + rb"|(?P<open><(?!=)<?|[(\[{])|(?P<close>[)\]}]|>)|(?P<choice>\?(?![.?])|:)"
    + rb"|(?P<member>;|[+\-](?=readonly|\?))|(?P<default>=(?!=))|(?P<template>`)"
)
_TEMPLATE_TEXT = re.compile(rb"(?:[^`\\$]|\\[\s\S]|\$(?!\{))*+(`|\$\{)")
_CLOSERS = {b")": b"(", b"]": b"[", b"}": b"{", b">": b"<"}


class Angles:
    def __init__(self, source: bytes, edits: Edits) -> None:
        self._source = source
        self._edits = edits
        self._comparisons: dict[int, Node] = {}  # offset of `<` -> what stands before it

    def are_type_arguments(self, node: Node, owner: Node) -> bool:
        """Whether brackets that the parser took for type arguments of an expression are that."""
        start, end = node.start_byte, node.end_byte
        subject = owner.child_by_field_name("constructor") or owner.children[0]
        if _can_follow(self._source, end) and _takes_type_arguments(subject):
            closed: dict[int, int] = {}
            _close_brackets(self._source, start, closed)
            if closed.get(start) != end:  # the parser finds types in `b && c`
                raise Untrusted(start)
            return True
        following, _ = next_code(self._source, end)
        # after these the parser has read an expression all the same, so the rest of its tree holds
        if self._source.startswith((b">", b"+", b"-", b"("), following) and self._is_plain(start, end):
            return False
        raise Untrusted(start)

    def compare(self, node: Node) -> None:
        """Note a comparison or a shift to the left; `settle` looks at them from left to right."""
        operator = node.child_by_field_name("operator")
        left = node.child_by_field_name("left")
        if operator is not None and left is not None and operator.type in {"<", "<<"}:
            self._comparisons[operator.start_byte] = left

    def settle(self) -> None:
        """Blank type arguments that the parser took for comparisons."""
        scanned = 0
        closed: dict[int, int] = {}
        for start in sorted(self._comparisons):
            if start >= scanned:
                scanned = _close_brackets(self._source, start, closed)
            end = closed.get(start)
            if end is None or not _can_follow(self._source, end):
                continue
            if not _takes_type_arguments(self._comparisons[start]):
                continue
            following, _ = next_code(self._source, end)
            if not self._source.startswith((b"(", b"`"), following) or not self._is_plain(start, end):
                raise Untrusted(start)
            self._edits.blank(start, end)

    def _is_plain(self, start: int, end: int) -> bool:
        return _PLAIN.fullmatch(self._source, start + 1, end - 1) is not None


def _can_follow(source: bytes, end: int) -> bool:
    if source.startswith(_OPERATOR_GOES_ON, end):
        return False
    following, on_new_line = next_code(source, end)
    if _FOLLOWS.match(source, following):
        return True
    return on_new_line and not _NEVER_FOLLOWS.match(source, following)


def _takes_type_arguments(subject: Node) -> bool:
    """Types follow names, members and calls; after a cast or `i++` only an operator can come."""
    while subject.type in {"await_expression", "binary_expression", "unary_expression"}:
        subject = last_child(subject)
    if subject.type == "update_expression":
        return last_child(subject).type not in {"++", "--"}
    return subject.type not in {"as_expression", "satisfies_expression"}


def _close_brackets(source: bytes, start: int, closed: dict[int, int]) -> int:
    """Read on from a `<` as if types followed, up to what no type can hold; note where each `<` is closed."""
    opened: list[tuple[bytes, int]] = []
    position = start
    kind = None
    while True:
        following, on_new_line = next_code(source, position)
        found = _TOKEN.match(source, following)
        if found is None:
            return following
        ended, kind, text = kind in {"word", "close"}, found.lastgroup, found[0]
        top, top_start = opened[-1] if opened else (b"<", start)
        position = found.end()
        match kind:
            case "open" if ended and on_new_line and top != b"{" and text != b"(":
                return following  # `T⏎[…]` and `T⏎<…>` are not one type
            case "open":
                opened.extend((text[:1], following + index) for index in range(len(text)))
            case "close" if top == b"${" and text == b"}":
                position = _pass_template(source, position, opened)
            case "close" if top == _CLOSERS[text]:
                opened.pop()
                if text == b">":
                    closed[top_start] = position
            case "template":
                opened.append((b"${", following))
                position = _pass_template(source, position, opened)
            case "choice" if top == b"<" and source.find(b"extends", top_start, following) < 0:
                return following
            case "default" if len(opened) < 2:
                return following
            case "stranger" | "member" if top != b"{":
                return following
            case "close":
                return following
            case _:
                pass
        if not opened:
            return position


def _pass_template(source: bytes, position: int, opened: list[tuple[bytes, int]]) -> int:
    """Past the text of a template up to its next substitution, or past its end."""
    found = _TEMPLATE_TEXT.match(source, position)
    if found is None:
        opened.clear()
        return len(source)
    if found[1] == b"`":
        opened.pop()
    return found.end()
