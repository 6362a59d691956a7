"""TypeScript to JavaScript in place: type syntax becomes spaces, so that every position stays exact.

The walk visits each node once and calls the rule for its type. What is no mere erasure (enum, namespace,
parameter property) is handed to `lower` and `parameters`. A tree that cannot be trusted raises `Untrusted`:
the parser reports errors on some valid programs, so the caller asks OXC before it refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .angles import Angles
from .edits import Edits
from .lower import Lowering
from .nodes import Untrusted, last_child
from .parameters import lower_parameter_properties
from .positions import LINE_BREAK, refusal_at
from .tokens import next_code

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node, Tree

_STATEMENT_LIKE = (b"{", b"function", b"class", b"async", b"let")
# After one of these something has to come: where it does not, what stands there instead is the mistake.
_WANT_MORE = frozenset(
    {"=", ":", "=>", "?", ".", "&&", "||", "??", "+", "-", "*", "/", "%", "<", ">", "|", "&"}
)
_TAKES_TYPE_ARGUMENTS = frozenset({"call_expression", "instantiation_expression", "new_expression"})
# An expression here cannot be taken for the start of a statement or block.
_SAFE_PLACES = frozenset(
    {"arguments", "array", "assignment_expression", "pair", "parenthesized_expression"}
    | {"public_field_definition", "return_statement", "variable_declarator"}
)


def erase(tree: Tree, source: bytes) -> bytes:
    """The program without its types. Raises `Untrusted`, or `SourceError` for what the engine cannot run."""
    eraser = Eraser(source, has_error=tree.root_node.has_error)
    eraser.walk(tree)
    return eraser.finish(tree)


class Eraser:
    def __init__(self, source: bytes, *, has_error: bool) -> None:
        self.source = source
        self.edits = Edits(source)
        self.parents: list[Node] = []
        self.angles = Angles(source, self.edits)
        self.lowering = Lowering(source, self.edits)
        self._has_error = has_error
        self._skipped: set[int] = set()

    def walk(self, tree: Tree) -> None:
        cursor = tree.walk()
        rules = _RULES
        parents = self.parents
        while True:
            node = cursor.node
            assert node is not None  # a cursor on a tree always stands on a node
            rule = rules.get(node.type)
            if self._has_error and (node.is_error or node.is_missing) and not self._is_harmless(node):
                raise self.untrusted(node)
            descend = node.id not in self._skipped and (rule is None or rule(self, node))
            if descend and cursor.goto_first_child():
                parents.append(node)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                parents.pop()

    def finish(self, tree: Tree) -> bytes:
        self.angles.settle()
        self.lowering.settle_aliases(tree.root_node)
        return self.edits.finish()

    def next_code(self, offset: int) -> tuple[int, bool]:
        """Where the next token starts, and whether a line break comes before it."""
        return next_code(self.source, offset)

    def skip(self, node: Node) -> None:
        self._skipped.add(node.id)

    def demand_sound(self, node: Node) -> None:
        if node.has_error:
            raise self.untrusted(node)

    def untrusted(self, node: Node) -> Untrusted:
        """Point at the first error inside the node, or at the token that stands where one is missing."""
        inner: Node | None = node
        while inner is not None and not (inner.is_error or inner.is_missing):
            node = inner
            inner = next((child for child in node.children if child.has_error), None)
        if inner is None:
            return Untrusted(node.start_byte)
        return Untrusted(self._unexpected(inner))

    def _unexpected(self, error: Node) -> int:
        """Where the token is that does not fit, for an error or a missing token of the parser."""
        last = error.child(error.child_count - 1) if error.child_count else None
        if last is not None and last.type == "regex_pattern":
            return last.start_byte - 1  # a regular expression without an end: its first slash
        before = error.prev_sibling
        if before is not None and before.type in _WANT_MORE:
            return self.next_code(error.start_byte)[0]  # it stands where something else had to come
        if last is not None and error.child_count == 1 and last.type in _WANT_MORE:
            following = self.next_code(last.end_byte)[0]
            if following < len(self.source):
                return following
        return self.next_code(error.start_byte)[0]

    def _is_harmless(self, node: Node) -> bool:
        """A token the parser missed where a line break stands for it, or before a tagged template."""
        if not node.is_missing:
            return False
        if node.type == "!":
            return self.source[node.start_byte : node.start_byte + 1] == b"`"
        return node.type in {";", ","} and self.next_code(node.start_byte)[1]


def _blank(eraser: Eraser, node: Node) -> bool:
    eraser.demand_sound(node)
    if _reaches_over_a_line(eraser, node):
        raise Untrusted(node.start_byte)
    eraser.edits.blank(node.start_byte, node.end_byte)
    return False


def _blank_unchecked(eraser: Eraser, node: Node) -> bool:
    """Variance annotations (`<in out T>`) are errors to the parser, but it finds the brackets around."""
    eraser.edits.blank(node.start_byte, node.end_byte)
    return False


def _type_arguments(eraser: Eraser, node: Node) -> bool:
    owner = eraser.parents[-1]
    if owner.type in _TAKES_TYPE_ARGUMENTS and not eraser.angles.are_type_arguments(node, owner):
        return False
    return _blank(eraser, node)


def _blank_statement(eraser: Eraser, node: Node) -> bool:
    last = last_child(node)
    if not (last.is_missing and eraser.next_code(last.start_byte)[1]):
        eraser.demand_sound(node)
    eraser.edits.blank_statement(node.start_byte, node.end_byte)
    return False


def _cast(eraser: Eraser, node: Node) -> bool:
    """`x as T`. The type ended the statement if a line starts with a bracket next; the value would go on."""
    keyword = next((child for child in node.children if child.type in {"as", "satisfies"}), None)
    cast_to = last_child(node)
    if keyword is None or cast_to.has_error or _reaches_over_a_line(eraser, cast_to):
        raise Untrusted(node.start_byte)
    eraser.skip(cast_to)
    eraser.edits.blank(keyword.start_byte, node.end_byte)
    following, on_new_line = eraser.next_code(node.end_byte)
    if on_new_line and eraser.source[following : following + 1] in {b"(", b"[", b"`"}:
        eraser.edits.put(keyword.start_byte, b";")
    return True


def _reaches_over_a_line(eraser: Eraser, node: Node) -> bool:
    """Whether the type was read as `T⏎[…]` or `T⏎<…>`: these brackets need to be on the line of the type."""
    last = node
    while last.child_count:
        if last.type in {"lookup_type", "array_type"}:
            subject, bracket = last.children[:2]
            if LINE_BREAK.search(eraser.source, subject.end_byte, bracket.start_byte):
                return True
            last = subject
        else:
            last = last_child(last)
            before = last.prev_sibling if last.type == "type_arguments" else None
            if before is not None and LINE_BREAK.search(eraser.source, before.end_byte, last.start_byte):
                return True
    return False


def _type_assertion(eraser: Eraser, node: Node) -> bool:
    """`<T>x`, with parentheses where a line break after `return` or a brace after `=>` would matter."""
    operand = last_child(node)
    broken = LINE_BREAK.search(eraser.source, node.start_byte, operand.start_byte) is not None
    ambiguous = eraser.source.startswith(_STATEMENT_LIKE, operand.start_byte)
    if broken or (ambiguous and not _is_safe_place(eraser, node)):
        types = node.children[0]
        _blank(eraser, types)
        eraser.skip(types)
        eraser.edits.put(node.start_byte, b"(")
        eraser.edits.insert(node.end_byte, ")", opened=node.start_byte)
    return True


def _is_safe_place(eraser: Eraser, node: Node) -> bool:
    """Casts are looked through, since nothing is left of them; what starts with the node protects nothing."""
    depth = len(eraser.parents) - 1
    while depth > 0 and eraser.parents[depth].type in {"as_expression", "satisfies_expression"}:
        depth -= 1
    place = eraser.parents[depth]
    return place.type in _SAFE_PLACES and place.start_byte < node.start_byte


def _non_null(eraser: Eraser, node: Node) -> bool:
    mark = last_child(node)
    if mark.type == "!":
        eraser.edits.blank(mark.start_byte, mark.end_byte)
    return True


def _arrow(eraser: Eraser, node: Node) -> bool:
    """Keep `(` on the line where the arrow function starts and `)` on the line of its `=>`."""
    parameters = node.child_by_field_name("parameters")
    generics = node.child_by_field_name("type_parameters")
    returns = node.child_by_field_name("return_type")
    if parameters is None:
        return True
    source, edits = eraser.source, eraser.edits
    if generics is not None and LINE_BREAK.search(source, generics.start_byte, parameters.start_byte):
        _blank_unchecked(eraser, generics)
        eraser.skip(generics)
        edits.put(generics.start_byte, b"(")
        edits.put(parameters.start_byte, b" ")
    if returns is not None and LINE_BREAK.search(source, parameters.end_byte, returns.end_byte):
        _blank(eraser, returns)
        eraser.skip(returns)
        edits.put(parameters.end_byte - 1, b" ")
        edits.put(returns.end_byte - 1, b")")
    return True


def _parameter(eraser: Eraser, node: Node) -> bool:
    for child in node.children:
        if child.type in {"?", "readonly"}:
            eraser.edits.blank(child.start_byte, child.end_byte)
    pattern = node.child_by_field_name("pattern")
    if pattern is not None and pattern.type == "this":
        following, _ = eraser.next_code(node.end_byte)
        comma = eraser.source[following : following + 1] == b","
        eraser.edits.blank(node.start_byte, following + 1 if comma else node.end_byte)
        return False
    return True


def _declarator(eraser: Eraser, node: Node) -> bool:
    for child in node.children:
        if child.type == "!":
            eraser.edits.blank(child.start_byte, child.end_byte)
    return True


def _member(eraser: Eraser, node: Node) -> bool:
    """A field or method: modifiers go; a `;` guards what stood alone only thanks to its modifier or type."""
    edits = eraser.edits
    children = node.children
    kinds = {child.type for child in children}
    _refuse_auto_accessor(eraser, node)
    if node.type == "public_field_definition" and not kinds.isdisjoint({"declare", "abstract"}):
        return _blank_statement(eraser, node)
    after_name = None
    for child in children:
        match child.type:
            case "accessibility_modifier" | "override_modifier" | "readonly":
                edits.blank(child.start_byte, child.end_byte)
                if child.start_byte == node.start_byte:
                    edits.put(child.start_byte, b";")
                eraser.skip(child)
            case "?" | "!":
                edits.blank(child.start_byte, child.end_byte)
                after_name = after_name or child
            case "type_annotation":
                _blank(eraser, child)
                eraser.skip(child)
                after_name = after_name or child
            case _:
                pass
    if after_name is not None and node.type == "public_field_definition" and "=" not in kinds:
        following, _ = eraser.next_code(node.end_byte)
        if eraser.source[following : following + 1] not in {b";", b"}"}:
            edits.put(after_name.start_byte, b";")
    return True


def _abstract_class(eraser: Eraser, node: Node) -> bool:
    for child in node.children:
        if child.type == "abstract":
            eraser.edits.blank(child.start_byte, child.end_byte)
    return True


def _comparison(eraser: Eraser, node: Node) -> bool:
    eraser.angles.compare(node)
    return True


def _refuse_auto_accessor(eraser: Eraser, node: Node) -> None:
    name = node.child_by_field_name("name") if node.type == "public_field_definition" else None
    place = next((child for child in node.children if child.type == "accessor"), None)
    if place is not None and place.next_sibling != name:
        place = None  # a field of that name
    if name is not None and eraser.source[name.start_byte : name.end_byte] == b"accessor":
        # `static accessor x`: the parser takes the keyword for the name
        place = name if name.next_sibling is not None and name.next_sibling.is_error else None
    if name is None or place is None:
        return
    message = "Auto-accessors (`accessor x`) are not supported: write a field, or a getter and a setter."
    raise refusal_at("typescript_transform_failed", message, eraser.source, place.start_byte)


def _decorator(eraser: Eraser, node: Node) -> bool:
    message = "Decorators are not supported: call the decorating function on the class or method yourself."
    raise refusal_at("typescript_transform_failed", message, eraser.source, node.start_byte)


def _enum(eraser: Eraser, node: Node) -> bool:
    eraser.demand_sound(node)
    eraser.lowering.enum(node, eraser.parents)
    return True


def _namespace(eraser: Eraser, node: Node) -> bool:
    if not node.child_count:
        return True  # the keyword `module`, which the grammar names like the declaration
    if not eraser.lowering.has_values(node):
        return _blank_statement(eraser, node)
    eraser.lowering.namespace(node, eraser.parents)
    return True


def _export(eraser: Eraser, node: Node) -> bool:
    declaration = node.child_by_field_name("declaration")
    if declaration is None:
        raise Untrusted(node.start_byte)
    if eraser.lowering.is_type(declaration):
        return _blank_statement(eraser, node)
    if not eraser.lowering.export(node, declaration, eraser.parents[-1]):
        raise Untrusted(node.start_byte)
    return True


def _class_body(eraser: Eraser, node: Node) -> bool:
    lower_parameter_properties(node, eraser.parents[-1], eraser.edits)
    return True


def _alias(eraser: Eraser, node: Node) -> bool:
    eraser.lowering.alias(node, eraser.parents[-1])
    return False


_RULES: dict[str, Callable[[Eraser, Node], bool]] = {
    **dict.fromkeys(
        (
            "accessibility_modifier",
            "asserts_annotation",
            "implements_clause",
            "override_modifier",
            "type_annotation",
            "type_predicate_annotation",
        ),
        _blank,
    ),
    "type_parameters": _blank_unchecked,
    **dict.fromkeys(
        (
            "abstract_method_signature",
            "ambient_declaration",
            "function_signature",
            "index_signature",
            "interface_declaration",
            "method_signature",
            "type_alias_declaration",
        ),
        _blank_statement,
    ),
    **dict.fromkeys(("as_expression", "satisfies_expression"), _cast),
    **dict.fromkeys(("optional_parameter", "required_parameter"), _parameter),
    **dict.fromkeys(("public_field_definition", "method_definition"), _member),
    **dict.fromkeys(("internal_module", "module"), _namespace),
    "abstract_class_declaration": _abstract_class,
    "arrow_function": _arrow,
    "binary_expression": _comparison,
    "class_body": _class_body,
    "decorator": _decorator,
    "enum_declaration": _enum,
    "export_statement": _export,
    "import_alias": _alias,
    "non_null_expression": _non_null,
    "type_arguments": _type_arguments,
    "type_assertion": _type_assertion,
    "variable_declarator": _declarator,
}
