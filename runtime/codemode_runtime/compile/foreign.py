"""Text that is plainly a shell command or Python, recognised so that the refusal can say so.

A suspicion from the patterns counts only if the text does not parse, or if all of it would be pointless as
JavaScript: commands with shell spacing (`ls -la`, `cd /tmp && ls`), which are arithmetic on undeclared names,
bare names of commands (`ls; pwd`), or calls of Python's `print`.
"""

import re
from collections.abc import Callable
from typing import Literal

Foreign = Literal["shell", "python"]

_COMMANDS = (
    "7z|apk|apt|apt-get|awk|base64|bash|brew|bun|bunx|cargo|cat|cd|chmod|chown|cmake|cp|curl|cut|date|deno|df|diff"
    "|dig|docker|docker-compose|du|echo|env|exec|find|gcc|gh|git|go|grep|gunzip|gzip|head|helm|hostname|jq|kill"
    "|kubectl|less|ln|ls|make|mkdir|mv|node|npm|npx|openssl|ping|pip|pip3|pipx|pnpm|printf|ps|pwd|pytest|python"
    "|python3|rg|rm|rmdir|rsync|ruby|rustc|scp|sed|sh|sleep|sort|source|ssh|sudo|systemctl|tail|tar|tee|terraform"
    "|top|touch|tree|uname|uniq|unzip|uv|wc|wget|which|whoami|xargs|yarn|yum|zip|zsh"
)
_PROMPT = r"[ \t]*(?:\$[ \t]+)?"

# A command followed by a word: two names side by side are no JavaScript.
_COMMAND_LINE = re.compile(
    rf"{_PROMPT}(?:[A-Z_][A-Z0-9_]*=[^\s;]*[ \t]+)*"
    rf"(?:{_COMMANDS})(?:[ \t]+[\w\"'./~*$@:<>|&-][^\n]*|[ \t]*;[ \t]*(?:{_COMMANDS})\b[^\n]*|[ \t;]*)"
    r"(?:\n|\Z)"
    rf"|{_PROMPT}\.{{1,2}}/[\w.~/-]+(?:[ \t][^\n]*)?(?:\n|\Z)"
    rf"|{_PROMPT}(?:test|\[)[ \t]+(?:![ \t]+)?-[a-z][ \t]+[^\n]*(?:\n|\Z)"
    r"|[ \t]*\$[ \t]+[\w./~][^\n]*(?:\n|\Z)"
    r"|[ \t]*export[ \t]+[A-Za-z_]\w*=[^\n]*(?:\n|\Z)"
    r"|[ \t]*(?:if[ \t]+\[|for[ \t]+\w+[ \t]+in[ \t][^\n:(]*;[ \t]*do\b|while[ \t]+read\b)"
)
# One argument with shell spacing: an option or a path, blank before and none after the sign.
_BARE_ARGUMENTS = r"(?:[ \t]+[\w./~-]+)"
_SPACED_COMMAND = re.compile(
    rf"(?:{_COMMANDS})(?=(?:[ \t]+[\w.]+)*[ \t]+(?:-{{1,2}}[A-Za-z]|[~.]{{0,2}}/\w))"
    rf"{_BARE_ARGUMENTS}+"
)
_ANY_COMMAND = re.compile(rf"(?:{_COMMANDS}){_BARE_ARGUMENTS}*")
# Said alone, these can only be meant as commands: no program is a bare name.
_BARE_COMMAND = re.compile(r"ls|pwd|whoami|ps|df|du|uname|hostname|env|top|tree")
_SEPARATOR = re.compile(r"[ \t]*(?:&&|\|\||[|;])[ \t]*")

_PYTHON_FIRST = re.compile(
    r"(?:async[ \t]+)?def[ \t]+\w+[ \t]*\("
    r"|from[ \t]+\.*[\w.]+[ \t]+import\b"
    r"|import[ \t]+\w[\w.]*(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*\w[\w.]*)*[ \t]*(?:#[^\n]*)?(?:\n|\Z)"
    r"|(?:if|for|while|with|class|elif|except|async[ \t]+for|async[ \t]+with)\b[^\n{;]*:"
    r"[ \t]*(?:#[^\n]*)?(?:\n|\Z)"
    r"|(?:try|else|finally)[ \t]*:[ \t]*(?:\n|\Z)"
    r"|(?:if|for|while)[ \t]+[\w.]+[^\n({;]*:[ \t]+\S"
    r"|@[\w.]+[^\n]*\n[ \t]*(?:async[ \t]+)?(?:def|class)\b"
    r"|(?:raise|del|global|nonlocal|assert)[ \t]+[A-Za-z_]"
    r"|print[ \t]+[\"'\w]"
    r"|print\([fr]?[\"']"
    r"|(?:print|return)\b[^\n]*\b[fr][\"']"
    r'|"""|\'\'\''
    r"|[\w, \t]+=[^\n]*(?:\b[fr][\"']|\blambda\b[^\n]*:|\bfor[ \t]+\w+[ \t]+in[ \t]|\bif\b[^\n(]+\belse\b)"
)
# Nothing but these is Python; one among other statements gets a hint from the engine that ran them.
_PRINT = re.compile(r"print\((?:[fr]?\"[^\"\\]*\"|[fr]?'[^'\\]*')\)[ \t]*(?:#.*)?")
_PYTHON_LATER = re.compile(
    r"^(?:(?:async )?def \w+\(.*:|from [\w.]+ import .*"
    r"|(?:if|elif|for|while|with|class|except) [^\n{;]*:)[ \t]*$",
    re.MULTILINE,
)
_JAVASCRIPT_MARKS = re.compile(r"\b(?:const|let|var|function)\b|=>|;[ \t]*$", re.MULTILINE)

# The patterns for one line look no further than this: some of them cost the square of the line's length.
_MAX_LINE = 1000

_SHEBANG = re.compile(r"#!([^\n]*)")
_SHELL_SHEBANG = re.compile(r"\b(?:sh|bash|zsh|dash|ksh|csh|tcsh|fish|pwsh)\b")
_LEADING = re.compile(r"(?:[ \t]*(?:#(?!!)[^\n]*)?\n)*[ \t]*")


def recognise(text: str, parses: Callable[[], bool]) -> Foreign | None:
    """Say what foreign language the text is in; `parses` is asked only on suspicion (it costs a parse)."""
    start = text.lstrip("\ufeff \t\r\n")
    if shebang := _SHEBANG.match(start):
        if "python" in shebang[1]:
            return "python"
        return "shell" if _SHELL_SHEBANG.search(shebang[1]) else None
    first = text[_end_of(_LEADING, text) :]
    suspect = _suspect(first)
    if suspect is None:
        return None
    if suspect == "shell" and _is_all_commands(start):
        return "shell"
    if suspect == "python" and _is_all_prints(start):
        return "python"
    return None if parses() else suspect


def blank_shebang(text: str) -> str:
    """A `#!/usr/bin/env node` line is no JavaScript inside a function: spaces take its place."""
    body = text.lstrip("\ufeff \t\r\n")
    found = _SHEBANG.match(body)
    if found is None:
        return text
    start = len(text) - len(body)
    return text[:start] + re.sub(r"[^\r\u2028\u2029]", " ", found[0]) + body[found.end() :]


def _suspect(first: str) -> Foreign | None:
    if _PYTHON_FIRST.match(first, 0, _MAX_LINE):
        return "python"
    if _COMMAND_LINE.match(first, 0, _MAX_LINE):
        return "shell"
    if _PYTHON_LATER.search(first) and not _JAVASCRIPT_MARKS.search(first):
        return "python"
    return None


def _is_all_commands(text: str) -> bool:
    lines = [line.strip() for line in text[:2000].splitlines() if line.strip()]
    return all(_is_spaced_command(line) for line in lines)


def _is_all_prints(text: str) -> bool:
    lines = [line.strip() for line in text[:2000].splitlines() if line.strip()]
    return len(text) <= 2000 and all(_PRINT.fullmatch(line) or line.startswith("#") for line in lines)


def _is_spaced_command(line: str) -> bool:
    parts = _SEPARATOR.split(line.rstrip("; \t"))
    if len(parts) == 1:
        return (_SPACED_COMMAND.fullmatch(line) or _BARE_COMMAND.fullmatch(parts[0])) is not None
    return all(_ANY_COMMAND.fullmatch(part) for part in parts)


def _end_of(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0
