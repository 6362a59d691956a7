"""One `tools/call` of a client, from its arguments to its result, with the questions in between.

A client that cancels the call aborts the run. The last result also has the output from before a question.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from codemode.contract.results import CodeModeResult, Output, PendingCall, Waiting
from codemode.engine import Engine
from codemode.executor import Decision
from codemode.gate.unseen import Unseen
from codemode.runs.caller_task import finish_despite_cancel
from codemode.serve.mcp.asking import (
    ApprovalTexts,
    ask_now,
    can_elicit,
    decision_of,
    open_approvals,
    question,
)
from codemode.serve.mcp.progress import progress_told

if TYPE_CHECKING:  # loaded when it is served
    from mcp import types
    from mcp.server.context import ServerRequestContext


class ExchangeState(Struct, frozen=True, forbid_unknown_fields=True):
    """State that the client sends back with its answers. It is sealed: a client cannot change it."""

    run_id: str
    asked: list[str]  # approval ids; an answer's key is its position here
    aside: list[str]  # approvals that the person did not want to decide


@dataclass(slots=True)
class Exchange:
    """Serves one request of one session."""

    engine: Engine
    asked: ApprovalTexts
    held: Unseen[Waiting]
    context: ServerRequestContext[Any, Any]
    session: str
    aside: list[str] = field(default_factory=list[str])

    async def exec(self, arguments: dict[str, Any]) -> CodeModeResult | types.InputRequiredResult:
        call = f"call_{secrets.token_hex(8)}"
        async with progress_told(self.context, self.engine, call, None):
            result = await self.engine.exec(arguments, session=self.session, tool_call=call)
            return await self._shown(result)

    async def wait(self, arguments: dict[str, Any]) -> CodeModeResult | types.InputRequiredResult:
        run_id = arguments.get("runId")
        if not isinstance(run_id, str):
            return await self.engine.wait(arguments, session=self.session)
        async with progress_told(self.context, self.engine, "", run_id):
            return await self._shown(await self.engine.wait(arguments, session=self.session))

    async def answered(
        self, state: ExchangeState, answers: dict[str, Any]
    ) -> CodeModeResult | types.InputRequiredResult:
        """Serves the second call, which has the person's answers: goes on where the first one stopped."""
        held = self.held.take(self.session, state.run_id)
        self.aside = list(state.aside)
        decisions = [decision_of(answers.get(str(place))) for place in range(len(state.asked))]
        has_decided = False
        for approval_id, decision in zip(state.asked, decisions, strict=True):
            has_decided |= await self._decide(state.run_id, approval_id, decision)
        if held is not None and not has_decided:
            return held
        async with progress_told(self.context, self.engine, "", state.run_id):
            return await self._shown(await self._go_on(state.run_id, held.output if held else ()))

    async def _shown(self, result: CodeModeResult) -> CodeModeResult | types.InputRequiredResult:
        """Asks about each open approval, then returns the result."""
        from mcp.types.version import MODERN_PROTOCOL_VERSIONS

        while isinstance(result, Waiting) and can_elicit(self.context) and self._has_room(result):
            calls = open_approvals(result, self.aside)
            if not calls:
                break
            if self.context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                return self._input_required(result, calls)
            if not self.context.session.can_send_request or not await self._ask_each(result.run_id, calls):
                break
            result = await self._go_on(result.run_id, result.output)
        return result

    def _has_room(self, result: Waiting) -> bool:
        """Whether one result can hold more output; a full one is shown before the next question."""
        return len(msgspec.json.encode(result.output)) <= self.engine.config.max_output_bytes

    def _input_required(self, result: Waiting, calls: list[PendingCall]) -> types.InputRequiredResult:
        from mcp import types

        self.held.put(self.session, result.run_id, result)
        state = ExchangeState(
            result.run_id, [call.approval.id for call in calls if call.approval], self.aside
        )
        return types.InputRequiredResult(
            input_requests={
                str(place): question(self.asked.text_of(call)) for place, call in enumerate(calls)
            },
            request_state=msgspec.json.encode(state).decode(),
        )

    async def _ask_each(self, run_id: str, calls: list[PendingCall]) -> bool:
        """Asks; whether the person decided anything. A client that cancels meanwhile aborts the run."""
        has_decided = False
        try:
            for call in calls:
                answer = await ask_now(self.context, self.asked.text_of(call))
                approval_id = call.approval.id if call.approval else ""
                has_decided |= await self._decide(run_id, approval_id, decision_of(answer))
        except asyncio.CancelledError:
            await finish_despite_cancel(self.engine.abort(run_id, session=self.session))
            raise
        return has_decided

    async def _decide(self, run_id: str, approval_id: str, decision: Decision | None) -> bool:
        if decision is None:
            self.aside.append(approval_id)
            return False
        if decision.approved:
            return await self.engine.approve(run_id, approval_id, session=self.session)
        return await self.engine.deny(run_id, approval_id, reason=decision.reason, session=self.session)

    async def _go_on(self, run_id: str, before: tuple[Output, ...]) -> CodeModeResult:
        result = await self.engine.wait(run_id, session=self.session)
        return msgspec.structs.replace(result, output=(*before, *result.output))
