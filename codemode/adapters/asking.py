"""Approvals of programs in the frameworks' own ways: what a run asks for, the answer, and how it goes on.

A framework ends its turn when something has to be approved, and calls the same tool again with the answer,
maybe in another process. So nothing here is kept in memory that is needed for that: a run is found again by
the id of the model's call, and an answer is for one approval, by its place among all that the run asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, cast

from msgspec import Struct

from codemode.adapters.calling import ModelAnswer, ModelTools
from codemode.contract.for_model import for_model
from codemode.contract.results import failed
from codemode.executor import ApprovalRequest, Decision

Approvals = Literal["framework", "host"]
"""Who is told of an approval: the framework, in its own way, or the model (as waiting) while the host decides
by `engine.approve` and `engine.deny`."""

_GONE = (
    "The program that was to be approved is gone: it waited too long, or was aborted. Start again with exec."
)
_UNCLEAR = "the answer was neither yes nor no"


class Asked(Struct, frozen=True):
    """What a run has asked for: the ids of all of it, in order, and the requests that are still open."""

    run_id: str
    asked: tuple[str, ...]
    requests: tuple[ApprovalRequest, ...]

    def request(self, name: str) -> ApprovalRequest | None:
        return next((found for found in self.requests if found.id == name), None)


async def find_run(tools: ModelTools, name: str, arguments: Mapping[str, Any], call_id: str) -> str:
    """The suspended run that this call of the model started, or goes on with; "" if there is none."""
    if tools.engine is None or not tools.active:
        return ""
    if name == "wait":
        run_id = arguments.get("runId")
        return run_id if isinstance(run_id, str) else ""
    if not call_id:
        return ""
    listed = await tools.engine.runs(scope=tools.scope)
    return next((run.run_id for run in listed if run.tool_call == call_id), "")


async def what_is_asked(tools: ModelTools, run_id: str) -> Asked:
    details = None if tools.engine is None else await tools.engine.run_info(run_id, scope=tools.scope)
    if details is None:
        return Asked(run_id, (), ())
    return Asked(run_id, details.asked, details.approvals)


async def decide(tools: ModelTools, run_id: str, approval_id: str, decision: Decision) -> bool:
    """False if nothing asks for it, or not any more."""
    engine = tools.engine
    if engine is None:
        return False
    if decision.approved:
        return await engine.approve(run_id, approval_id, value=decision.value, scope=tools.scope)
    return await engine.deny(run_id, approval_id, reason=decision.reason, scope=tools.scope)


def put_aside(tools: ModelTools, answer: ModelAnswer) -> None:
    """Keeps the output of a result that no model will see; the next result of the run begins with it."""
    if answer.output:
        tools.unseen.put(tools.scope.session, answer.asking_run, list(answer.output))


def gone() -> ModelAnswer:
    return ModelAnswer(for_model(failed("snapshot_expired", _GONE).to_dict()), True)


def shown(asked: ApprovalRequest) -> dict[str, Any]:
    """An approval for the person who decides, as JSON."""
    words = {"id": asked.id, "tool": asked.tool, "summary": asked.summary, "arguments": asked.arguments}
    return words | ({"question": asked.question} if asked.is_asked_by_tool else {})


def decision_of(asked: ApprovalRequest, said: Any) -> Decision:
    """Reads what a person answered: a bool; `{approved, reason}`; `{type: "approve" | "reject", message}`.
    To what a tool asks, anything is an answer. Whatever is unclear is not approved."""
    if asked.is_asked_by_tool:
        return Decision(True, value=said)
    if isinstance(said, bool):
        return Decision(said)
    words = cast("Mapping[str, Any]", said if isinstance(said, Mapping) else {})
    approved = {"approve": True, "reject": False}.get(str(words.get("type")), words.get("approved"))
    if not isinstance(approved, bool):
        return Decision(False, _UNCLEAR)
    return Decision(approved, str(words.get("reason") or words.get("message") or ""))
