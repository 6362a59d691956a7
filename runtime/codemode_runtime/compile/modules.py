"""Module access, decided on parsed code: `import`, `export`, `require` and the loader patterns around them.

A helpful refusal, not the boundary: the guest has no loader. Words in strings, comments or property names and
locally declared names pass. TypeScript is judged by what was made of it, or as it is if it does not parse.
Only subtrees that hold one of the words are visited, so the walk is cheap however large the rest is; it is
iterative, so nesting cannot exhaust Python's stack.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .positions import SourceError, refusal_at
from .scopes import BLOCKS, FUNCTIONS, Role, Scopes, role_of_child

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

_WORDS = re.compile(rb"\b(?:import|importScripts|exports?|require|module|process)\b")
_QUICK_WORDS = re.compile(r"import|export|require|module|process")

_ASSIGNMENTS = frozenset({"assignment_expression", "augmented_assignment_expression"})
_IDENTIFIERS = frozenset(
    {
        "identifier",
        "shorthand_property_identifier",
        "shorthand_property_identifier_pattern",
    }
)
_LOADER_MEMBERS = {
    "module": frozenset({"constructor", "createRequire", "exports", "require"}),
    "process": frozenset({"_linkedBinding", "binding", "dlopen", "getBuiltinModule", "mainModule"}),
}
_NAMESPACE_HEAD = re.compile(rb"\b(?:namespace|module)\s+[\w$.]+\s*\Z")
_AFTER_KEYWORD = re.compile(rb"\s*(?:[({*\"'.\w$]|/\*)")
_CALL = re.compile(rb"\s*(?:\?\.\s*)?\(")
# `export type T = …`, `export = …`: to the grammar of JavaScript the first word is a name, or a label.
_BEFORE_STATEMENT = re.compile(rb"(?:\A|[\n\r;{}]|\*/)[ \t]*\Z")
_AFTER_EXPORT = re.compile(rb"\s*=(?![=>])|[ \t]+[A-Za-z_$]")


@dataclass(frozen=True, slots=True)
class _Frame:
    node: Node
    kind: str
    field: str | None
    role: Role
    scope: int
    in_namespace: bool


@dataclass(frozen=True, slots=True)
class _Use:
    """A loader's name in use: a refusal unless the program itself declares the name."""

    name: str
    label: str
    scope: int
    offset: int


@dataclass(frozen=True, slots=True)
class ModuleUse:
    label: str
    offset: int


def may_use_modules(text: str) -> bool:
    """Whether any of the words occurs at all; without one, there is nothing to parse for."""
    return _QUICK_WORDS.search(text) is not None


def find_module_use(tree: Tree, source: bytes) -> ModuleUse | None:
    """The first module access in the program, or None."""
    hits = [found.start() for found in _WORDS.finditer(source)]
    if not hits:
        return None
    search = _Search(source, hits)
    search.walk(tree)
    return search.verdict()


def module_refusal(label: str, source: bytes, offset: int) -> SourceError:
    message = (
        f"`{label}` is not available: a program has no modules, so use the globals it is given"
        " (`tools`, `MCP`, `API`, …) and the language itself."
    )
    return refusal_at("module_access_denied", message, source, offset)


class _Search:
    def __init__(self, source: bytes, hits: list[int]) -> None:
        self._source = source
        self._hits = hits
        self._scopes = Scopes()
        self._uses: list[_Use] = []
        self._keyword: tuple[int, str] | None = None

    def walk(self, tree: Tree) -> None:
        cursor = tree.walk()
        path: list[_Frame] = []
        while True:
            node = cursor.node
            assert node is not None  # a cursor on a tree always stands on a node
            descend = False
            if self._has_word(node):
                frame = self._enter(node, cursor.field_name, path)
                if frame is not None and cursor.goto_first_child():
                    path.append(frame)
                    descend = True
            while not descend and not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                path.pop()

    def verdict(self) -> ModuleUse | None:
        found = [self._keyword] if self._keyword else []
        found += [
            (use.offset, use.label) for use in self._uses if not self._scopes.binds(use.name, use.scope)
        ]
        if not found:
            return None
        offset, label = min(found)
        return ModuleUse(label, offset)

    def _has_word(self, node: Node) -> bool:
        hits = self._hits
        index = bisect_left(hits, node.start_byte)
        return index < len(hits) and hits[index] < node.end_byte

    def _enter(self, node: Node, field: str | None, path: list[_Frame]) -> _Frame | None:
        """Judge one node; a frame if its children are to be visited."""
        kind = node.type
        if not path:
            return _Frame(node, kind, field, None, self._scopes.open(-1, function=True), False)
        parent = path[-1]
        role = role_of_child(parent.kind, parent.role, field, hoisted=_is_hoisted(path))
        if kind in {"import", "export"}:
            self._judge_keyword(node, kind, parent, path)
            return None
        if kind in {"identifier", "statement_identifier"} and self._is_typed_export(node):
            self._judge_keyword(node, "export", parent, path)
            return None
        if kind in _IDENTIFIERS:
            self._judge_identifier(node, role, path)
            return None
        if kind == "property_identifier":
            self._judge_property(node, path)
            return None
        return self._frame(node, kind, field, role, parent)

    def _frame(self, node: Node, kind: str, field: str | None, role: Role, parent: _Frame) -> _Frame:
        scope = parent.scope
        if kind in FUNCTIONS:
            scope = self._scopes.open(scope, function=True)
        elif kind in BLOCKS:
            scope = self._scopes.open(scope, function=False)
        if kind == "for_in_statement":
            keyword = node.child_by_field_name("kind")
            role = None if keyword is None else "function" if keyword.type == "var" else "here"
        match kind:
            case "statement_block":
                in_namespace = self._follows_namespace(node)
            case "export_statement":
                in_namespace = parent.in_namespace
            case _:
                in_namespace = False
        return _Frame(node, kind, field, role, scope, in_namespace)

    def _follows_namespace(self, block: Node) -> bool:
        """In TypeScript that does not parse, JavaScript's grammar sees a plain block behind `namespace N`."""
        start = block.start_byte
        return _NAMESPACE_HEAD.search(self._source, max(0, start - 200), start) is not None

    def _judge_keyword(self, node: Node, kind: str, parent: _Frame, path: list[_Frame]) -> None:
        if kind == "export" and parent.in_namespace:
            return
        if node.type == kind and _in_error(path) and not self._reads_as_keyword(node):
            return
        if self._keyword is None or node.start_byte < self._keyword[0]:
            self._keyword = (node.start_byte, kind)

    def _reads_as_keyword(self, node: Node) -> bool:
        """In text that does not parse a keyword token may be a property name: look at its neighbours."""
        before = self._source[max(0, node.start_byte - 200) : node.start_byte].rstrip()
        return not before.endswith(b".") and _AFTER_KEYWORD.match(self._source, node.end_byte) is not None

    def _is_typed_export(self, node: Node) -> bool:
        """An export that only TypeScript has; `export` is a reserved word and names nothing."""
        if not self._reads(node, b"export") or not _AFTER_EXPORT.match(self._source, node.end_byte):
            return False
        start = node.start_byte
        return _BEFORE_STATEMENT.search(self._source, max(0, start - 200), start) is not None

    def _judge_identifier(self, node: Node, role: Role, path: list[_Frame]) -> None:
        name = self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")
        if role is not None:
            self._scopes.declare(name, role, path[-1].scope)
        elif self._is_loader_use(name, node, path):
            label = f"{name}.{self._member(path[-1].node)}" if name in _LOADER_MEMBERS else name
            self._uses.append(_Use(name, label, path[-1].scope, node.start_byte))

    def _is_loader_use(self, name: str, node: Node, path: list[_Frame]) -> bool:
        parent = path[-1]
        match name:
            case "require":
                if _in_error(path):
                    return _CALL.match(self._source, node.end_byte) is not None
                return not (
                    parent.kind == "unary_expression"
                    and self._source.startswith(b"typeof", parent.node.start_byte)  # only asks
                )
            case "importScripts":
                return parent.kind == "call_expression"
            case "module" | "process":
                return self._member(parent.node) in _LOADER_MEMBERS[name]
            case "exports":
                if parent.kind in _ASSIGNMENTS:
                    return _fills(node, parent, "left")
                if parent.kind in {"member_expression", "subscript_expression"}:
                    return len(path) > 1 and path[-2].kind in _ASSIGNMENTS and parent.field == "left"
                return parent.kind == "arguments" and self._calls_define_property(path)
            case _:
                return False

    def _judge_property(self, node: Node, path: list[_Frame]) -> None:
        """`globalThis.require(...)` is the loader by its full name."""
        parent = path[-1]
        called = parent.kind == "member_expression" and len(path) > 1 and path[-2].kind == "call_expression"
        if not called or parent.field != "function" or not self._reads(node, b"require"):
            return
        owner = parent.node.child_by_field_name("object")
        if owner is not None and self._reads(owner, b"globalThis"):
            self._uses.append(_Use("globalThis", "globalThis.require", parent.scope, parent.node.start_byte))

    def _reads(self, node: Node, word: bytes) -> bool:
        return node.end_byte - node.start_byte == len(word) and self._source.startswith(word, node.start_byte)

    def _member(self, access: Node) -> str:
        key = access.child_by_field_name("property") or access.child_by_field_name("index")
        if key is None:
            return ""
        return self._source[key.start_byte : key.end_byte].decode("utf-8", "replace").strip("\"'`")

    def _calls_define_property(self, path: list[_Frame]) -> bool:
        call = path[-2].node
        end = min(path[-1].node.start_byte, call.start_byte + 40)
        return self._source[call.start_byte : end].startswith(b"Object.defineProperty")


def _is_hoisted(path: list[_Frame]) -> bool:
    return len(path) > 1 and path[-2].kind == "variable_declaration"


def _in_error(path: list[_Frame]) -> bool:
    return any(frame.kind == "ERROR" for frame in path[-2:])


def _fills(node: Node, parent: _Frame, field: str) -> bool:
    filler = parent.node.child_by_field_name(field)
    return filler is not None and filler.id == node.id
