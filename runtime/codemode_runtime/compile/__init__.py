"""From the model's text to code for the guest: fences, shell and Python text, module access, TypeScript.

Runs in the worker, never in the host: it parses hostile text. `prepare` is the whole interface; it returns
code or raises `SourceError`, and any other exception is a bug. JavaScript syntax is left to the engine, which
reports it with exact positions. Parsers are loaded when a program needs one, and for JavaScript few do.
"""

import importlib
from collections.abc import Set
from dataclasses import dataclass

from .fence import fence_language, find_fence, has_code
from .foreign import blank_shebang, recognise
from .modules import may_use_modules, module_access
from .parsers import Language, parse
from .positions import SourceError

__all__ = ["Language", "Prepared", "SourceError", "fence_language", "preload", "prepare"]

_BOTH: frozenset[Language] = frozenset({"javascript", "typescript"})

_FOREIGN = {
    "shell": "This is a shell command; write JavaScript or TypeScript, and use `tools` for everything else.",
    "python": "This is Python; write the program in JavaScript or TypeScript.",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Code ready for the guest: the body of a strict async function.

    It is well-formed Unicode: lone surrogates have become U+FFFD. With `exact_positions` every line is that
    of the text as sent, and so is every column, except to the right of an enum, a namespace, a parameter
    property or an angle bracket cast on the same line. Without it the code was reprinted.
    """

    code: str
    exact_positions: bool
    language: Language


def prepare(text: str, language: Language, *, allow: Set[Language] = _BOTH) -> Prepared:
    """Check a program and turn it into JavaScript.

    A fence that says TypeScript makes a "javascript" program TypeScript, if `allow` has it: pass the
    languages that the configuration has switched on.
    """
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text, language = _unwrap(text, language, allow)
    foreign = recognise(text, lambda: _parses(text, language))
    if foreign is not None:
        raise SourceError("invalid_input", _FOREIGN[foreign])
    text = blank_shebang(text)
    if language == "javascript" and not may_use_modules(text):
        return Prepared(text, exact_positions=True, language=language)
    source = text.encode()
    tree = parse(source, language)
    refusal = module_access(tree, source)
    if refusal is not None:
        raise refusal
    if language == "javascript":
        return Prepared(text, exact_positions=True, language=language)
    from .typescript import to_javascript

    code, exact = to_javascript(tree, source)
    return Prepared(code, exact_positions=exact, language=language)


def preload(language: Language, *, fallback: bool = False) -> None:
    """Load what a program in `language` may need, before confinement forbids opening files.

    `fallback` also compiles OXC (about a second); without it, programs that need OXC are refused as
    not parsing in a process that can no longer load it.
    """
    parse(b"", language)
    if language == "typescript":
        importlib.import_module(".typescript", __name__)
        if fallback:
            from . import oxc

            oxc.preload()


def _unwrap(text: str, language: Language, allow: Set[Language]) -> tuple[str, Language]:
    fenced = find_fence(text)
    if fenced is None:
        return text, language
    if not fenced.certain and _parses(text, language):
        return text, language
    if fenced.stray is not None and (has_code(fenced.stray) or _parses(fenced.stray, language)):
        return fenced.stray, language
    if fenced.blocks > 1:
        raise SourceError(
            "invalid_input", "The text has more than one code block; send one program without Markdown."
        )
    match fenced.language:
        case "python" | "shell":
            raise SourceError("invalid_input", _FOREIGN[fenced.language])
        case "typescript" if "typescript" in allow:
            language = "typescript"
        case _:
            pass
    if not fenced.code.strip():
        raise SourceError("invalid_input", "The code fence is empty; put the program inside it.")
    return fenced.code, language


def _parses(text: str, language: Language) -> bool:
    return not parse(text.encode(), language).root_node.has_error
