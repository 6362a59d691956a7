"""The methods of the JSON-RPC backend: what each takes, and which method of the engine it calls.

A model's mistakes are in `input`, which goes to the engine unchanged and comes back as a result; a host's
mistakes are errors of the protocol.
"""

from __future__ import annotations

import asyncio
from typing import Any

from codemode_snapshots.label import NO_VALUE
from msgspec import Raw, Struct, field

import codemode
from codemode.config import ConfigError
from codemode.contract.results import CodeModeResult
from codemode.contract.scope import Scope
from codemode.engine import Engine
from codemode.executor import ApprovalRequest, Decision
from codemode.runs.event_hub import Subscription
from codemode.serve.json_rpc import messages as rpc
from codemode.serve.json_rpc.host_tools import HostToolSpec, ask_host, host_tools
from codemode.serve.json_rpc.messages import RpcError
from codemode.serve.json_rpc.peer import MAX_REQUESTS, Handler, Peer
from codemode.surface import Provider, render_tools
from codemode.tools import CallContext, Tool
from codemode.trajectory.payload_log import log_payload

PROTOCOL_VERSION = 1


class _Params(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    pass


class Initialize(_Params, frozen=True, kw_only=True):
    protocol_version: int
    client: dict[str, Any] = field(default_factory=dict[str, Any])
    tools: list[HostToolSpec] = field(default_factory=list[HostToolSpec])
    events: bool = False
    approvals: bool = False


class _Scoped(_Params, frozen=True, kw_only=True):
    session: str = "default"
    agent: str = "main"
    agent_run: str = NO_VALUE

    @property
    def scope(self) -> Scope:
        return Scope(self.agent, self.session, self.agent_run)


class Context(_Params, frozen=True, kw_only=True):
    """What tools and hooks learn about the caller."""

    session_key: str = ""
    sender: str = ""
    channel: str = ""
    sandbox: str = ""


class Prepare(_Scoped, frozen=True, kw_only=True):
    tools: list[HostToolSpec] = field(default_factory=list[HostToolSpec])
    allow: list[str] | None = None
    disable_tools: bool = False
    provider: str | None = None
    model: str | None = None
    context: Context | None = None
    format: Provider = "mcp"


class _Leg(_Scoped, frozen=True, kw_only=True):
    """What exec and wait share. With `for_model` the result brings what to hand to a model."""

    input: Any
    for_model: bool = False
    tool_call: str = NO_VALUE
    tools: list[HostToolSpec] = field(default_factory=list[HostToolSpec])

    def answer(self, result: CodeModeResult) -> Any:
        return result.to_dict() | {"forModel": result.for_model()} if self.for_model else result


class Exec(_Leg, frozen=True, kw_only=True):
    allow: list[str] | None = None
    provider: str | None = None
    model: str | None = None
    context: Context | None = None


class Wait(_Leg, frozen=True, kw_only=True):
    pass


class Abort(_Scoped, frozen=True, kw_only=True):
    run_id: str


class RunInfoParams(Abort, frozen=True, kw_only=True):
    pass


class AbortSession(_Params, frozen=True, kw_only=True):
    session: str
    agent: str = "main"


class Approve(_Scoped, frozen=True, kw_only=True):
    run_id: str
    approval_id: str


class Deny(Approve, frozen=True, kw_only=True):
    reason: str = ""


class HealthParams(_Params, frozen=True, kw_only=True):
    probe: bool = False


class Runs(_Params, frozen=True, kw_only=True):
    session: str | None = None


class Methods:
    """Handles the requests of a host; one per connection. `connect` follows: a peer needs handlers first."""

    def __init__(self, engine: Engine, max_message_bytes: int) -> None:
        self._engine = engine
        self._max_message_bytes = max_message_bytes
        self._peer: Peer | None = None
        self._standing: list[Tool] = []
        self._started: Initialize | None = None
        self.events: asyncio.Task[None] | None = None

    def connect(self, peer: Peer) -> None:
        self._peer = peer

    @property
    def handlers(self) -> dict[str, Handler]:
        return {
            "initialize": self._initialize,
            "prepare": self._prepare,
            "exec": self._exec,
            "wait": self._wait,
            "abort": self._abort,
            "abortSession": self._abort_session,
            "approve": self._approve,
            "deny": self._deny,
            "health": self._health,
            "stats": self._stats,
            "runs": self._runs,
            "runInfo": self._run_info,
            "shutdown": self._shutdown,
        }

    async def decide(self, request: ApprovalRequest) -> Decision | None:
        """The engine's approve handler: asks the host if it wants to be asked."""
        if self._peer is None or self._started is None or not self._started.approvals:
            return None
        return await ask_host(self._peer, request)

    # ---- the methods ---------------------------------------------------------------------------------------

    async def _initialize(self, given: Raw) -> Any:
        if self._started is not None:
            raise RpcError(rpc.INVALID_REQUEST, "this connection is initialized already")
        params = rpc.read_params(given, Initialize)
        if params.protocol_version != PROTOCOL_VERSION:
            raise RpcError(
                rpc.UNSUPPORTED_VERSION,
                f"this engine speaks protocol version {PROTOCOL_VERSION}",
                {"supported": [PROTOCOL_VERSION]},
            )
        self._standing = host_tools(self._host, params.tools)
        self._started = params
        if params.events:
            # listens from here on: requests that came with this one may start before the task does
            forwarding = self._forward(self._engine.events())
            self.events = asyncio.create_task(forwarding, name="codemode rpc events")
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "server": {"name": "codemode", "version": codemode.__version__},
            "limits": {"maxMessageBytes": self._max_message_bytes, "maxRequests": MAX_REQUESTS},
            "config": self._engine.config.to_dict(),
        }

    async def _prepare(self, given: Raw) -> Any:
        params = self._read(given, Prepare)
        with _config_errors():
            prepared = await self._engine.prepare(
                scope=params.scope,
                tools=self._tools(params.tools),
                allow=params.allow,
                disable_tools=params.disable_tools,
                provider=params.provider,
                model=params.model,
                context=_context(params),
            )
        shown = render_tools(prepared.visible, params.format)
        log_payload({"tools": shown}, "the JSON-RPC host")
        return {
            "active": prepared.active,
            "tools": shown,
            "prompt": prepared.prompt,
            "warnings": prepared.warnings,
        }

    async def _exec(self, given: Raw) -> Any:
        params = self._read(given, Exec)
        with _config_errors():
            result = await self._engine.exec(
                params.input,
                scope=params.scope,
                tool_call=params.tool_call,
                tools=self._tools(params.tools),
                allow=params.allow,
                provider=params.provider,
                model=params.model,
                context=_context(params),
            )
        return params.answer(result)

    async def _wait(self, given: Raw) -> Any:
        params = self._read(given, Wait)
        with _config_errors():
            result = await self._engine.wait(
                params.input, scope=params.scope, tool_call=params.tool_call, tools=self._tools(params.tools)
            )
        return params.answer(result)

    async def _abort(self, given: Raw) -> Any:
        params = self._read(given, Abort)
        return {"aborted": await self._engine.abort(params.run_id, scope=params.scope)}

    async def _abort_session(self, given: Raw) -> Any:
        params = self._read(given, AbortSession)
        return {"aborted": await self._engine.abort_session(params.session, agent=params.agent)}

    async def _approve(self, given: Raw) -> Any:
        params = self._read(given, Approve)
        done = await self._engine.approve(params.run_id, params.approval_id, scope=params.scope)
        return {"decided": done}

    async def _deny(self, given: Raw) -> Any:
        params = self._read(given, Deny)
        done = await self._engine.deny(
            params.run_id, params.approval_id, reason=params.reason, scope=params.scope
        )
        return {"decided": done}

    async def _health(self, given: Raw) -> Any:
        is_probed = self._read(given, HealthParams).probe
        return await self._engine.probe() if is_probed else self._engine.health()

    async def _stats(self, given: Raw) -> Any:
        self._read(given, _Params)
        return self._engine.stats()

    async def _runs(self, given: Raw) -> Any:
        return {"runs": await self._engine.runs(self._read(given, Runs).session)}

    async def _run_info(self, given: Raw) -> Any:
        params = self._read(given, RunInfoParams)
        return {"run": await self._engine.run_info(params.run_id, scope=params.scope)}

    async def _shutdown(self, given: Raw) -> Any:
        rpc.read_params(given, _Params)
        return {}

    # ---- helpers -------------------------------------------------------------------------------------------

    @property
    def _host(self) -> Peer:
        assert self._peer is not None, "requests come through the peer"
        return self._peer

    def _read(self, given: Raw, shape: type[rpc.T]) -> rpc.T:
        if self._started is None:
            raise RpcError(rpc.NOT_INITIALIZED, "send initialize first")
        return rpc.read_params(given, shape)

    def _tools(self, own: list[HostToolSpec]) -> list[Tool]:
        return [*self._standing, *host_tools(self._host, own)]

    async def _forward(self, events: Subscription) -> None:
        async for event in events:
            await self._host.tell("event", event.to_dict())


def _context(params: Prepare | Exec) -> CallContext | None:
    told = params.context
    if told is None:
        return None
    return CallContext(
        session_key=told.session_key, sender=told.sender, channel=told.channel, sandbox=told.sandbox
    )


class _config_errors:
    """Tells the host what it has to correct: two tools under one id, an invalid allowlist."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ConfigError):
            raise RpcError(rpc.INVALID_PARAMS, str(error)) from None
