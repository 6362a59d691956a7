"""`tool` makes a tool of a Python function, which stays callable as a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar, cast, overload

from codemode.tools.context import CallContext
from codemode.tools.definition import Schema, Source, Tool, ToolFunction, ToolHints
from codemode.tools.signatures import FunctionPlan, plan_function
from codemode.tools.threads import call_in_thread

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class FunctionTool(Tool, Generic[P, R]):
    """Calling it from Python calls the function: no validation, no policy, no thread."""

    function: Callable[P, R] = field(kw_only=True)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)


@overload
def tool(
    function: Callable[P, R],
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Schema | None = None,
    returns: Schema | None = None,
    label: str | None = None,
    source: Source = "openclaw",
    owner: str = "core",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    requires_approval: bool = False,
    timeout_ms: int | None = None,
    concurrency: int | None = None,
    required_permissions: Sequence[str] = (),
) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Schema | None = None,
    returns: Schema | None = None,
    label: str | None = None,
    source: Source = "openclaw",
    owner: str = "core",
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    requires_approval: bool = False,
    timeout_ms: int | None = None,
    concurrency: int | None = None,
    required_permissions: Sequence[str] = (),
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = False,
    requires_approval: bool = False,
    timeout_ms: int | None = None,
    concurrency: int | None = None,
    required_permissions: Sequence[str] = (),
    **words: Any,
) -> Any:
    """Use as `@tool`, `@tool(name=…, read_only=True, …)` or `tool(function, name=…)`.

    Raises ToolDefinitionError. Arguments arrive under the parameters' names, converted to their types. A sync
    function runs in a thread.
    """
    hints = ToolHints(
        read_only,
        destructive,
        idempotent,
        requires_approval,
        _DEFAULTS.timeout_ms if timeout_ms is None else timeout_ms,
        _DEFAULTS.concurrency if concurrency is None else concurrency,
        cast("tuple[str, ...]", required_permissions),
    )
    make = partial(make_tool, hints=hints, local_names=_names_where_called(), **words)
    return make if function is None else make(function)


def make_tool(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Schema | None = None,
    returns: Schema | None = None,
    label: str | None = None,
    source: Source = "openclaw",
    owner: str = "core",
    hints: ToolHints | None = None,
    local_names: Mapping[str, Any] | None = None,
) -> FunctionTool[..., Any]:
    """What `tool` does, for adapters: reads everything that is not given from the function."""
    own_name = getattr(function, "__name__", type(function).__name__) if name is None else name
    plan = plan_function(own_name, function, local_names, parameters)
    return FunctionTool(
        own_name,
        plan.description if description is None else description,
        plan.parameters,
        _runner(own_name, function, plan),
        plan.returns if returns is None else returns,
        source,
        owner,
        label,
        _DEFAULTS if hints is None else hints,
        function=function,
    )


_DEFAULTS = ToolHints()


def _names_where_called() -> Mapping[str, Any]:
    """The local names of the code that calls `tool`, two frames up."""
    here = inspect.currentframe()
    above = here.f_back.f_back if here and here.f_back else None
    return dict(above.f_locals) if above else {}


def _runner(name: str, function: Callable[..., Any], plan: FunctionPlan) -> ToolFunction:
    async def run_async(arguments: dict[str, Any], context: CallContext) -> Any:
        positional, named = plan.bind(arguments, context)
        return await function(*positional, **named)

    async def run_sync(arguments: dict[str, Any], context: CallContext) -> Any:
        positional, named = plan.bind(arguments, context)
        value = await call_in_thread(name, partial(function, *positional, **named))
        return await value if inspect.isawaitable(value) else value

    called = function if inspect.isroutine(function) else getattr(function, "__call__", function)  # noqa: B004 - an object's method, not a test
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called)
    return run_async if is_async else run_sync
