"""Parameter properties: `constructor(private x: number)` declares a field and assigns it.

Fields have define semantics, as everywhere: the property is a field before all others of its class, and it is
assigned first in the constructor, or right after `super()` in a derived class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .nodes import Untrusted, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

    from .edits import Edits

_MODIFIERS = frozenset({"accessibility_modifier", "override_modifier", "readonly"})


def lower_parameter_properties(body: Node, owner: Node, edits: Edits) -> None:
    """`Untrusted` if a derived class calls `super` where no statement can follow it."""
    constructor = next((child for child in body.children if _is_constructor(child, edits.source)), None)
    if constructor is None:
        return
    names = [
        _text(field(parameter, "pattern"), edits.source)
        for parameter in field(constructor, "parameters").named_children
        if any(child.type in _MODIFIERS for child in parameter.children)
    ]
    if not names:
        return
    block = field(constructor, "body")
    place = block.start_byte + 1
    if _is_derived(owner):
        call = next((child for child in block.children if _is_super_call(child)), None)
        if call is None:
            raise Untrusted(block.start_byte)
        place = call.end_byte
    assignments = "".join(f"this.{name}={name};" for name in names)
    edits.insert(body.start_byte + 1, "".join(f"{name};" for name in names), opened=body.start_byte)
    edits.insert(place, f";{assignments}", opened=constructor.start_byte)


def _is_constructor(member: Node, source: bytes) -> bool:
    name = member.child_by_field_name("name") if member.type == "method_definition" else None
    if name is None or any(child.type == "static" for child in member.children):
        return False  # a static method may have the name
    return _text(name, source) in {"constructor", "'constructor'", '"constructor"'}


def _is_derived(owner: Node) -> bool:
    return any(
        clause.type == "extends_clause"
        for child in owner.children
        if child.type == "class_heritage"
        for clause in child.children
    )


def _is_super_call(statement: Node) -> bool:
    if statement.type != "expression_statement":
        return False
    call = named(statement, 0)
    return call.type == "call_expression" and field(call, "function").type == "super"


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
