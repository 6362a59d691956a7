"""exec and process: commands in the workspace, each with a guard that lets no process outlive it."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple, TypedDict

import msgspec

from codemode.toolbox.command import Command, Status
from codemode.toolbox.command_rules import CommandRules
from codemode.toolbox.workspace import Workspace
from codemode.tools import AnswerNeeded, CallContext, InvalidArguments, Tool, ToolError, tool

_MAX_COMMAND = 32 * 1024
_MAX_INPUT = 64 * 1024
_MAX_WAIT_SECONDS = 60.0
_UPDATE_SECONDS = 0.25
_UPDATE_BYTES = 2_000
_MAX_KEPT = 32  # ended background processes of one session

_Seconds = Annotated[float, msgspec.Meta(gt=0)]


class CommandResult(TypedDict, total=False):
    status: Status
    exitCode: int
    signal: str
    output: str
    omittedBytes: int
    leftBehind: int
    durationMs: int
    processId: str
    command: str


class ProcessAnswer(TypedDict, total=False):
    processes: list[CommandResult]
    process: CommandResult
    written: int


class _Owner(NamedTuple):
    agent: str
    session: str


class Commands:
    """The commands of one toolbox. `close` ends those that still run."""

    def __init__(self, workspace: Workspace, rules: CommandRules | None = None) -> None:
        self.rules = rules or CommandRules()
        self._workspace = workspace
        self._foreground: set[Command] = set()
        self._background: dict[_Owner, dict[str, Command]] = {}

    async def close(self) -> None:
        running = [*self._foreground, *(one for own in self._background.values() for one in own.values())]
        await asyncio.gather(*(command.stop() for command in running))
        self._background.clear()

    def tools(self) -> list[Tool]:
        rules = self.rules

        async def exec(
            command: str,
            context: CallContext,
            cwd: str = ".",
            timeoutSeconds: _Seconds = rules.timeout_seconds,
            background: bool = False,
        ) -> CommandResult:
            """Runs a command in the workspace. Its processes end with it.

            Args:
                command: As for a shell, for example `git status`.
                cwd: A folder of the workspace.
                timeoutSeconds: The command is ended after that.
                background: Returns at once with a processId, for `process`.
            """
            self._check(command, cwd, context)
            if background:
                return await self._start_background(command, cwd, context)
            seconds = min(timeoutSeconds, rules.max_timeout_seconds)
            return await self._run(command, cwd, seconds, context)

        async def process(
            action: Literal["list", "poll", "write", "kill"],
            context: CallContext,
            processId: str = "",
            input: str = "",
            closeInput: bool = False,
            waitSeconds: Annotated[float, msgspec.Meta(ge=0)] = 0.0,
        ) -> ProcessAnswer:
            """Looks after commands that were started in the background, of this session only.

            Args:
                action: list them all; poll one, waiting up to waitSeconds for its end; write input; kill.
                processId: From exec, for all but list.
                input: Text for the process, for write.
                closeInput: With write: no more input follows.
                waitSeconds: With poll, at most 60.
            """
            own = self._background.get(_owner(context), {})
            if action == "list":
                return {"processes": [_told(command, name, brief=True) for name, command in own.items()]}
            command = own.get(processId)
            if command is None:
                known = f" There are: {', '.join(own)}." if own else " There are none."
                raise InvalidArguments(f"No process {processId[:40]!r} in this session.{known}")
            if action == "write":
                return {"written": self._write(command, input, closeInput)}
            if action == "kill":
                await command.stop()
            elif waitSeconds:
                await _wait(command, min(waitSeconds, _MAX_WAIT_SECONDS))
            return {"process": _told(command, processId)}

        most_ms = int(rules.max_timeout_seconds * 1_000) + 60_000
        permissions = ["commands"]
        return [
            tool(exec, destructive=True, timeout_ms=most_ms, required_permissions=permissions),
            tool(process, destructive=True, timeout_ms=120_000, required_permissions=permissions),
        ]

    def _check(self, command: str, cwd: str, context: CallContext) -> None:
        if not command.strip() or "\0" in command or len(command) > _MAX_COMMAND:
            raise InvalidArguments(f"A command is 1 to {_MAX_COMMAND} characters without NUL.")
        verdict = self.rules.judge(command)
        if verdict == "refuse":
            raise ToolError(self._why_refused(command), code="command_refused")
        if verdict == "ask" and not context.answers:
            raise AnswerNeeded(f"Run the command: {command[:300]}", {"command": command, "cwd": cwd})

    def _why_refused(self, command: str) -> str:
        if self.rules.security == "deny":
            return "Commands are switched off here."
        allowed = ", ".join(self.rules.allow) or "none"
        return f"{command[:80]!r} is not one of the commands allowed, or needs a shell. Allowed: {allowed}."

    async def _start(self, text: str, cwd: str, *, has_input: bool) -> Command:
        command = Command(text, self.rules.output_bytes)
        environment = self.rules.environment_from(os.environ)
        with self._workspace.folder(cwd) as folder:
            try:
                await command.start(
                    self.rules.argv(text, environment), folder, environment, has_input=has_input
                )
            except OSError as error:
                told = f"No process could be started: {error.strerror}."
                raise ToolError(told, code="no_process", retryable=True) from None
        return command

    async def _run(self, text: str, cwd: str, seconds: float, context: CallContext) -> CommandResult:
        command = await self._start(text, cwd, has_input=False)
        self._foreground.add(command)
        telling = asyncio.create_task(_tell(command, context.update), name="codemode command updates")
        try:
            if not await _wait(command, seconds):
                await command.stop("timed_out")
        finally:
            telling.cancel()
            # also for a call that was cancelled: its processes end before the call does
            await asyncio.shield(command.stop())
            self._foreground.discard(command)
        return _told(command)

    async def _start_background(self, text: str, cwd: str, context: CallContext) -> CommandResult:
        own = self._background.setdefault(_owner(context), {})
        running = [command for command in own.values() if not command.ended.is_set()]
        if len(running) >= self.rules.max_background:
            raise ToolError(
                f"{len(running)} processes of this session run already; end one with process.",
                code="too_many_processes",
            )
        for name in [name for name, command in own.items() if command.ended.is_set()][: -_MAX_KEPT or None]:
            del own[name]
        name = secrets.token_hex(4)
        own[name] = command = await self._start(text, cwd, has_input=True)
        return _told(command, name)

    def _write(self, command: Command, text: str, is_last: bool) -> int:
        data = text.encode()
        if len(data) > _MAX_INPUT:
            raise InvalidArguments(f"The input has {len(data)} bytes; at most {_MAX_INPUT} at once.")
        written = command.write(data) if data else 0
        if is_last and written == len(data):
            command.close_input()
        return written


def _owner(context: CallContext) -> _Owner:
    return _Owner(context.agent_id, context.session_id)


async def _wait(command: Command, seconds: float) -> bool:
    try:
        await asyncio.wait_for(command.ended.wait(), seconds)
    except TimeoutError:
        return False
    return True


async def _tell(command: Command, update: Callable[[object], None]) -> None:
    """Reports what was said, for listeners, while there is something new."""
    told = 0
    while True:
        await asyncio.sleep(_UPDATE_SECONDS)
        if command.output.total > told:
            told = command.output.total
            update({"bytes": told, "tail": command.output.newest(_UPDATE_BYTES)})


def _told(command: Command, name: str = "", *, brief: bool = False) -> CommandResult:
    result: CommandResult = {"status": command.status, "durationMs": command.duration_ms}
    if name:
        result["processId"] = name
        result["command"] = command.text[:200]
    if command.code is not None:
        if command.code < 0:
            result["signal"] = _signal_name(-command.code)
        else:
            result["exitCode"] = command.code
    if not brief:
        result["output"] = command.output.text()
    if command.output.omitted:
        result["omittedBytes"] = command.output.omitted
    if command.left_behind and command.status == "exited":
        result["leftBehind"] = command.left_behind
    return result


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
