"""What a plugin is, how its tools are read, and how its probe is asked."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast, get_args

from msgspec import Struct

from codemode.config import ConfigError
from codemode.config.rules import shown
from codemode.contract.error_codes import HealthStatus
from codemode.executor.failures import clean_message, failure_of
from codemode.executor.host_code import ends_the_task
from codemode.gate.heartbeat import within
from codemode.tools import Tool, ToolError, as_tools
from codemode.tools.threads import call_in_thread

if TYPE_CHECKING:
    from codemode.namespaces import Namespace

_MAX_REASON = 300
_STATES = get_args(HealthStatus)


class PluginHealth(Struct, frozen=True):
    """How a plugin is, with a reason unless it is healthy."""

    status: HealthStatus = "healthy"
    reason: str = ""


# None: healthy. A text: degraded, for this reason. What it raises makes the plugin unavailable.
Probe = Callable[[], "Awaitable[PluginHealth | str | None] | PluginHealth | str | None"]


@dataclass(frozen=True, slots=True)
class Plugin:
    """One integration: `engine.register` and `engine.unregister` take it in and out while the engine runs.

    `tools` are what Engine takes as tools; each gets the source "plugin" and the plugin's id as its owner.
    `probe` says how the plugin is; it may be async, and an ordinary function runs in a thread.
    """

    id: str
    tools: Iterable[Any] = ()
    namespaces: Iterable[Namespace | Mapping[str, Any]] = ()
    probe: Probe | None = None


def tools_of(plugin: Plugin) -> tuple[Tool, ...]:
    """The plugin's tools under its own name. Raises ConfigError."""
    _check(plugin)
    return tuple(_adopted(plugin.id, tool) for tool in as_tools(plugin.tools))


def _check(plugin: object) -> None:
    if not isinstance(plugin, Plugin):
        raise ConfigError("plugin", f"must be a codemode.Plugin, not {shown(plugin)}.")
    name = plugin.id
    if not isinstance(cast("object", name), str) or not name.strip() or ":" in name:
        raise ConfigError("plugin.id", "is a text that is not blank and has no colon.")
    for part in ("tools", "namespaces"):
        found: object = getattr(plugin, part)
        if isinstance(found, str | Mapping) or not isinstance(found, Iterable):
            raise ConfigError(f"plugin.{name}.{part}", f"must be a list, not {shown(cast('object', found))}.")
    if plugin.probe is not None and not callable(plugin.probe):
        raise ConfigError(f"plugin.{name}.probe", f"must be a function, not {shown(plugin.probe)}.")


def _adopted(plugin_id: str, tool: Tool) -> Tool:
    match (tool.source, tool.owner):
        case ("plugin", owner) if owner == plugin_id:
            return tool
        case ("openclaw", "core"):  # it does not say whose it is
            return replace(tool, source="plugin", owner=plugin_id)
        case (source, owner):
            raise ConfigError(
                f"plugin.{plugin_id}.tools", f'"{tool.name}" says that it is {source}:{owner}:{tool.name}.'
            )


async def probe_plugin(plugin: Plugin, patience_seconds: float) -> PluginHealth:
    """Asks the plugin how it is. Whatever its probe does is an answer."""
    if plugin.probe is None:
        return PluginHealth()
    task = asyncio.current_task()
    try:
        async with within(patience_seconds):
            return _read_answer(await _called(plugin.id, plugin.probe))
    except TimeoutError:
        return PluginHealth("degraded", f"it did not answer within {patience_seconds:g} s")
    except BaseException as error:
        if ends_the_task(error, task):
            raise
        status: Any = error.status if isinstance(error, ToolError) else None
        reason = _short(failure_of(error).message)
        return PluginHealth(status if status in _STATES else "unavailable", reason)


async def _called(plugin_id: str, probe: Probe) -> object:
    if inspect.iscoroutinefunction(probe):
        return await probe()
    found: object = await call_in_thread(f"probe {plugin_id}", probe)
    return await found if inspect.isawaitable(found) else found


def _read_answer(found: object) -> PluginHealth:
    match found:
        case None:
            return PluginHealth()
        case str():
            return PluginHealth("degraded", _short(clean_message(found)))
        case PluginHealth(status, reason) if status in _STATES:
            return PluginHealth(status, _short(clean_message(str(reason))))
        case _:
            return PluginHealth("degraded", f"its probe answered with {shown(found)}")


def _short(reason: str) -> str:
    return reason if len(reason) <= _MAX_REASON else reason[: _MAX_REASON - 1] + "…"
