"""JavaScript for the TypeScript that cannot be erased: enums, namespaces and import aliases.

The emitted code stands on the line of the construct it replaces; bodies, initialisers and everything after
keep their lines. Semantics are TypeScript's: merged enums and namespaces, reverse mapping of numbers. A
variable exported from a namespace is an accessor, so it is live. What an earlier part of an enum or namespace
made is a constant around a later part; a variable is not, since a copy of it would not be live.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from .nodes import descendants, field, named

if TYPE_CHECKING:
    from tree_sitter import Node

    from .edits import Edits

_TYPES = frozenset(
    {"ambient_declaration", "function_signature", "interface_declaration", "type_alias_declaration"}
)
_NAMESPACES = frozenset({"internal_module", "module"})
_CLASSES = frozenset({"abstract_class_declaration", "class_declaration"})
_FUNCTIONS = frozenset({"function_declaration", "generator_function_declaration"})
_NOTHING = frozenset({"comment", "empty_statement", "{", "}"})
_FUNCTION_LIKE = frozenset(
    {"arrow_function", "function_expression", "generator_function", "method_definition"}
    | _FUNCTIONS
    | _NAMESPACES
)
_UNBINDABLE = re.compile(
    r"arguments|await|break|case|catch|class|const|continue|debugger|default|delete|do|else|enum|eval"
    r"|export|extends|false|finally|for|function|if|implements|import|in|instanceof|interface|let|new"
    r"|null|package|private|protected|public|return|static|super|switch|this|throw|true|try|typeof"
    r"|undefined|var|void|while|with|yield"
)
_OWN_NAMES = re.compile(rb"_cm(\d{1,9})")
_IDENTIFIER = re.compile(r"[^\W\d][\w$]*+|\$[\w$]*+")
_WORDS = re.compile(r"[\w$]+")
_DEEP = 100  # parts nested deeper are not read for names, each of them inside all others
_NAMES = frozenset({"identifier", "shorthand_property_identifier"})


class Lowering:
    def __init__(self, source: bytes, edits: Edits) -> None:
        self._source = source
        self._edits = edits
        self._targets: dict[int, str] = {}  # id of a namespace's block -> the variable that holds its object
        self._declared: dict[
            int, set[str]
        ] = {}  # id of a block -> names that need no declaration in it any more
        self._has_values: dict[int, bool] = {}
        self._constants: dict[tuple[int, str], set[str]] = {}  # container and name -> what earlier parts made
        self._merged_into: dict[int, set[str]] = {}  # id of a namespace's block -> its constants
        self._aliases: list[tuple[int, int, str, bool]] = []
        self._next_name: int | None = None

    def is_type(self, declaration: Node) -> bool:
        """Whether a declaration leaves nothing behind at run time."""
        if declaration.type in _NAMESPACES:
            return not self.has_values(declaration)
        return declaration.type in _TYPES

    def enum(self, node: Node, parents: list[Node]) -> None:
        """Each member becomes a constant, so that later initialisers can name it as TypeScript allows."""
        name, body = field(node, "name"), field(node, "body")
        enum_name = self._text(name)
        fresh = self._fresh()
        target, last, add = f"{fresh}o", f"{fresh}l", f"{fresh}m"
        constants = self._constants.setdefault((_container(parents).id, enum_name), set())
        before, after = self._around(enum_name, constants, body, parents)
        header = (
            f"{self._declaration(enum_name, parents)}{before}(({target},{last})=>"
            f"{{const {add}=(k,v={last}+1)=>({last}={target}[k]=v,typeof v==='string'||({target}[v]=k),v);"
        )
        self._edits.replace(node.start_byte, body.start_byte + 1, header)
        for member in body.children:
            constants.update(self._enum_member(member, add))
        owner = self._owner_object(enum_name, parents)
        self._edits.replace(body.end_byte - 1, body.end_byte, f"}})({owner},-1);{after}")

    def namespace(self, node: Node, parents: list[Node]) -> None:
        """An immediately called function that fills the namespace's object; dotted names nest."""
        name, body = field(node, "name"), field(node, "body")
        parts = [part.strip() for part in self._text(name).split(".")]
        fresh = self._fresh()
        constants: set[str] = set()
        if len(parts) == 1:
            constants = self._constants.setdefault((_container(parents).id, parts[0]), constants)
        before, after = self._around(parts[0], constants, body, parents)
        header = self._declaration(parts[0], parents) + before
        footer = f"}})({self._owner_object(parts[0], parents)});{after}"
        for index, part in enumerate(parts[1:]):
            header += f"(function({fresh}n{index}){{var {part};"
            footer = f"}})({part}={fresh}n{index}.{part}??={{}});{footer}"
        target = f"{fresh}n{len(parts) - 1}"
        self._edits.replace(node.start_byte, body.start_byte + 1, f"{header}(function({target}){{")
        self._edits.replace(body.end_byte - 1, body.end_byte, footer)
        self._targets[body.id] = target
        self._merged_into[body.id] = constants

    def export(self, node: Node, declaration: Node, block: Node) -> bool:
        """Drop `export` and put what is declared on the namespace's object; False for other exports."""
        target = self._targets.get(block.id)
        if target is None:
            return False
        self._edits.blank(node.start_byte, declaration.start_byte)
        kind = declaration.type
        constants = self._merged_into[block.id]
        if kind in _CLASSES or kind in _FUNCTIONS:
            name = self._text(field(declaration, "name"))
            constants.add(name)
            statement = f"{target}.{name}={name};"
        elif kind in {"lexical_declaration", "variable_declaration"}:
            constant = self._source.startswith(b"const", declaration.start_byte)
            names = self._bound_names(declaration)
            constants.update(names if constant else ())
            statement = "".join(_export_variable(target, name, constant) for name in names)
        elif kind == "import_alias":
            name = self._text(named(declaration, 0))
            statement = f"{target}.{name}={name};"
        elif kind == "enum_declaration" or kind in _NAMESPACES:
            constants.add(self._text(field(declaration, "name")).partition(".")[0].strip())
            return True  # they attach themselves to their owner
        else:
            return False
        self._edits.insert(node.end_byte, f";{statement}", opened=node.start_byte)
        return True

    def alias(self, node: Node, parent: Node) -> None:
        exported = parent.type == "export_statement"
        self._aliases.append((node.start_byte, node.end_byte, self._text(named(node, 0)), exported))

    def settle_aliases(self, root: Node) -> None:
        """`import A = N.B` is a variable if more than types use it; else it may name a type and must go."""
        if not self._aliases:
            return
        left = self._edits.blanked()
        uses = Counter(
            self._text(node)
            for node in descendants(root)
            if node.type in _NAMES
            and left[node.start_byte : node.end_byte] == self._source[node.start_byte : node.end_byte]
        )
        for start, end, name, exported in self._aliases:
            if exported or uses[name] > 1:
                self._edits.blank(start, start + len("import"))
                for index, character in enumerate(b"var"):
                    self._edits.put(start + index, bytes((character,)))
            else:
                self._edits.blank_statement(start, end)

    def has_values(self, namespace: Node) -> bool:
        """Whether a namespace holds anything but types; one visit per node, whatever the nesting."""
        known = self._has_values
        pending = [] if namespace.id in known else [(namespace, False)]
        while pending:
            node, seen = pending.pop()
            inner = list(_statements(node))
            nested = [statement for statement in inner if statement.type in _NAMESPACES]
            if not seen and any(child.id not in known for child in nested):
                pending.append((node, True))
                pending.extend((child, False) for child in nested)
                continue
            known[node.id] = any(
                known[statement.id] if statement.type in _NAMESPACES else statement.type not in _TYPES
                for statement in inner
            )
        return known[namespace.id]

    def _declaration(self, name: str, parents: list[Node]) -> str:
        """`var N;` (`let` in a plain block), or only `;` where the name exists and is merged into."""
        block = _container(parents)
        declared = self._declared.get(block.id)
        if declared is None:
            declared = {
                self._text(field(child, "name"))
                for statement in block.children
                for child in (statement, statement.child_by_field_name("declaration"))
                if child is not None and (child.type in _CLASSES or child.type in _FUNCTIONS)
            }
            self._declared[block.id] = declared
        if name in declared:
            return ";"
        declared.add(name)
        return f"{'var' if _is_function_body(block, parents) else 'let'} {name};"

    def _owner_object(self, name: str, parents: list[Node]) -> str:
        target = self._targets.get(_container(parents).id)
        exported = target is not None and parents[-1].type == "export_statement"
        return f"{name}={target}.{name}??={{}}" if exported else f"{name}||={{}}"

    def _around(self, name: str, constants: set[str], body: Node, parents: list[Node]) -> tuple[str, str]:
        """A block with what earlier parts of an enum or namespace made, where this part says its name."""
        if not constants or len(parents) > _DEEP:
            return "", ""
        said = dict.fromkeys(_WORDS.findall(self._text(body)))
        names = [word for word in said if word in constants and word != name]
        return (f"{{const {{{','.join(names)}}}={name};", "}") if names else ("", "")

    def _enum_member(self, member: Node, add: str) -> list[str]:
        """Lower a member; the name it can be called by in initialisers, if it is one."""
        edits = self._edits
        name = member
        match member.type:
            case "property_identifier" | "string" | "computed_property_name":
                edits.replace(member.start_byte, member.end_byte, f"{self._enum_key(member, add)});")
            case "enum_assignment":
                name, value = field(member, "name"), field(member, "value")
                edits.replace(name.start_byte, value.start_byte, f"{self._enum_key(name, add)},")
                edits.insert(member.end_byte, ");", opened=member.start_byte)
            case ",":
                edits.blank(member.start_byte, member.end_byte)
                return []
            case _:
                return []
        bound = self._enum_constant(name)
        return [bound] if bound else []

    def _enum_key(self, name: Node, add: str) -> str:
        text = self._text(name)
        bound = self._enum_constant(name)
        declared = f"const {bound}=" if bound else ""
        match name.type:
            case "property_identifier":
                return f'{declared}{add}("{text}"'
            case "computed_property_name":
                return f"{add}({text[1:-1]}"
            case _:
                return f"{declared}{add}({text}"

    def _enum_constant(self, name: Node) -> str | None:
        """What a member is called without its enum: an identifier, in quotes or not, that can be bound."""
        text = self._text(name)
        if name.type == "string":
            text = text[1:-1]
            if not _IDENTIFIER.fullmatch(text):
                return None
        return None if name.type == "computed_property_name" or _UNBINDABLE.fullmatch(text) else text

    def _bound_names(self, declaration: Node) -> list[str]:
        names: list[str] = []
        declarators = [child for child in declaration.children if child.type == "variable_declarator"]
        pending = [field(declarator, "name") for declarator in reversed(declarators)]
        while pending:
            node = pending.pop()
            match node.type:
                case "identifier" | "shorthand_property_identifier_pattern":
                    names.append(self._text(node))
                case "assignment_pattern" | "object_assignment_pattern":
                    pending.append(field(node, "left"))
                case "pair_pattern":
                    pending.append(field(node, "value"))
                case "array_pattern" | "object_pattern" | "rest_pattern":
                    pending.extend(reversed(node.named_children))
                case _:
                    pass
        return names

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _fresh(self) -> str:
        """A prefix for names of our own that no name of the program starts with."""
        if self._next_name is None:
            self._next_name = max((int(found) for found in _OWN_NAMES.findall(self._source)), default=0)
        self._next_name += 1
        return f"_cm{self._next_name}"


def _export_variable(target: str, name: str, constant: bool) -> str:
    if constant:
        return f"{target}.{name}={name};"
    accessors = f"get:()=>{name},set:v=>{{{name}=v}},enumerable:true,configurable:true"
    return f'Object.defineProperty({target},"{name}",{{{accessors}}});'


def _statements(namespace: Node) -> list[Node]:
    """The statements of a namespace, `export` and the statement around a nested namespace looked through."""
    found: list[Node] = []
    for child in field(namespace, "body").children:
        inner = child.child_by_field_name("declaration") if child.type == "export_statement" else None
        if child.type == "expression_statement":
            first = named(child, 0)
            inner = first if first.type in _NAMESPACES else None
        statement = inner or child
        if statement.type not in _NOTHING:
            found.append(statement)
    return found


def _container(parents: list[Node]) -> Node:
    """The block a declaration stands in, past `export` and the statement that the grammar puts around it."""
    depth = len(parents) - 1
    while depth > 0 and parents[depth].type in {"export_statement", "expression_statement"}:
        depth -= 1
    return parents[depth]


def _is_function_body(block: Node, parents: list[Node]) -> bool:
    index = len(parents) - 1
    while parents[index].id != block.id:
        index -= 1
    return index == 0 or parents[index - 1].type in _FUNCTION_LIKE
