"""`exec` and `wait` as the two tools of an MCP server: lists them, calls them, keeps clients' runs apart."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any

import msgspec

from codemode.catalog import Catalog
from codemode.contract.for_model import content_of, for_model
from codemode.contract.results import CodeModeResult, Waiting
from codemode.engine import Engine
from codemode.gate.unseen import Unseen
from codemode.serve.mcp.asking import ApprovalTexts, can_elicit
from codemode.serve.mcp.blocks import mcp_block
from codemode.serve.mcp.exchange import Exchange, ExchangeState
from codemode.serve.mcp.tasks import RunTasks
from codemode.surface import check_payload, describe_exec, exec_tool, render_tools, wait_tool
from codemode.tools import Tool
from codemode.trajectory.payload_log import log_payload

if TYPE_CHECKING:  # loaded when it is served
    from mcp import types
    from mcp.server.context import ServerRequestContext

_NOBODY_CAN = (
    "A call waits for an approval. This client cannot ask its user (it has no elicitation), so the call "
    "stays undecided until the run expires, unless an approval handler of the server decides it."
)
_PUT_ASIDE = "A call waits for an approval that the user has put aside. `wait` asks again."


class Front:
    """The tools of one server, for all its clients. `stdio_session` names the one client of a pipe."""

    def __init__(self, engine: Engine, asked: ApprovalTexts, stdio_session: str | None = None) -> None:
        self._engine = engine
        self._asked = asked
        self._held: Unseen[Waiting] = Unseen()
        self.tasks = RunTasks(engine, asked, self._call_result)
        self._stdio_session = stdio_session or f"mcp-stdio-{secrets.token_hex(16)}"

    async def list_tools(
        self, context: ServerRequestContext[Any, Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        from mcp import types

        shown = render_tools(await self._visible(self.session_of(context)), "mcp")
        log_payload({"tools": shown}, "the MCP server")
        check_payload({"tools": shown})  # no client ever sees anything else
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in shown])

    async def _visible(self, session: str) -> tuple[Tool, ...]:
        """exec and wait, also while there is no tool to call: a server behind this one may come up later."""
        prepared = await self._engine.prepare(session=session)
        if prepared.active:
            return prepared.visible
        config = self._engine.config
        description = describe_exec(
            Catalog(()),
            languages=config.languages,
            max_pending_calls=config.max_pending_tool_calls,
            keeps=config.session_state == "keep",
        )
        return exec_tool(description, config.languages), wait_tool()

    async def call_tool(
        self, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
    ) -> Any:
        """A result, a question (since 2026), or a task, which the SDK has no type for."""
        from mcp import MCPError, types

        exchange = Exchange(self._engine, self._asked, self._held, context, self.session_of(context))
        arguments = params.arguments or {}
        if params.name not in ("exec", "wait"):
            text = f"Unknown tool {params.name[:80]!r}: this server has exec and wait."
            raise MCPError(types.INVALID_PARAMS, text)
        if params.request_state is not None:
            state = msgspec.json.decode(params.request_state, type=ExchangeState)
            result = await exchange.answered(state, dict(params.input_responses or {}))
        elif self.tasks.is_known_to(context):
            return await self.tasks.begin(context, params.name, arguments, self.session_of(context))
        elif params.name == "exec":
            result = await exchange.exec(arguments)
        else:
            result = await exchange.wait(arguments)
        if isinstance(result, types.InputRequiredResult):
            return result
        return self._call_result(result, can_elicit(context))

    def _call_result(self, result: CodeModeResult, can_ask: bool) -> types.CallToolResult:
        """What the model sees, twice: as data, and as text for clients that show only text to the model."""
        from mcp import types

        whole = result.to_dict()
        shown = for_model(whole)
        texts = [msgspec.json.encode(shown).decode()]
        if isinstance(result, Waiting) and result.reason == "approval":
            texts.append(_PUT_ASIDE if can_ask else _NOBODY_CAN)
        words: list[types.ContentBlock] = [types.TextContent(text=text) for text in texts]
        return types.CallToolResult(
            content=[*words, *(mcp_block(item) for item in content_of(whole["output"]))],
            structured_content=shown,
            is_error=result.status == "failed",
        )

    def session_of(self, context: ServerRequestContext[Any, Any]) -> str:
        """The engine's session for the sender. HTTP session ids are secrets: the server keeps their digests.

        Since 2026 HTTP has no sessions: there a client owns a run by its id, which nobody can guess. Behind a
        proxy that authenticates, the credentials tell clients apart as well.
        """
        from mcp.types.version import MODERN_PROTOCOL_VERSIONS

        headers = None if context.request is None else context.request.headers
        if headers is None:
            return self._stdio_session
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return session_name(headers["mcp-session-id"])
        credentials = headers.get("authorization")
        return "mcp-stateless" if credentials is None else f"mcp-stateless-{_digest(credentials)}"


def session_name(session_id: str) -> str:
    """The engine's session for an HTTP session, as clients before 2026 have one."""
    return f"mcp-http-{_digest(session_id)}"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()[:32]
