"""The connection to one MCP server: opens it, lists and calls tools, and opens it again after a loss.

One task must enter and leave the SDK's contexts, so each link has a keeper task that lives as long as the
link and holds the connection; calls come from other tasks and only send requests. If the server cannot be
asked, the call fails with an McpError, and nothing else fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

from codemode.executor.approvals import Ask
from codemode.executor.failures import clean_message
from codemode.gate.heartbeat import Alarm, within
from codemode.gate.lane import lane
from codemode.mcp.budget import Counts, Overspent
from codemode.mcp.credentials import Secrets, with_credentials
from codemode.mcp.elicitation import Asking
from codemode.mcp.intake import Intake
from codemode.mcp.listing import Listing
from codemode.mcp.requests import ConnectionLost, Unreachable, list_tools, send
from codemode.mcp.results import McpError
from codemode.mcp.servers import Http, Server, Stdio
from codemode.mcp.transports import open_http, open_stdio
from codemode.tools import CallContext, Tool

if TYPE_CHECKING:  # the first connection loads them
    import anyio
    import httpx2
    from mcp import Client
    from mcp.client._transport import TransportStreams

    from codemode.otel.mcp_spans import McpSpans

_log = logging.getLogger("codemode.mcp")

_FIRST_PAUSE_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 30.0
_STEADY_SECONDS = 30.0
_FIRST_LIST_PAUSE_SECONDS = 0.25  # between two readings of a list that changes
_MAX_LIST_PAUSES = 8  # the longest is a minute


Route = Callable[[CallContext], Awaitable["Link"]]


class LinkState(Enum):
    IDLE = "not connected yet"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    LOST = "lost"  # the next call connects it again
    FAILED = "failed"  # the last attempt failed; the next one follows after a pause


class Link:
    """`start` it, call through its `tools`, then `close` it."""

    def __init__(
        self, server: Server, on_change: Callable[[], None], ask: Ask, spans: McpSpans | None = None
    ) -> None:
        self.server = server
        self.state = LinkState.IDLE
        self.problem = ""
        self.tools: tuple[Tool, ...] = ()
        self.counts = Counts()
        self._listing = Listing(server, self._send)
        self._on_change = on_change
        self._spans = spans
        self.on_redefined: Callable[[str, Sequence[str]], None] = _unheard
        self.route: Route | None = None  # whose connection a call takes; without it this one
        self.credentials: Callable[[], Awaitable[Mapping[str, str]]] | None = None  # of the engine itself
        self.login: Callable[[Http], Awaitable[httpx2.Auth | None]] | None = None
        self._secrets = Secrets(_authorization(server))
        self._asking = Asking(server.name, ask)
        self._turns = asyncio.Semaphore(server.concurrency)
        self._keeper: asyncio.Task[None] | None = None
        self._scope: anyio.CancelScope | None = None
        self._client: Client | None = None
        self._attempted = asyncio.Event()  # the attempt that is due or under way has ended
        self._wanted = asyncio.Event()  # a call waits for a connection
        self._news = asyncio.Event()  # the connection is lost, or the tools have changed
        self._is_stale = False
        self._is_lost = False
        self._is_offender = False  # the connection was ended because the server sent too much

    def __repr__(self) -> str:
        return f"<Link {self.server.name} {self.state.value}>"

    @property
    def is_idle(self) -> bool:
        return self._keeper is None

    @property
    def is_busy(self) -> bool:
        return self._asking.is_busy

    def keep_secret(self, given: Mapping[str, str]) -> None:
        """What this connection carries and nobody may read in what its server says."""
        self._secrets = Secrets(given)

    def start(self) -> None:
        if self._keeper is None:
            self.state = LinkState.CONNECTING
            self._keeper = asyncio.create_task(self._keep(), name=f"codemode mcp {self.server.name}")

    async def attempted(self) -> None:
        """Returns when the attempt under way has ended, connected or not."""
        await self._attempted.wait()

    async def close(self) -> None:
        """Returns when no process, task or connection is left."""
        if self._keeper is None:
            return
        if self._scope is None:  # the keeper has not begun yet
            self._keeper.cancel()
        else:
            self._scope.cancel()
        await asyncio.gather(self._keeper, return_exceptions=True)

    async def probe(self, patience_seconds: float) -> None:
        """Asks the server for its tools, connecting first if needed; `problem` then tells the outcome."""
        try:
            async with within(patience_seconds):
                await list_tools(await self._connected(), self.server.name)
                self.problem = ""
        except TimeoutError:
            self.problem = f"it did not answer within {patience_seconds:g} s"
        except ConnectionLost as error:
            self._note_loss(str(error))
        except McpError as error:
            self.problem = self.problem or str(error)

    # ---- calls ---------------------------------------------------------------------------------------------

    async def _send(self, method: str, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        """By the connection of whoever calls. What it says of their secrets ends here."""
        link = self if self.route is None else await self.route(context)
        try:
            result = await link._deliver(method, params, context)
        except McpError as error:
            raise link._secrets.strike_error(error) from None
        return link._secrets.strike_result(result)

    async def _deliver(self, method: str, params: dict[str, Any], context: CallContext) -> dict[str, Any]:
        async with self._turns:
            client = await self._connected()
            with self._asking.during(context) as asking:
                try:
                    if self._spans is None:
                        return await send(client, self.server.name, method, params, context, asking)
                    place, version = self.server.transport, client.protocol_version
                    url = None if isinstance(place, Stdio) else place.url
                    with self._spans.request(self.server.name, url, version, method, params) as span:
                        result = await send(client, self.server.name, method, params, context, asking)
                        if result.get("isError"):
                            self._spans.tool_failed(span)
                        return result
                except ConnectionLost as error:
                    self._note_loss(str(error))
                    raise ConnectionLost(self._told("was lost")) from None

    async def _connected(self) -> Client:
        self.start()
        if self.state is LinkState.FAILED:
            raise Unreachable(self._told("cannot be reached"))
        if self._client is None or self._is_lost:
            self._wanted.set()
            await self._attempted.wait()
        if self._client is None:
            raise Unreachable(self._told("cannot be reached"))
        return self._client

    def _told(self, what: str) -> str:
        """For a program. The problem may be what an exception said, which may name files of this machine."""
        return f"the MCP server {self.server.name} {what}: {clean_message(self.problem)}"

    # ---- the keeper ----------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        import anyio

        loop = asyncio.get_running_loop()
        failures = 0
        with anyio.CancelScope() as self._scope:
            while True:
                self._is_lost, self._is_stale, self._is_offender = False, False, False
                self.state = LinkState.CONNECTING
                began = loop.time()
                was_connected = await self._live_once()
                if was_connected and loop.time() - began > _STEADY_SECONDS and not self._is_offender:
                    failures = 0
                pause = min(_MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**failures)
                failures += 1
                _log.warning("the MCP server %s: %s", self.server.name, self.problem)
                if was_connected:
                    with anyio.move_on_after(pause):
                        await self._wanted.wait()
                else:
                    await asyncio.sleep(pause)
                    self._attempted.clear()
                self._wanted.clear()

    async def _live_once(self) -> bool:
        """Keeps one connection from the attempt to its end. Returns whether it was ever connected."""
        import anyio

        was_connected = False
        try:
            # the SDK's scopes open inside this one and outlive the attempt, so its alarm is taken away
            with anyio.CancelScope() as attempt, self._patience(attempt) as alarm:
                async with self._open() as client:
                    tools = await list_tools(client, self.server.name)
                    alarm.cancel()
                    was_connected = True
                    await self._take(tools)
                    self._begin(client)
                    async with self._asking.listening(client, self._note_change):
                        await self._serve(client)
            if attempt.cancelled_caught:
                self.problem = f"it did not answer within {self.server.connect_timeout_ms / 1000:g} s"
        except Exception as error:  # a server or the SDK failed: that is the reason to tell, not our failure
            if not self._is_lost:
                self.problem = self._secrets.strike(_reason(error))
            _log.debug("the connection to %s ended: %s", self.server.name, type(error).__name__)
        finally:
            self._client = None
            was_connected = was_connected and not self._is_offender  # then no call may hurry the next attempt
            self.state = LinkState.LOST if was_connected else LinkState.FAILED
            if was_connected:
                self._attempted.clear()
            else:
                self._attempted.set()
        return was_connected

    @contextmanager
    def _patience(self, attempt: anyio.CancelScope) -> Generator[Alarm]:
        alarm = Alarm(self.server.connect_timeout_ms / 1000, attempt.cancel)
        try:
            yield alarm
        finally:
            alarm.cancel()

    def _begin(self, client: Client) -> None:
        self._client, self.state, self.problem = client, LinkState.CONNECTED, ""
        self._wanted.clear()
        self._attempted.set()

    async def _serve(self, client: Client) -> None:
        """Returns when the connection is lost. Runs that start after a new list use it.

        However often the server says that its list has changed, it is read at most once in a pause, and the
        pauses grow as long as it goes on.
        """
        import anyio

        loop = asyncio.get_running_loop()
        pauses, again = 0, 0.0  # when it may be read again
        while not self._is_lost:
            await self._news.wait()
            self._news.clear()
            if not self._is_stale or self._is_lost:
                continue
            with anyio.move_on_after(max(0.0, again - loop.time())):
                await self._lost()
            if self._is_lost:
                return
            self._is_stale = False
            try:
                async with within(self.server.connect_timeout_ms / 1000):
                    await self._take(await list_tools(client, self.server.name))
            except (McpError, TimeoutError) as error:
                _log.warning("%s: its new tool list cannot be read: %s", self.server.name, error)
            pauses = 0 if loop.time() - again > _STEADY_SECONDS else min(pauses + 1, _MAX_LIST_PAUSES)
            again = loop.time() + _FIRST_LIST_PAUSE_SECONDS * 2**pauses

    async def _lost(self) -> None:
        while not self._is_lost:
            await self._news.wait()
            self._news.clear()

    async def _take(self, tools: list[dict[str, Any]]) -> None:
        steps = self._listing.steps(tools)
        found: tuple[Tool, ...] | None = None
        while found is None:
            found = await lane().run(lambda: _next(steps), self.server.name)
        if found != self.tools:
            self.tools = found
            self._on_change()
        if self._listing.changed:
            _log.warning(
                "%s has changed its tools: %.300s", self.server.name, ", ".join(self._listing.changed)
            )
            self.on_redefined(self.server.name, self._listing.changed)

    def _note_change(self) -> None:
        self._is_stale = True
        self._news.set()

    def _note_loss(self, problem: str | Overspent) -> None:
        """From now on calls wait for the next connection and do not try this one."""
        if not self._is_lost:
            self._is_lost, self.problem = True, str(problem)
            self._is_offender = isinstance(problem, Overspent)
            self._attempted.clear()
            self._news.set()

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[Client]:
        from mcp import Client

        async with Client(
            self._transport(),
            cache=None,
            elicitation_callback=self._asking.on_elicitation,
        ) as client:
            yield client

    @asynccontextmanager
    async def _transport(self) -> AsyncGenerator[TransportStreams]:
        server = self.server
        if self.credentials is not None:
            given = await self.credentials()
            server = with_credentials(server, given)
            self.keep_secret({**_authorization(self.server), **given})
        transport = server.transport
        intake = Intake(self.server.name, self.counts, self._note_change)
        if isinstance(transport, Stdio):
            async with open_stdio(self.server.name, transport, intake, self._note_loss) as streams:
                yield streams
        else:
            auth = None if self.login is None else await self.login(transport)
            async with open_http(self.server.name, transport, intake, self._note_loss, auth) as streams:
                yield streams


def _unheard(server: str, names: Sequence[str]) -> None:
    """Nobody has asked."""


def _authorization(server: Server) -> dict[str, str]:
    """The configured secret, as far as one can tell which it is."""
    if isinstance(server.transport, Stdio):
        return {}
    return {
        name: value for name, value in server.transport.headers.items() if name.lower() == "authorization"
    }


def _next(steps: Generator[None, None, tuple[Tool, ...]]) -> tuple[Tool, ...] | None:
    """One step; the tools after the last one."""
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    return None


def _reason(error: BaseException) -> str:
    """The first exception of a group, in one line."""
    first = error
    while isinstance(first, BaseExceptionGroup):
        first = cast("BaseExceptionGroup[BaseException]", first).exceptions[0]
    text = next(iter(str(first).splitlines()), "") or type(first).__name__
    return text[:300]
