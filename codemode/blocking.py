"""The engine for code without an event loop: the same names, and each call blocks until its answer comes.

It is a thin front: one thread has one event loop, in which an ordinary Engine lives and makes every call.
"""

from __future__ import annotations

import asyncio
import functools
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from codemode.contract.events import Event
from codemode.contract.report import EngineStats
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import UNSAID, Scope, scope_of
from codemode.engine import Engine
from codemode.health import Health
from codemode.loop_thread import LoopThread
from codemode.runs.event_hub import Subscription
from codemode.runs.whole_run import OnWaiting, off_loop
from codemode.surface import PreparedRun
from codemode.tools import CallContext, Tool

if TYPE_CHECKING:
    from codemode.namespaces import Namespace
    from codemode.plugins import Plugin

_SESSION = UNSAID.session
P = ParamSpec("P")
T = TypeVar("T")


def _front(
    method: Callable[Concatenate[Engine, P], Coroutine[Any, Any, T]],
    *,
    needs_start: bool = False,
    then: Callable[[BlockingEngine, T], T] | None = None,
) -> Callable[Concatenate[BlockingEngine, P], T]:
    """Makes a method of Engine one that blocks, with its parameters and its docstring. Without `needs_start`,
    an engine that was never started answers it too."""

    @functools.wraps(method)
    def call(self: BlockingEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if needs_start:
            self.thread.require_start()
        found = self.thread.do(method(self.engine, *args, **kwargs))
        return found if then is None else then(self, found)

    return call


def _whole(
    method: Callable[Concatenate[Engine, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingEngine, P], T]:
    """The same for `run`. Its `on_waiting` may call the blocking engine, so it gets a thread of its own."""
    front = _front(method)

    @functools.wraps(method)
    def call(self: BlockingEngine, /, *args: P.args, **kwargs: P.kwargs) -> T:
        told = kwargs.get("on_waiting")
        if told is not None:
            kwargs["on_waiting"] = off_loop(cast("OnWaiting", told))
        return front(self, *args, **kwargs)

    return call


def _reachable(self: BlockingEngine, made: PreparedRun) -> PreparedRun:
    """Makes the model's exec and wait run in the engine's loop, for callers in any loop."""

    def hop(tool: Tool) -> Tool:
        async def run(arguments: dict[str, Any], context: CallContext) -> Any:
            async def here() -> Any:
                return await tool.run(arguments, context)

            return await asyncio.wrap_future(self.thread.begin(here()))

        return replace(tool, run=run) if tool.control else tool

    return msgspec.structs.replace(made, visible=tuple(hop(tool) for tool in made.visible))


class BlockingEngine:
    """`with BlockingEngine(...) as engine`; takes what Engine takes. Several threads may call it.

    Its own thread may not: an async tool, a hook or a handler that calls it gets a RuntimeError.
    """

    def __init__(self, tools: Iterable[Any] = (), config: object = True, **options: Any) -> None:
        self.engine = Engine(tools, config, **options)
        self.config = self.engine.config
        self.settings = self.engine.settings
        self.thread = LoopThread()
        self._turn = threading.Lock()  # start and close take turns

    def __enter__(self) -> BlockingEngine:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Blocking{repr(self.engine)[1:]}"

    def start(self) -> None:
        """Raises what Engine.start raises, and RuntimeError if the engine was started before."""
        self.thread.refuse_itself()
        with self._turn:
            self.thread.start()
            try:
                self.thread.do(self.engine.start())
            except BaseException:
                self.thread.stop()
                raise

    def close(self) -> None:
        """Closes the engine, if it runs here: not in a process that was forked since the start. Callers that
        still wait for a run get `aborted`."""
        if self.thread.is_elsewhere:
            return
        self.thread.refuse_itself()
        with self._turn:
            if self.thread.loop is not None:
                try:
                    self.thread.do(self.engine.close())
                finally:
                    self.thread.stop()

    prepare = _front(Engine.prepare, needs_start=True, then=_reachable)
    exec = _front(Engine.exec)
    wait = _front(Engine.wait)
    run = _whole(Engine.run)
    approve = _front(Engine.approve)
    deny = _front(Engine.deny)
    abort = _front(Engine.abort)
    abort_session = _front(Engine.abort_session)
    expire = _front(Engine.expire, needs_start=True)
    drain = _front(Engine.drain, needs_start=True)
    runs = _front(Engine.runs)
    run_info = _front(Engine.run_info)
    world = _front(Engine.world)
    reset = _front(Engine.reset)
    fork = _front(Engine.fork)
    export = _front(Engine.export)
    history = _front(Engine.history)
    run_report = _front(Engine.run_report)
    run_owner = _front(Engine.run_owner)
    list_runs = _front(Engine.list_runs)
    count_runs = _front(Engine.count_runs)
    approvals = _front(Engine.approvals)
    list_tools = _front(Engine.list_tools)
    describe_tool = _front(Engine.describe_tool)
    store_info = _front(Engine.store_info)
    trajectory = _front(Engine.trajectory)
    session_trajectory = _front(Engine.session_trajectory)
    sessions = _front(Engine.sessions)

    def stats(self) -> EngineStats:
        """Counts since the start, and the state now."""
        return self.thread.look(self.engine.stats)

    def health(self, *, probe: bool = False) -> Health:
        """The last known status: healthy, degraded or unavailable, and why. `probe=True` calls `probe()`."""
        return self.probe() if probe else self.thread.look(lambda: Health(self.engine.health()))

    def probe(self) -> Health:
        """The status after trying each part: a program in a worker, a snapshot, each MCP server."""
        return Health(self.thread.do(self.engine.probe()))

    def events(self, run_id: str | None = None) -> BlockingEvents:
        """The events from now on, of one run or of all. They end with the run, or when the engine closes."""
        self.thread.require_start()
        return BlockingEvents(self.thread, self.thread.look(lambda: self.engine.events(run_id)))

    def owner_here(self, run_id: str) -> Scope | None:
        """As `run_owner`, of a run that this engine knows now: without a look into the store."""
        return self.thread.look(lambda: self.engine.owner_here(run_id))

    def register(self, plugin: Plugin) -> None:
        """Adds the plugin's tools, namespaces and probe, or nothing of it. Raises ConfigError."""
        self.thread.look(lambda: self.engine.register(plugin))

    def unregister(self, plugin_id: str) -> None:
        """Takes the plugin out. Its calls under way go on. Raises ConfigError if there is no such plugin."""
        self.thread.look(lambda: self.engine.unregister(plugin_id))

    def plugins(self) -> tuple[str, ...]:
        """The ids of the plugins that are registered."""
        return self.engine.plugins()

    def register_namespace(self, plugin_id: str, namespace: Namespace | Mapping[str, Any]) -> None:
        self.thread.look(lambda: self.engine.register_namespace(plugin_id, namespace))

    def clear_namespaces(self, plugin_id: str) -> int:
        return self.thread.look(lambda: self.engine.clear_namespaces(plugin_id))


class BlockingEvents:
    """An iterator over events; BlockingEngine.events makes it. Several threads may share it: each event goes
    to one of them."""

    def __init__(self, thread: LoopThread, events: Subscription) -> None:
        self.run_id = events.run_id
        self._thread = thread
        self._events = events
        self._turn = threading.Lock()
        # only the hub's own thread may change its listeners, also when this object is collected
        weakref.finalize(self, _drop, thread.loop, events).atexit = False

    @property
    def dropped(self) -> int:
        """How many events were lost because no thread read them in time."""
        return self._events.dropped

    def __iter__(self) -> BlockingEvents:
        return self

    def __next__(self) -> Event:
        self._thread.refuse_itself()
        with self._turn:
            event = self._thread.do(self._next())
        if event is None:
            raise StopIteration
        return event

    async def _next(self) -> Event | None:
        return await anext(self._events, None)

    def close(self) -> None:
        """Ends the events, also for a thread that waits for one. Those that came before can still be read."""
        self._thread.look(self._events.close)


def _drop(loop: asyncio.AbstractEventLoop | None, events: Subscription) -> None:
    with suppress(RuntimeError):  # the loop is closed, and its hub with it
        if loop is not None:
            loop.call_soon_threadsafe(events.close)


def run(
    program: str | Mapping[str, Any],
    tools: Iterable[Any] = (),
    config: object = True,
    *,
    language: str | None = None,
    session: str = _SESSION,
    scope: Scope | None = None,
    on_waiting: OnWaiting | None = None,
    timeout: float | None = None,
    **options: Any,
) -> CodeModeResult:
    """Runs one program from start to end, like `Engine.run`, in an engine of its own. The result is `waiting`
    if neither `approve` nor `on_waiting` answers an approval.

    Tools and hooks see `session` or `scope`; `options` are those of Engine.
    """
    with BlockingEngine(tools, config, **options) as engine:
        who = scope_of(scope, session=session)
        return engine.run(program, language, scope=who, on_waiting=on_waiting, timeout=timeout)
