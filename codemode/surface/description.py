"""The text that teaches a model to write programs. Pure: equal catalogs and settings give equal texts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from codemode.catalog import Catalog
from codemode.surface.quick_index import DEFAULT_BUDGET, quick_index

_BASICS = """\
Runs a {languages} program in a sandbox and returns its result. Code, not shell commands.
- The program is the body of an async function: use top-level `await`, and `return` the value you want. \
Values are JSON.
- Globals: tools, ALL_TOOLS, MCP, API, namespaces, text(v) and json(v) to add output, console, \
yield_control(), setTimeout, URL, TextEncoder, crypto.randomUUID, and the language's own. There is no \
import, require, network, file system, process or environment: everything outside goes through tools.
- Call independent tools together: `const [a, b] = await Promise.all([tools.x({{...}}), tools.y({{...}})])`. \
At most {pending} calls at once. Filter and combine results in code, and return only what you need.
- A failed call throws an Error with `code` and `message`; catch it if you can go on without it.
- If the status is "waiting", call wait with its runId."""

_FINDING = """\
- Find tools: `await tools.search("words", {limit})` gives entries with a ready `call`; \
`await tools.describe(id)` gives parameters and result; then `await tools.name({...})` or \
`await tools.call(id, {...})`."""

_MCP = """\
- MCP servers: `await API.list()` gives `{ files: [{ path, bytes, description }] }`, also iterated and \
indexed as that array; `await API.read("mcp/<server>.d.ts")` gives `{ path, content, description, bytes }`, \
which text(v), console and `${v}` show as its content. Call as `await MCP.<server>.<tool>({...})`."""


class NamespaceText(Struct, frozen=True):
    """A visible namespace, in the words of the integration that registered it."""

    global_name: str
    description: str = ""
    prompt: str = ""


def describe_exec(
    catalog: Catalog,
    *,
    languages: Sequence[str] = ("javascript", "typescript"),
    max_pending_calls: int = 16,
    namespaces: Sequence[NamespaceText] = (),
    index_budget: int = DEFAULT_BUDGET,
) -> str:
    spelled = " or ".join(_SPELLED.get(language, language) for language in languages)
    parts = [_BASICS.format(languages=spelled, pending=max_pending_calls)]
    sources = catalog.by_source()
    if sources.keys() - {"mcp"}:
        parts.append(_FINDING.replace("{limit}", "{ limit: 5 }"))
    if "mcp" in sources:
        parts.append(_MCP)
    parts += [_namespace(own) for own in sorted(namespaces, key=lambda own: own.global_name)]
    index = quick_index(catalog, index_budget)
    if index:
        parts.append(f"Tools, as tools.name(input) -> result:\n{index}")
    return "\n".join(parts)


_SPELLED = {"javascript": "JavaScript", "typescript": "TypeScript"}


def _namespace(own: NamespaceText) -> str:
    words = " ".join(part.strip() for part in (own.description, own.prompt) if part.strip())
    return f"- Namespace `{own.global_name}`{': ' + words if words else ''}"
