"""Whether declarations are TypeScript, by its tree-sitter grammar and three rules of its checker; for tests.

The rules are those that generated declarations have broken: a name stands for one type (TS2300), an alias
does not lead to itself outside of braces (TS2456), a member fits the index signature beside it (TS2411).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

import tree_sitter_typescript
from tree_sitter import Language, Node, Parser


def problems(text: str) -> list[str]:
    """The lines on which the grammar fails, or what the checker would refuse; empty if all is well."""
    data = text.encode()
    tree = _parser().parse(data)
    if not tree.root_node.has_error:
        return [*_doubled(tree.root_node), *_circular(tree.root_node), *_misfits(tree.root_node)]
    lines = text.split("\n")
    return sorted({lines[node.start_point.row] for node in _errors(tree.root_node)}) or ["?"]


def _errors(node: Node) -> list[Node]:
    if node.is_error or node.is_missing:
        return [node]
    return [found for child in node.children if child.has_error for found in _errors(child)]


def _doubled(root: Node) -> list[str]:
    names = Counter(
        _text(alias.child_by_field_name("name")) for alias in _all(root, "type_alias_declaration")
    )
    return [f"{name} is declared {count} times" for name, count in names.items() if count > 1]


def _circular(root: Node) -> list[str]:
    leads_to = {
        _text(alias.child_by_field_name("name")): set(_named_at_once(alias.child_by_field_name("value")))
        for alias in _all(root, "type_alias_declaration")
    }
    reached = {name: {*found} for name, found in leads_to.items()}
    for _ in leads_to:
        for found in reached.values():
            found |= {far for near in found for far in leads_to.get(near, ())}
    return [f"{name} leads to itself" for name, found in reached.items() if name in found]


def _named_at_once(node: Node | None) -> Iterator[str]:
    """The types that TypeScript looks up to know what this one is. In braces and lists it does that later,
    but not in a list that is in the place of an optional or further item of another."""
    match node.type if node is not None else "":
        case "" | "object_type":
            return
        case "type_identifier":
            yield _text(node)
        case "tuple_type":
            for item in _children(node):
                if item.type in ("optional_type", "rest_type"):
                    yield from _named_in_lists(item.named_children[0])
        case "array_type":
            return
        case "generic_type" if _text(node).startswith("Array<"):
            return
        case _:
            for child in _children(node):
                yield from _named_at_once(child)


def _named_in_lists(node: Node) -> Iterator[str]:
    is_list = node.type in ("array_type", "tuple_type") or _text(node).startswith("Array<")
    for child in node.named_children:
        if is_list and node.parent is not None and node.parent.type != "rest_type":
            yield from _named_at_once(child)
        elif node.type != "object_type":
            yield from _named_in_lists(child)


def _misfits(root: Node) -> list[str]:
    found: list[str] = []
    for braces in _all(root, "object_type"):
        parts = braces.named_children
        allowed = [_alternatives(part) for part in parts if part.type == "index_signature"]
        for part in parts:
            if allowed and part.type == "property_signature" and "unknown" not in allowed[0]:
                is_optional = any(child.type == "?" for child in part.children)
                wanted = {*_alternatives(part), *(["undefined"] if is_optional else [])}
                found += [f"{_text(part)} does not fit"] if wanted - allowed[0] - {"never"} else []
    return found


def _alternatives(part: Node) -> set[str]:
    """Of the type of a member: the parts of the union."""
    (annotation,) = [child for child in part.named_children if child.type == "type_annotation"]
    todo, found = [annotation.named_children[0]], set[str]()
    while todo:
        node = todo.pop()
        if node.type in ("union_type", "parenthesized_type"):
            todo += node.named_children
        else:
            found.add(_text(node))
    return found


def _all(root: Node, kind: str) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        todo += node.named_children
        if node.type == kind:
            yield node


def _children(node: Node | None) -> list[Node]:
    return [] if node is None else node.named_children


def _text(node: Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode()


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_typescript.language_typescript()))
