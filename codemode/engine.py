"""The engine: exec and wait, by the contract. The main path of the project starts here.

    exec ─► inputs ─► Run + Environment ─► Leg ─► Worker … Guest, and back as a CodeModeResult

Every outcome that a caller or a program can provoke is a result object; exceptions are for misuse of the
engine itself. An engine belongs to one event loop, and leaves nothing behind when it is closed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemode_snapshots import NO_VALUE

from codemode.catalog.result_shapes import ResultShapes
from codemode.catalog.searches import Ranker, Searches
from codemode.config import CodeModeConfig, EngineSettings, Omission, load_config, load_settings
from codemode.config.engine_arguments import check_engine_arguments
from codemode.config.store_argument import StoreArgument, read_keys
from codemode.contract.inputs import InputRefused, read_caller, read_wait, require_enabled
from codemode.contract.report import EngineStats
from codemode.contract.results import CodeModeResult, Failed, failed
from codemode.contract.scope import UNSAID, Scope, scope_of
from codemode.executor import Approve, Audit
from codemode.health import Doctor, Health
from codemode.mcp.bridge import McpBridge
from codemode.otel import OpenTelemetry, open_spans
from codemode.plugins import Offering, Plugin, PluginRegistry
from codemode.plugins.control import PluginControl
from codemode.policy import read_allow
from codemode.runs.admission import Admission
from codemode.runs.adopt import Adopter
from codemode.runs.approval_bell import ApprovalBell
from codemode.runs.approvals import Approvals
from codemode.runs.caller_task import finish_despite_cancel
from codemode.runs.draining import Draining
from codemode.runs.engine_report import stats_of
from codemode.runs.event_hub import EventHub
from codemode.runs.execs import AskedRun, Execs
from codemode.runs.exports import Exports
from codemode.runs.forks import Forks
from codemode.runs.history import History
from codemode.runs.host_work import HostWork
from codemode.runs.in_flight import pending_bytes
from codemode.runs.kept_results import KeptResults
from codemode.runs.kept_shapes import KeptShapes
from codemode.runs.known_runs import KnownRuns
from codemode.runs.leg import Services
from codemode.runs.looks import Looks
from codemode.runs.loop_watch import LoopWatch
from codemode.runs.meter import Tally
from codemode.runs.questions import Questions
from codemode.runs.recorder import Recorder
from codemode.runs.resume import Resumer
from codemode.runs.run_control import RunControl
from codemode.runs.store_limits import store_limits
from codemode.runs.store_news import StoreNews
from codemode.runs.stored_runs import StoredRuns
from codemode.runs.time_travel import TimeTravel
from codemode.runs.trajectory_archive import TrajectoryArchive
from codemode.runs.waits import Waits
from codemode.runs.worlds import Worlds
from codemode.tools import CallContext, as_tools
from codemode.trajectory import Recording, Redactor
from codemode.trajectory.debug_log import configure_if_asked
from codemode.workers.errors import SupervisorError
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor

if TYPE_CHECKING:  # loaded at the first use
    from codemode.mcp.credentials import Credentials
    from codemode.mcp.oauth import Login
    from codemode.mcp.token_store import TokenStore
    from codemode.namespaces import Namespace
    from codemode.openapi.source import OpenApiSource
    from codemode.surface import PreparedRun
    from codemode.tool_search import ToolSearch

_log = logging.getLogger("codemode.engine")
_AGENT, _SESSION, _AGENT_RUN = UNSAID.agent, UNSAID.session, UNSAID.agent_run


class Engine(RunControl, TimeTravel, PluginControl):
    """`async with Engine(...) as engine`, then `exec` and `wait`."""

    def __init__(
        self,
        tools: Iterable[Any] = (),
        config: object = True,
        *,
        agent_config: object = None,
        settings: EngineSettings | Mapping[str, Any] | None = None,
        store: StoreArgument = None,
        store_key: bytes | Sequence[bytes] | None = None,
        mcp: Mapping[str, Any] | str | Path | None = None,
        openapi: Mapping[str, Any] | None = None,
        credentials: Credentials | None = None,
        mcp_login: Login | None = None,
        mcp_tokens: str | Path | TokenStore | None = None,
        policy: Mapping[str, Any] | None = None,
        hooks: Any = None,
        approve: Approve | None = None,
        audit: Audit | None = None,
        plugins: Iterable[Plugin] = (),
        namespaces: Mapping[str, Iterable[Namespace | Mapping[str, Any]]] | None = None,
        redact: bool | Redactor = True,
        ranker: Ranker | None = None,
        otel: bool | OpenTelemetry | None = None,
    ) -> None:
        """Raises ConfigError for a configuration or tool that cannot be used.

        `config` may be a host's whole document; a tool policy in it holds beside `policy`.
        `store` keeps suspended runs: a path or `sqlite:///` URL of a file, an object that implements
        `codemode_snapshots.RunStore` (its maker closes it), or None for memory. Engines on one store share
        its runs; they need the same `store_key`, or several: the first seals, all of them open.
        `openapi` makes tools of documents, by name: `{"petstore": {"document": path, "server": url}}`.
        `credentials(caller, server)` gives headers, variables or a token for one caller of an MCP server.
        `mcp_login(server, url)` shows a person a URL and gives the one they were sent back to; `mcp_tokens`
        keeps logins, a private file without it.
        `namespaces` are keyed by the plugin that owns them; `register` adds more `plugins` later.
        `redact` is for trajectories: True keeps shapes, False keeps values, a function decides one by one.
        `ranker` orders what searches find, for hosts that have embeddings; without it codemode does.
        `otel` tells OpenTelemetry of runs, calls and MCP requests (extra `otel`): True, or where and how.
        """
        configure_if_asked()
        given = (tools, store, store_key, hooks, approve, audit, namespaces, redact, plugins)
        check_engine_arguments(*given, ranker, credentials)
        self.config: CodeModeConfig = load_config(config, overlay=agent_config)
        self.settings: EngineSettings = load_settings(settings)
        self._omission = Omission(config, agent_config)
        self._apis = None if openapi is None else _open_apis(openapi)
        own = () if self._apis is None else self._apis.tools
        self._plugins = PluginRegistry((*as_tools(tools), *own))
        self._supervisor = Supervisor(WorkerSettings.of(self.config, self.settings))
        limits, percent = store_limits(self.config, self.settings), self.settings.session_share_percent
        keys, keep_ms = read_keys(store_key), self.config.snapshot_ttl_seconds * 1000
        self._stored = StoredRuns(store, limits, keys, percent, keep_ms)
        archive = TrajectoryArchive(self._stored, Recording(redact), self.settings)
        self._spans, content = open_spans(otel, self.stats), self.config.max_content_bytes
        bell = ApprovalBell(hooks)
        self._recorder = Recorder(Tally(), EventHub(), archive, audit, content, self._spans, bell)
        questions = Questions(
            lambda run_id: self._runs.get(run_id),
            self._recorder.approval_asked,
            self._recorder.approval_closed,
            approve,
            lambda run, work, asked: self._services.work.records.asked(run, work, asked, is_held=True),
        )
        told, changed = None if self._spans is None else self._spans.mcp, self._recorder.tools_changed
        self._mcp = McpBridge(mcp, questions.ask, told, credentials, changed, mcp_login, mcp_tokens)
        self._admission = Admission(
            self.config, self._plugins, policy, hooks, approve, self._recorder, self._mcp
        )
        for plugin in plugins:
            self.register(plugin)
        for plugin_id, own in (namespaces or {}).items():
            for namespace in own:
                self.register_namespace(plugin_id, namespace)
        work = HostWork(
            self.config,
            self._recorder,
            self._stored,
            questions,
            pending=pending_bytes(self.settings),
            searches=Searches(ranker),
            shapes=KeptShapes(ResultShapes(enabled=self.config.learn_result_shapes), self._stored),
        )
        runners = self._supervisor, self._stored
        self._worlds = Worlds(self.config, *runners)
        self._history = History(self.config, *runners)
        self._exports = Exports(self.config, *runners, keeps_values=redact is False)
        kept = self._worlds, self._history, self._exports
        self._services = Services(self.config, *runners, work, self._recorder, *kept)
        adopter = Adopter(self._services, self._admission)
        self._runs = KnownRuns(self._services, self._admission)
        self._news = StoreNews(self._services, self._runs)
        self._kept = KeptResults(self.config.snapshot_ttl_seconds)
        self._waits = Waits(self._runs, Resumer(self._services, adopter), self._recorder, self._kept)
        self._drain = Draining(self._runs, self._stored)
        self._execs = Execs(
            self._services, self._admission, self._runs, self._kept, self._unready, self._drain
        )
        self._looks = Looks(self._runs, self._stored, archive, self._kept)
        self._forks = Forks(self._services, self._runs, adopter)
        self._approvals = Approvals(self._runs, adopter, self._services)
        self._loop_watch = LoopWatch(self._recorder.loop_was_late)
        self._doctor = Doctor(self._supervisor, self._stored, self._mcp, self._plugins, self._loop_watch)
        self._start_failure: Failed | None = None
        self._closing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_open = False

    async def __aenter__(self) -> Engine:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<Engine {len(self._runs.all())} runs, {self._supervisor!r}>"

    async def start(self) -> None:
        """Opens the store and starts the workers. If those cannot start, the result of each exec says so."""
        if self._loop is not None:
            raise RuntimeError("An engine is started once. Make a new one.")
        self._loop = asyncio.get_running_loop()
        try:
            self._news.open(await self._stored.open(self._news.lose_lease, self._news.hear))
            self._start_failure, _ = await asyncio.gather(self._start_workers(), self._mcp.open())
        except BaseException:  # most likely cancelled: the caller will not close a half-open engine
            await finish_despite_cancel(self._shut())
            raise
        self._loop_watch.open()  # what starting loads is no stall of a run
        self._is_open = True

    async def _start_workers(self) -> Failed | None:
        if not self.config.enabled:
            return None
        try:
            await self._supervisor.start()
        except SupervisorError as error:
            _log.error("no worker can be started: %s", error)
            return failed("runtime_unavailable", f"The code runtime is not available: {error}")
        return None

    async def close(self) -> None:
        """Ends running runs. A durable store keeps suspended runs; others are dropped.

        The engine is closed when this returns, also for a caller that was cancelled or is not the first.
        Raises RuntimeError in another event loop than the engine's.
        """
        if self._closing is not None and self._closing.done():
            return
        if self._closing is None:
            if not self._is_open:
                return
            self._require_own_loop()
            self._is_open = False
            self._closing = asyncio.create_task(self._shut(), name="codemode close")
        self._require_own_loop()
        if await finish_despite_cancel(self._closing):
            raise asyncio.CancelledError

    async def _shut(self) -> None:
        self._loop_watch.close()
        await self._news.close()
        await self._approvals.settle()
        await self._runs.close("the engine was closed")
        await self._mcp.close()
        if self._apis is not None:
            await self._apis.close()
        await self._supervisor.close()
        await self._looks.past.flush()
        await self._stored.close()
        await self._recorder.close()

    def _unready(self) -> Failed | None:
        """Why nothing can run, or None. Raises RuntimeError in another event loop than the engine's."""
        if not self._is_open:
            state = "closed" if self._loop else "not started: use `async with Engine(...)`"
            return failed("aborted", f"The engine is {state}.")
        self._require_own_loop()
        return self._start_failure

    def _require_own_loop(self) -> None:
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError("An engine belongs to the event loop in which it was started.")

    # ---- exec and wait -------------------------------------------------------------------------------------

    async def prepare(
        self,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
        tools: Iterable[Any] = (),
        allow: Sequence[str] | None = None,
        disable_tools: bool = False,
        provider: str | None = None,
        model: str | None = None,
        context: CallContext | None = None,
    ) -> PreparedRun:
        """What the model sees in one run: exec and wait, in this scope; with code mode off, the tools."""
        from codemode.surface import PreparedRun, bound_to, surface_of

        caller = scope_of(scope, agent, session, agent_run)
        own, allowed = tuple(as_tools(tools)), read_allow(allow)
        if disable_tools or allowed == ():
            return PreparedRun(False, (), None)  # the host wants no tools
        await self._admission.prepare()
        who = {"scope": caller, "tools": own}
        run = {"allow": allowed, "provider": provider, "model": model, "context": context}
        offer = self._admission.offer  # kept, whatever is registered or unregistered later
        asked = (own, caller.agent, provider, model, allowed, context, offer)
        return surface_of(
            self._admission.effective(*asked),
            self.config,
            namespaces=partial(self._admission.namespace_texts, offer),
            servers=self._mcp.names,
            observed=await self._services.work.kept_shapes.for_session(caller.agent, caller.session),
            exec_run=bound_to(partial(self._exec, offer), who | run),
            wait_run=bound_to(self.wait, who),
            ordinary=lambda: self._admission.environment(*asked).executor,
            why_off=self._omission.tell(),
        )

    async def exec(
        self,
        given: str | Mapping[str, Any],
        language: str | None = None,
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
        tool_call: str = NO_VALUE,
        tools: Iterable[Any] = (),
        allow: Sequence[str] | None = None,
        provider: str | None = None,
        model: str | None = None,
        context: CallContext | None = None,
        request_id: str | None = None,
    ) -> CodeModeResult:
        """Runs a program: its text, or the input object as a host passes it on.

        `tools` are this run's own, beside the engine's; `allow` narrows both further than the policy does.
        Tools, hooks and the policy read the caller's facts in `context`. Sent again with the same
        `request_id`, to any engine on the store, it runs nothing: the result is that of the first time.
        """
        asked = AskedRun(scope, agent, session, agent_run, tool_call, tools, allow, provider, model, context)
        return await self._execs.exec(given, language, asked._replace(request_id=request_id))

    async def _exec(self, offer: Offering, given: Mapping[str, Any], **asked: Any) -> CodeModeResult:
        """For a prepared run: the same with the tools and namespaces that there were then."""
        return await self._execs.exec(given, None, AskedRun(**asked, offer=offer))

    async def wait(
        self,
        given: str | Mapping[str, Any],
        *,
        session: str = _SESSION,
        agent: str = _AGENT,
        agent_run: str = _AGENT_RUN,
        scope: Scope | None = None,
        tool_call: str = NO_VALUE,
        tools: Iterable[Any] = (),
    ) -> CodeModeResult:
        """Goes on with a suspended run, by its id or the input object {runId}. Cancelling the wait does not
        harm the run; for a while an ended run returns its result again.

        A run from another process needs its own `tools` again: snapshots hold no tools.
        """
        try:
            require_enabled(self.config)
            run_id = read_wait(given)
            caller = read_caller(scope, agent, session, agent_run, tool_call)
            if (unready := self._unready()) is not None:
                return unready
            own = tuple(as_tools(tools)) if tools else ()
            asked = "" if tool_call == NO_VALUE else tool_call
            await self._approvals.settle(run_id)
            return self._execs.noted(await self._waits.wait(run_id, caller, asked, own))
        except InputRefused as refused:
            return self._execs.refuse(refused.code, str(refused))

    # ---- Tool Search, looking in --------------------------------------------------------------------------

    def tool_search(self, config: object = True) -> ToolSearch:  # for models that do not use code mode
        from codemode.tool_search import ToolSearch as Made

        return Made(config, self, self._admission, self._services, self._runs)

    def stats(self) -> EngineStats:
        """Counts since the start, and the state now."""
        workers, loop = self._supervisor.stats(), self._loop_watch.stats()
        told = (workers, loop, self._mcp.stats(), self._drain.is_on)
        return stats_of(self._runs.all(), self._recorder.tally, *told)

    def health(self) -> Health:
        """The last known status: healthy, degraded or unavailable, and why. Runs no probe."""
        return self._doctor.look(lambda: (self._is_open, self._start_failure))

    async def probe(self) -> Health:
        """The status after trying each part: a program in a worker, a snapshot, each MCP server."""
        return await self.health()


def _open_apis(given: Mapping[str, Any]) -> OpenApiSource:
    """Loads only for engines that have some. Raises ConfigError."""
    from codemode.openapi.source import OpenApiSource

    return OpenApiSource(given)
