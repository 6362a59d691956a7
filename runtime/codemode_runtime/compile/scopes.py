"""Which scope binds a name: enough scope analysis to tell a local `require` from the module loader's.

Scopes are numbers in the order they open; each knows its parent. Declarations may come after uses (hoisting),
so names are resolved only when the whole program has been read.
"""

from typing import Literal

# Where an identifier in this place is declared, or None where it is a use.
Role = Literal["here", "outside", "function"] | None

FUNCTIONS = frozenset(
    {
        "arrow_function",
        "class_static_block",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
        "program",
    }
)
BLOCKS = frozenset(
    {"catch_clause", "class", "for_in_statement", "for_statement", "statement_block", "switch_body"}
)


class Scopes:
    def __init__(self) -> None:
        self._parents: list[int] = []
        self._functions: list[int] = []
        self._names: set[tuple[int, str]] = set()
        self._resolved: dict[tuple[int, str], bool] = {}

    def open(self, parent: int, *, function: bool) -> int:
        scope = len(self._parents)
        self._parents.append(parent)
        self._functions.append(scope if function else self._functions[parent])
        return scope

    def declare(self, name: str, role: Literal["here", "outside", "function"], scope: int) -> None:
        match role:
            case "here":
                self._names.add((scope, name))
            case "outside":
                self._names.add((self._parents[scope], name))
            case "function":
                self._names.add((self._functions[scope], name))

    def binds(self, name: str, scope: int) -> bool:
        """Whether a declaration is visible from `scope`; each pair is looked up once over all calls."""
        trail: list[int] = []
        verdict = False
        while scope >= 0:
            known = self._resolved.get((scope, name))
            if known is not None:
                verdict = known
                break
            trail.append(scope)
            if (scope, name) in self._names:
                verdict = True
                break
            scope = self._parents[scope]
        for passed in trail:
            self._resolved[(passed, name)] = verdict
        return verdict


def role_of_child(parent: str, parent_role: Role, field: str | None, *, hoisted: bool) -> Role:
    """A node's role, from its parent's type and role and its own field; `hoisted`: the keyword is `var`."""
    match parent, field:
        case (("function_declaration" | "generator_function_declaration"), "name"):
            return "outside"
        case (
            "class" | "class_declaration" | "function_expression" | "generator_function",
            "name",
        ):
            return "here"
        case (("arrow_function" | "catch_clause"), "parameter"):
            return "here"
        case "formal_parameters", None:
            return "here"
        case "variable_declarator", "name":
            return "function" if hoisted else "here"
        case "for_in_statement", "left":
            return parent_role
        case (
            "array_pattern"
            | "assignment_pattern"
            | "object_assignment_pattern"
            | "object_pattern"
            | "pair_pattern"
            | "rest_pattern",
            _,
        ):
            return None if field in {"right", "key"} else parent_role
        case _:
            return None
