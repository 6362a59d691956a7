"""The text that teaches a model to write programs. Pure: equal catalogs and settings give equal texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from codemode.catalog import Catalog
from codemode.catalog.result_shapes import Returns
from codemode.declarations.declarations import METHODS
from codemode.declarations.identifiers import server_identifiers
from codemode.surface.quick_index import DEFAULT_BUDGET, quick_index

_BASICS = """\
Runs a {languages} program in a sandbox and returns its result. Code, not shell commands.{types}
- The program is the body of an async function: use top-level `await`. Only `return` gives a value, never \
the last expression: end with `return ...`. Values are JSON.
- Globals: {globals}. There is no import, require, network, file system, process or environment: everything \
outside goes through tools. There is no Intl: locales are en-US, the time zone is UTC.
- Call independent tools together: `const [a, b] = await Promise.all([tools.x({{...}}), tools.y({{...}})])`. \
{rule} Filter and combine results in code, and return only what you need.
- A failed call throws an Error with `code`, `message` and `retryable`; catch it if you can go on without it.
- To poll, loop inside one program, with `await new Promise((done) => setTimeout(done, 1000))`.
- If the status is "waiting", call wait with its runId. Read the `notes` of a result."""

_KEPT = """\
- What a program declares at its top level (const, let, var, function, class) is there in your next \
programs, and may be declared anew; a program that fails leaves it as it was."""

_TYPES = " Types are stripped, not checked."
_GLOBALS = (
    "text(v) and json(v) to add output, image(h) and file(h) to show a handle { type, mimeType, bytes, id } "
    "of content in a tool's result, console, yield_control(), setTimeout, URL, TextEncoder, "
    "crypto.randomUUID, and the language's own"
)
_ALL_TOOLS = "ALL_TOOLS (id, name, description, source of each)"
_AT_ONCE = "At most {pending} calls at once; one more ends the program."
_IN_LINE = "At most {pending} calls run at once; {queued} more wait in line, and one more ends the program."

_FINDING = """\
- Find tools: `await tools.search("words", { limit: 5 })` gives entries with a ready `call`{also}; \
`await tools.describe(id)` gives parameters and what is known of the result; then `await tools.name({...})` \
or `await tools.call(id, {...})`."""

_FINDING_MCP = '- Find tools: `await tools.search("words", { limit: 5 })` gives entries with a ready `call`.'

_MCP = """\
- MCP servers: {servers}. `await API.list()` gives `{ files: [{ path, bytes, description }] }`, also \
iterated and indexed as that array; `await API.read("mcp/<server>.d.ts")` gives `{ path, content, \
description, bytes }`, which text(v), console and `${v}` show as its content. Call as `await \
MCP.<server>.<tool>({...})`."""
_MAX_SERVERS = 30
_MAX_NAME = 60


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
    max_queued_calls: int = 0,
    namespaces: Sequence[NamespaceText] = (),
    servers: Iterable[str] = (),
    index_budget: int = DEFAULT_BUDGET,
    observed: Returns | None = None,
    keeps: bool = False,
) -> str:
    """`servers` are the names of all configured MCP servers, also of those without tools. `keeps`: the
    programs of a session share their declarations."""
    spelled = " or ".join(_SPELLED.get(language, language) for language in languages)
    sources = catalog.by_source()
    has_tools, has_mcp = bool(sources.keys() - {"mcp"}), "mcp" in sources
    named = ["tools", _ALL_TOOLS] if has_tools else ["tools"]
    named += ["MCP, API"] if has_mcp else []
    named += ["namespaces"] if namespaces else []
    rule = _IN_LINE if max_queued_calls else _AT_ONCE
    parts = [
        _BASICS.format(
            languages=spelled,
            types=_TYPES if "typescript" in languages else "",
            globals=", ".join([*named, _GLOBALS]),
            rule=rule.format(pending=max_pending_calls, queued=max_queued_calls),
        )
    ]
    if keeps:
        parts.append(_KEPT)
    if has_tools:
        parts.append(_FINDING.replace("{also}", ", of MCP tools too" if has_mcp else ""))
    elif has_mcp:
        parts.append(_FINDING_MCP)
    if has_mcp:
        parts.append(_MCP.replace("{servers}", _servers(catalog, servers)))
    parts += [_namespace(own) for own in sorted(namespaces, key=lambda own: own.global_name)]
    index = quick_index(catalog, index_budget, observed)
    if index:
        marked = " (~ observed in earlier calls)" if " -> ~" in index else ""
        parts.append(f"Tools, as tools.name(input) -> result{marked}:\n{index}")
    return "\n".join(parts)


def _servers(catalog: Catalog, names: Iterable[str]) -> str:
    """Under the names that the host's configuration gives them; nothing that a server says of itself."""
    by_owner: dict[str, list[str]] = {}
    for tool in catalog.tools:
        if tool.source == "mcp":
            by_owner.setdefault(tool.owner, []).append(tool.name)
    identifiers = server_identifiers({*by_owner, *names})
    shown = [_server(owner, identifiers[owner], by_owner[owner]) for owner in sorted(by_owner)]
    more = [f"{len(shown) - _MAX_SERVERS} more"] if len(shown) > _MAX_SERVERS else []
    return ", ".join(shown[:_MAX_SERVERS] + more)


def _server(owner: str, identifier: str, names: list[str]) -> str:
    count = sum(name not in METHODS for name in names)
    groups = dict.fromkeys(METHODS[name][0] for name in sorted(names, reverse=True) if name in METHODS)
    has = [f"{count} tool{'' if count == 1 else 's'}", *groups]
    written = " ".join(owner.split())[:_MAX_NAME]
    called = f"`MCP.{identifier}`"
    return f"{called} ({'' if written == identifier else written + ': '}{', '.join(has)})"


_SPELLED = {"javascript": "JavaScript", "typescript": "TypeScript"}


def _namespace(own: NamespaceText) -> str:
    words = " ".join(part.strip() for part in (own.description, own.prompt) if part.strip())
    return f"- Namespace `{own.global_name}`{': ' + words if words else ''}"
