"""Asks the host's hooks about a program before it runs, and tells them how it ended.

Hooks see `exec` as an ordinary tool call; its kind tells it from a shell of that name. Policies that know a
shell look at `command`, others at `code`: the event carries the program under both names.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, cast

from codemode.config import CodeModeConfig
from codemode.contract.inputs import ExecInput, InputRefused, read_exec
from codemode.contract.results import CodeModeResult
from codemode.executor import AfterToolCall, BeforeToolCall, CallOk, HookChain
from codemode.runs.run import Run


class Outer(NamedTuple):
    """The tool that the model called to run a program, and the names under which it takes the program."""

    tool: str
    kind: str
    names: tuple[str, ...] = ("code",)


EXEC = Outer("exec", "code_mode_exec", ("code", "command"))


async def ask_rules(
    hooks: HookChain, run: Run, program: ExecInput, outer: Outer, config: CodeModeConfig
) -> ExecInput:
    """Raises InputRefused if a rule blocks the program or wants an approval for it."""
    event = BeforeToolCall(
        outer.tool, "", _arguments(program, outer), run.call_context(), outer.kind, program.language
    )
    verdict = await hooks.before(event, _agreeing if len(outer.names) > 1 else None)
    if verdict.blocked is not None:
        raise InputRefused("aborted", f"A rule of the host blocked this program: {verdict.blocked}")
    if verdict.answer is not None:
        raise InputRefused("aborted", "A rule of the host answered in place of this program; it was not run.")
    if verdict.approval is not None:
        raise InputRefused(
            "aborted", f"A rule of the host wants an approval for {outer.tool}, which nobody can give."
        )
    return read_exec(verdict.arguments, None, config) if verdict.rewritten else program


async def tell_rules(
    hooks: HookChain, run: Run, program: ExecInput, result: CodeModeResult, outer: Outer
) -> None:
    answered, ms = CallOk(result.to_json().encode()), (time.perf_counter() - run.began) * 1000
    arguments, context = _arguments(program, outer), run.call_context()
    event = AfterToolCall(outer.tool, "", arguments, context, answered, ms, outer.kind, program.language)
    await hooks.after(event)


def _arguments(program: ExecInput, outer: Outer) -> dict[str, Any]:
    return {**dict.fromkeys(outer.names, program.program), "language": program.language}


def _agreeing(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """A rule may rewrite the program under one of its names: the next rule must see it under both. Where both
    are new and differ they stay so, and the program is refused."""
    if not isinstance(cast("object", after), dict):  # read_exec refuses it
        return after
    given = [after[name] for name in EXEC.names if name in after]
    new = [text for text in given if text != before.get("code")]
    if not given or (len(new) == 2 and new[0] != new[1]):
        return after
    text = new[0] if new else given[0]
    return {**after, "code": text, "command": text}
