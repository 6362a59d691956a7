"""OXC, the second opinion on TypeScript: full grammar, but it reprints the code and knows no positions.

It is a WebAssembly module inside quickjs-rs; the first call compiles it (about a second), which a confined
process may not be allowed to do. Not being able to load it is an answer like any other: `OxcUnavailable`.
"""

import re

from .parsers import parse

_WRAPPER = "async function _cm() {"
_NAMESPACE_LEFT = re.compile(rb"^[ \t]*(?:export )?(?:namespace|module) [\w.$\x80-\xff]+ \{$", re.MULTILINE)
_REASON = re.compile(r"^source \w+ error in [^:]*: ")


class OxcRefused(Exception):
    """OXC cannot parse the program; the text is its reason."""


class OxcUnavailable(Exception):
    """OXC cannot run in this process."""


def transform(text: str) -> str:
    """The program as JavaScript, reprinted.

    OXC takes `return` only inside a function, and namespaces only outside of one (inside, it prints them as
    they are).
    """
    try:
        return _transform(text)
    except OxcRefused as refused:
        try:
            code = _unwrapped(_transform(f"{_WRAPPER}\n{text}\n}}"))
            # a text that closes the wrapper and opens another fits among statements or members, never both
            _transform(f"({{ async _cm() {{\n{text}\n}} }})")
        except OxcRefused as refused_again:
            raise (refused_again if "'return'" in str(refused) else refused) from None
        if _has_namespace(code):
            raise OxcRefused(
                "a namespace and `return` in one program need simpler syntax around them"
            ) from None
        return code


def preload() -> None:
    """Compile the module now, so that a later confinement does not forbid it."""
    _transform("0")


def _has_namespace(code: str) -> bool:
    """Whether a namespace was printed as it is; its head may also be the text of a template."""
    source = code.encode()
    heads = list(_NAMESPACE_LEFT.finditer(source))
    if not heads:
        return False
    root = parse(source, "typescript").root_node
    return any(
        (node := root.descendant_for_byte_range(head.end() - 1, head.end())) is not None and node.type == "{"
        for head in heads
    )


def _unwrapped(code: str) -> str:
    start, end = code.find("{"), code.rfind("}")
    return code[start + 1 : end]


def _transform(text: str) -> str:
    try:
        import quickjs_rs
        import wasmtime
    except (ImportError, OSError) as error:
        raise OxcUnavailable(str(error)) from error
    try:
        return quickjs_rs.transform_source("program.ts", text)
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        # A trap is OXC's stack or memory running out on this text; the next call gets a fresh instance.
        raise OxcRefused("the program is too deeply nested") from error
    except OSError as error:
        raise OxcUnavailable(str(error)) from error
    except RuntimeError as error:  # quickjs-rs raises a subclass that it does not export
        raise OxcRefused(_REASON.sub("", str(error))) from error
