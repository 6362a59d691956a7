"""Parts of a parse tree that the grammar promises; a tree without one is no description of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


class Untrusted(Exception):
    """The parse tree does not describe this program; `offset` is where it goes wrong."""

    def __init__(self, offset: int) -> None:
        super().__init__(f"the tree cannot be trusted at byte {offset}")
        self.offset = offset


def field(node: Node, name: str) -> Node:
    """A child that the grammar guarantees in a tree without errors."""
    child = node.child_by_field_name(name)
    if child is None:
        raise Untrusted(node.start_byte)
    return child


def named(node: Node, index: int) -> Node:
    child = node.named_child(index) if index < node.named_child_count else None
    if child is None:
        raise Untrusted(node.start_byte)
    return child


def last_child(node: Node) -> Node:
    child = node.child(node.child_count - 1) if node.child_count else None
    if child is None:
        raise Untrusted(node.start_byte)
    return child


def descendants(root: Node) -> Iterator[Node]:
    """The node and everything below it, in the order of the text."""
    cursor = root.walk()
    while True:
        node = cursor.node
        assert node is not None  # a cursor on a tree always stands on a node
        yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
