"""Checks the input of exec and wait before anything runs. Pure; raises InputRefused with a code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast

from codemode_snapshots import NO_VALUE, EnvelopeRefused, RunScope
from codemode_snapshots.label import is_unicode
from msgspec import Struct

from codemode.config import CodeModeConfig, Language
from codemode.contract.error_codes import ErrorCode
from codemode.contract.scope import ENGINES_OWN, Scope, scope_of
from codemode.nearest import nearest

_EXEC_KEYS = ("code", "command", "language")
_MAX_PROGRAM = 1 << 20
_TYPESCRIPT_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?:ts|mts|typescript)\b", re.IGNORECASE)
_MAX_RUN_ID = 200


class InputRefused(Exception):
    """The caller's input cannot be used, and nothing has run. The text says what to send instead."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code: ErrorCode = code


class ExecInput(Struct, frozen=True):
    program: str
    language: Language


def read_exec(given: object, language: object, config: CodeModeConfig) -> ExecInput:
    """Reads the program itself, or the input object as a host passes it on."""
    require_enabled(config)
    fields: Mapping[Any, Any]
    if isinstance(given, str):
        fields = {"code": given}
    elif isinstance(given, Mapping):
        fields = cast("Mapping[Any, Any]", given)
    else:
        _refuse(f"exec takes an object with `code`, not {type(given).__name__}.")
    for key in fields:
        if key not in _EXEC_KEYS:
            close = nearest(str(key), _EXEC_KEYS, 1)
            meant = f" Did you mean `{close[0]}`?" if close else ""
            _refuse(f"exec has no field `{str(key)[:60]}`: it takes code (or command) and language.{meant}")
    program = _program(fields)
    said = fields.get("language") if language is None else language
    if said is None and "typescript" in config.languages and _TYPESCRIPT_FENCE.match(program):
        said = "typescript"  # neither the caller nor the input names a language
    return ExecInput(program, _language(said, config))


def require_enabled(config: CodeModeConfig) -> None:
    if not config.enabled:
        raise InputRefused("invalid_config", "Code mode is off: set tools.codeMode.enabled to true.")


def _program(fields: Mapping[Any, Any]) -> str:
    given = [(name, fields[name]) for name in ("code", "command") if fields.get(name) is not None]
    for name, value in given:
        if not isinstance(value, str):
            _refuse(f"`{name}` must be the program's text, not {type(value).__name__}.")
    texts = {value for _, value in given if value.strip()}
    if not texts:
        _refuse("exec needs a program in `code`: JavaScript or TypeScript, for example `return 1 + 1`.")
    if len(texts) > 1:
        _refuse(
            "`code` and `command` are two names for one program: send one of them, or the same text in both."
        )
    program = texts.pop()
    if not is_unicode(program):
        _refuse("the program has half a surrogate pair in it, which is no text; write it as an escape.")
    if len(program) > _MAX_PROGRAM:
        _refuse(f"the program has {len(program)} characters; at most {_MAX_PROGRAM} are allowed.")
    return program


def _language(value: object, config: CodeModeConfig) -> Language:
    chosen = "javascript" if value is None else value
    for language in config.languages:
        if chosen == language:
            return language
    allowed = " or ".join(f'"{language}"' for language in config.languages)
    raise InputRefused("unsupported_language", f"language must be {allowed}, not {str(chosen)[:60]!r}.")


def read_wait(given: object) -> str:
    """Reads the run's id itself, or the input object {runId}."""
    if not isinstance(given, str) and isinstance(given, Mapping):
        fields = cast("Mapping[Any, Any]", given)
        extra = [key for key in fields if key != "runId"]
        if extra:
            _refuse(f"wait has no field `{str(extra[0])[:60]}`: it takes runId.")
        given = fields.get("runId")
    if not isinstance(given, str) or not given.strip() or len(given) > _MAX_RUN_ID:
        _refuse("wait needs the runId of a waiting result.")
    return given


def read_caller(
    scope: Scope | None, agent: str, session: str, agent_run: str, tool_call: str = NO_VALUE
) -> RunScope:
    """The scope for a run, from the caller's scope or from the names given in its place.

    Raises InputRefused for names that no caller can have, and TypeError as `scope_of` does.
    """
    who = scope_of(scope, agent, session, agent_run)
    return read_scope(who.agent, who.session, who.agent_run, tool_call)


def read_scope(agent: object, session: object, agent_run: object, tool_call: object) -> RunScope:
    """The scope of these names. Raises InputRefused, also for a missing name."""
    given = {"agent": agent, "session": session, "agent_run": agent_run, "tool_call": tool_call}
    try:
        if (
            isinstance(agent, str)
            and isinstance(session, str)
            and isinstance(agent_run, str)
            and isinstance(tool_call, str)
            and not agent_run.startswith(ENGINES_OWN)
        ):
            return RunScope(agent, session, agent_run, tool_call)
    except EnvelopeRefused:
        pass  # the lines below say why
    for name, value in given.items():
        if not isinstance(value, str) or not value.strip():
            _refuse(f"the {name} must be a text that is not blank.")
    if str(agent_run).startswith(ENGINES_OWN):
        _refuse(f"an agent_run that begins with {ENGINES_OWN} is the engine's own.")
    _refuse("agent, session, agent_run and tool_call must be valid Unicode of at most 1024 bytes each.")


def same_caller(run: RunScope, caller: RunScope) -> bool:
    """Whether the caller is in the run's scope. The tool calls may differ: wait comes from another one."""
    return (run.agent, run.session, run.agent_run) == (caller.agent, caller.session, caller.agent_run)


def unknown_run() -> InputRefused:
    """The same text for unknown, foreign and malformed ids, so that no caller learns which runs exist."""
    return InputRefused("invalid_input", "There is no such run in this session. Start one with exec.")


def busy_run() -> InputRefused:
    return InputRefused("invalid_input", "This run is being resumed already; wait for that result.")


def _refuse(text: str) -> NoReturn:
    raise InputRefused("invalid_input", text)
