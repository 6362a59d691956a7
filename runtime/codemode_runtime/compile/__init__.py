"""From the model's text to code for the guest: fences, shell and Python text, module access, TypeScript.

Runs in the worker, never in the host: it parses hostile text. `prepare` is the whole interface; it returns
code or raises `SourceError`, and any other exception is a bug. JavaScript syntax is left to the engine, which
reports it with exact positions. Parsers are loaded when a program needs one, and for JavaScript few do.
"""

from collections.abc import Set
from dataclasses import dataclass

from codemode_runtime.language import Language, well_formed

from .fence import fence_language, find_fence, has_code
from .foreign import blank_shebang, recognise
from .modules import find_module_use, may_use_modules, module_refusal
from .parsers import parse
from .positions import SourceError, refusal_at

__all__ = ["Language", "Prepared", "SourceError", "fence_language", "preload_javascript", "prepare"]

_BOTH: frozenset[Language] = frozenset({"javascript", "typescript"})

_FOREIGN = {
    "shell": "This is a shell command; write JavaScript or TypeScript, and use `tools` for everything else.",
    "python": "This is Python; write the program in JavaScript or TypeScript.",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """Code ready for the guest: the body of a strict async function.

    It is well-formed Unicode: lone surrogates have become U+FFFD. The guest reports every position as that of
    the text as sent.
    """

    code: str
    language: Language


def prepare(text: str, language: Language, *, allow: Set[Language] = _BOTH) -> Prepared:
    """Check a program and turn it into JavaScript.

    A fence that says TypeScript makes a "javascript" program TypeScript, if `allow` has it: pass the
    languages that the configuration has switched on.
    """
    text, language = _unwrap(well_formed(text), language, allow)
    foreign = recognise(text, lambda: _parses(text, language))
    if foreign is not None:
        raise SourceError("invalid_input", _FOREIGN[foreign])
    text = blank_shebang(text)
    if language == "typescript":
        return Prepared(_compile(text), language)
    _refuse_modules(text)
    return Prepared(text, language)


def preload_javascript() -> None:
    """Load what a program may need, before confinement forbids opening files; see `typescript.preload`."""
    parse(b"")


def _compile(text: str) -> str:
    """TypeScript as JavaScript. What loads modules is refused first, also in text that does not parse."""
    from . import typescript

    source = text.encode()
    try:
        code = typescript.to_javascript(text)
    except typescript.NotCompiled as error:
        if error.kind == "modules":
            raise module_refusal(error.reason, source, error.offset) from None
        _refuse_modules(text)
        message = error.reason
        if error.kind == "syntax":
            reason = message.strip().rstrip(".")
            message = f"The TypeScript does not parse: {reason}; correct it and send it again."
        raise refusal_at("typescript_transform_failed", message, source, error.offset) from None
    if may_use_modules(code):
        made = code.encode()
        use = find_module_use(parse(made), made)
        if use is not None:
            raise module_refusal(use.label, source, typescript.source_offset(made, use.offset))
    return code


def _refuse_modules(text: str) -> None:
    if not may_use_modules(text):
        return
    source = text.encode()
    use = find_module_use(parse(source), source)
    if use is not None:
        raise module_refusal(use.label, source, use.offset)


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
    if language == "javascript":
        return not parse(text.encode()).root_node.has_error
    from . import typescript

    try:
        typescript.to_javascript(text)
    except typescript.NotCompiled as error:
        return error.kind != "syntax"
    return True
