"""`before_tool_call` and `after_tool_call`: what the host's own rules say about a call.

A hook is an object with one or both of these methods, sync or async. The engine runs its own `exec` through
the same chain, with `tool_kind` "code_mode_exec", so that a rule can tell it from a shell of that name.
A hook that fails or returns an unknown answer blocks the call: a rule without an answer has allowed nothing.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from codemode.executor.calls import CallResult
from codemode.executor.host_code import ends_the_task
from codemode.gate.lane import lane
from codemode.tools import CallContext, ToolHints

_log = logging.getLogger("codemode.hooks")


class BeforeToolCall(Struct, frozen=True):
    tool: str  # the real tool's name
    tool_id: str
    arguments: dict[str, Any]  # the hook's own copy
    context: CallContext
    tool_kind: str = "tool"
    tool_input_kind: str | None = None
    hints: ToolHints = ToolHints()  # what the tool's author says about it


class AfterToolCall(Struct, frozen=True):
    tool: str
    tool_id: str
    arguments: dict[str, Any]
    context: CallContext
    result: CallResult
    duration_ms: float
    tool_kind: str = "tool"
    tool_input_kind: str | None = None


class Rewrite(Struct, frozen=True):
    """Go on with these arguments. The executor checks them against the schema again."""

    arguments: dict[str, Any]


class Block(Struct, frozen=True):
    """Do not run the tool. The program gets the reason."""

    reason: str


class RequireApproval(Struct, frozen=True):
    """Run the tool only with an approval. The model may see the summary."""

    summary: str = ""


class AnswerWith(Struct, frozen=True):
    """Do not run the tool: this is its result, from a cache or in a rehearsal. Hooks after this one are still
    asked, and may block the call. The ledger and the trajectory say that a hook answered."""

    value: Any = None


# Gets the arguments before and after a rewrite; makes those that mean the same agree.
Agree = Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


class Verdict(Struct, frozen=True):
    """What all hooks together say. `arguments` are those of the last rewrite."""

    arguments: dict[str, Any]
    rewritten: bool = False
    blocked: str | None = None
    approval: str | None = None  # the summary, maybe empty, if a hook asks for an approval
    answer: AnswerWith | None = None  # of the first hook that has one


class HookChain:
    """Asks hooks in the order given. Each sees the arguments as the hooks before it left them; the first
    block ends the chain."""

    def __init__(self, hooks: Any = ()) -> None:
        """Takes one hook or several. Raises TypeError for an object that is not a hook."""
        found = list(cast("Iterable[Any]", hooks)) if isinstance(hooks, list | tuple) else [hooks]
        self._before: list[Callable[[BeforeToolCall], Any]] = []
        self._after: list[Callable[[AfterToolCall], Any]] = []
        for hook in (hook for hook in found if hook is not None):
            before, after = getattr(hook, "before_tool_call", None), getattr(hook, "after_tool_call", None)
            if before is None and after is None and not hears_of_approvals(hook):
                kind = type(hook).__name__
                raise TypeError(f"{kind} has neither before_tool_call nor after_tool_call")
            self._before += [before] if before is not None else []
            self._after += [after] if after is not None else []
        self.rules = bool(self._before)  # a hook wants to be asked before a call
        self.looks_on = bool(self._after)  # a hook wants to hear of calls that are over

    async def before(
        self, event: BeforeToolCall, agree: Agree | None = None, *, is_large: bool = False
    ) -> Verdict:
        """Asks before a call. Raises only what ends the task in which it is called. Arguments that are large
        were decoded from JSON; each hook's copy of them is made in a turn of the lane."""
        verdict = Verdict(event.arguments)
        task = asyncio.current_task()
        for hook in self._before:
            try:
                # inside the try: arguments of the hook before may not allow a copy
                if is_large:
                    made = partial(_copy_of_json, verdict.arguments)
                    own = await lane().run(made, event.context.session_id)
                else:
                    own = copy.deepcopy(verdict.arguments)
                answer = hook(replace(event, arguments=own))
                del own
                answer = await answer if inspect.isawaitable(answer) else answer
            except BaseException as error:
                if ends_the_task(error, task):
                    raise
                _log.exception("before_tool_call failed for %s", event.tool)
                return replace(verdict, blocked="a rule of the host could not be asked")
            match answer:
                case None:
                    pass
                case Rewrite():
                    new = answer.arguments if agree is None else agree(verdict.arguments, answer.arguments)
                    verdict = replace(verdict, arguments=new, rewritten=True)
                case Block():
                    return replace(verdict, blocked=answer.reason)
                case AnswerWith():
                    verdict = replace(verdict, answer=verdict.answer or answer)
                case RequireApproval():
                    verdict = replace(verdict, approval=verdict.approval or answer.summary)
                case _:
                    _log.error("before_tool_call answered with a %s", type(answer).__name__)
                    return replace(verdict, blocked="a rule of the host could not be asked")
        return verdict

    async def after(self, event: AfterToolCall) -> None:
        """Tells the hooks that a call is over. A hook that fails is logged and changes nothing."""
        task = asyncio.current_task()
        for hook in self._after:
            try:
                answer = hook(event)
                if inspect.isawaitable(answer):
                    await answer
            except BaseException as error:
                if ends_the_task(error, task):
                    raise
                _log.exception("after_tool_call failed for %s", event.tool)


def hears_of_approvals(hook: object) -> bool:
    """Whether it is a hook of another kind: one that is told of approvals (runs/approval_bell.py)."""
    return hasattr(hook, "approval_opened") or hasattr(hook, "approval_closed")


def _copy_of_json(arguments: dict[str, Any]) -> dict[str, Any]:
    """Twenty times as fast as a deep copy."""
    return msgspec.json.decode(msgspec.json.encode(arguments))
