"""Checks the arguments of an Engine before anything else. Pure; raises ConfigError with the argument's name.

It checks arguments that no other module reads. Types alone do not help a host that is not type-checked: an
`approve` that is not callable would fail at the first approval; a `redact` of None would record every value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, cast

from codemode.config import ConfigError
from codemode.config.rules import shown
from codemode.config.store_argument import check_store, read_keys

_HOOKS = ("before_tool_call", "after_tool_call", "approval_opened", "approval_closed")


def check_engine_arguments(
    tools: object = (),
    store: object = None,
    store_key: object = None,
    hooks: object = None,
    approve: object = None,
    audit: object = None,
    namespaces: object = None,
    redact: object = True,
    plugins: object = (),
    ranker: object = None,
    credentials: object = None,
) -> None:
    """Raises ConfigError. The readers of tools and namespaces check what is inside those."""
    if not _is_list(tools):
        _refuse("tools", "a list of tools", tools)
    read_keys(store_key)
    check_store(store, store_key)
    if approve is not None and not callable(approve):
        _refuse("approve", "a function that takes an approval request, or None", approve)
    if audit is not None and not callable(audit):
        _refuse("audit", "a function that takes an audit event, or None", audit)
    if ranker is not None and not callable(ranker):
        _refuse("ranker", "a function that takes a SearchRequest and gives ids, or None", ranker)
    if credentials is not None and not callable(credentials):
        _refuse("credentials", "a function that takes a caller and a server's name, or None", credentials)
    if not isinstance(redact, bool) and not callable(redact):
        _refuse("redact", "True (shapes), False (values) or a function that decides for each value", redact)
    if not _is_list(plugins):
        _refuse("plugins", "a list of plugins", plugins)
    _check_hooks(hooks)
    _check_namespaces(namespaces)


def _check_hooks(hooks: object) -> None:
    several = cast("Iterable[object]", hooks) if isinstance(hooks, list | tuple) else (hooks,)
    for hook in several:
        if hook is None:
            continue
        found = [getattr(hook, name, None) for name in _HOOKS]
        if not any(found) or any(part is not None and not callable(part) for part in found):
            wanted = f"an object with some of the methods {', '.join(_HOOKS)}, or a list of them"
            _refuse("hooks", wanted, hook)


def _check_namespaces(namespaces: object) -> None:
    if namespaces is None:
        return
    if not isinstance(namespaces, Mapping):
        _refuse("namespaces", "an object from plugin ids to lists of namespaces", namespaces)
    for plugin_id, own in cast("Mapping[object, object]", namespaces).items():
        if not _is_words(plugin_id):
            _refuse("namespaces", "under plugin ids, which are strings", plugin_id)
        if not _is_list(own):
            _refuse(f"namespaces.{str(plugin_id)[:80]}", "a list of namespaces", own)


def _is_list(value: Any) -> bool:
    """Whether it is iterable; a single text or object comes from a host that forgot the brackets."""
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _is_words(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _refuse(argument: str, wanted: str, given: object) -> NoReturn:
    raise ConfigError(argument, f"must be {wanted}, not {shown(given)}.")
