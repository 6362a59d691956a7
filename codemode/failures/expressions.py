"""Reads in the program's text what was called at a position. Pure, and only for hints.

The guest says "not a function" without the name; the text says `tools.web_serch`. Nothing is decided by it,
so a regular expression over a few hundred characters is enough.
"""

from __future__ import annotations

import re

_NEAR = 240
_NAME = re.compile(r"\s*([\w$]+)")
_MEMBER = re.compile(r"""\s*\??\.\s*([\w$]+)|\s*(?:\?\.)?\[\s*(["'`])([^"'`\\\n]{1,120})\2\s*\]""")
_CHAIN_BEFORE = re.compile(r"([\w$]+(?:\s{0,20}\??\.\s{0,20}[\w$]+)*)\s{0,20}\??(\.?)\s{0,20}$")
_DOT = re.compile(r"\s*\??\.\s*")
_FIRST_ARGUMENT = re.compile(r"""\s*\(\s*(["'`])([^"'`\\\n]{1,200})\1""")
_DECLARED = re.compile(r"\b(?:const|let|var|function|class)\s+([\w$]+)")
_READ = 100_000


def path_at(program: str, offset: int) -> tuple[str, ...]:
    """The names of the member expression at a position: ("tools", "web_serch"), or () without one."""
    after, near = program[offset : offset + _NEAR], program[max(0, offset - _NEAR) : offset]
    chain = _CHAIN_BEFORE.search(near)
    before = _DOT.split(chain[1]) if chain else []
    if _MEMBER.match(after):  # the guest points at the dot, or at what follows it on the next line
        path, at = before, 0
    elif after.startswith("(") and chain and not chain[2]:  # a blank between the name and the parenthesis
        return tuple(before)
    elif (name := _NAME.match(after)) is not None:
        path, at = [*(before if chain and chain[2] else ()), name[1]], name.end()
    else:
        return ()
    while (member := _MEMBER.match(after, at)) is not None:
        path.append(member[1] or member[3])
        at = member.end()
    return tuple(path)


def first_argument(program: str, offset: int) -> str | None:
    """The literal in `tools.call("…"`, if the call at the position starts with one."""
    after = program[offset : offset + _NEAR]
    at = 0
    if (name := _NAME.match(after)) is not None:
        at = name.end()
    while (member := _MEMBER.match(after, at)) is not None:
        at = member.end()
    found = _FIRST_ARGUMENT.match(after, at)
    return found[2] if found else None


def declared_names(program: str) -> set[str]:
    return set(_DECLARED.findall(program[:_READ]))


def holds_promise(program: str, name: str) -> bool:
    """Whether the program assigns a tool call to this variable without `await`."""
    call = rf"(?<![\w$.]){re.escape(name)}\s*=\s*(?:tools|MCP|namespaces|openclaw)\s*[.\[][^;\n=]{{0,200}}?\("
    return re.search(call, program[:_READ]) is not None


def called_members(program: str, owner: str) -> list[str]:
    """All names that the program calls on `owner`, in order."""
    call = rf"""(?<![\w$.]){re.escape(owner)}(?:\.([\w$]+)|\[\s*["']([^"'\\\n]{{1,120}})["']\s*\])\s*\("""
    return [first or second for first, second in re.findall(call, program[:_READ])]
