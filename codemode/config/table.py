"""Every setting there is, one row each: name, type, meaning, what is allowed, unit and default. Data only.

A new setting is one row here and nothing else. rows.py reads the rows; the checks and clamps of a value, the
texts of errors, the command line's help and the tables of docs/ are made from them. There are several structs
because every key of `tools.codeMode` is promised to hosts, while the number of workers is not.

The structs check nothing themselves; `load_config`, `load_settings` and `load_tool_search` do.
"""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal

import msgspec
from codemode_runtime.language import Language
from codemode_runtime.shapes import MAX_OUTPUT_ITEMS
from msgspec import Struct

from codemode.config.documents import WrittenPolicy
from codemode.config.rows import NotASetting, Says
from codemode.config.rules import Gated, Names, Number, NumberOr

Gate = Literal["off", "on", "auto"]
SearchMode = Literal["code", "tools", "directory"]

_KIB, _MIB, _GIB = 1 << 10, 1 << 20, 1 << 30
_CORES = os.cpu_count() or 1

# The formatter would give each row ten lines.
# fmt: off


class CodeModeConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """`tools.codeMode`, resolved: every number is within its clamp.

    `policies` are the tool policies of the same document; the engine applies them.
    """

    enabled: Annotated[bool, Says(
        "the only activation gate; setting other fields does not enable it")] = False
    runtime: Annotated[Literal["quickjs-wasi"], Says("the only one there is")] = "quickjs-wasi"
    mode: Annotated[Literal["only"], Says("expose `exec` and `wait`, hide the rest")] = "only"
    languages: Annotated[tuple[Language, ...], Says(
        "what a program may be written in; a subset, not empty")] = ("javascript", "typescript")
    timeout_ms: Annotated[int, Number(100, 60_000, "ms"), Says(
        "wall clock of one `exec` or `wait` in its worker; queueing and a cold start do not count. With what"
        " a tool answers near the end, a program may compute for a quarter of it more",
        reached="computing: `timeout`. Waiting for tools: `waiting`")] = 10_000
    memory_limit_bytes: Annotated[int, Number(_MIB, _GIB, "bytes"), Says(
        "the guest's heap", reached="`memory_limit_exceeded`; the program cannot catch it")] = 64 * _MIB
    max_output_bytes: Annotated[int, Number(_KIB, 10 * _MIB, "bytes"), Says(
        "one result: the JSON of each item of output, and of the final value; an empty `text` has 25 bytes."
        f" At most {MAX_OUTPUT_ITEMS:,} items",
        reached="an item that does not fit is clipped; then, and for the value, `output_limit_exceeded`"
        " with what fitted")] = 64 * _KIB
    max_content_bytes: Annotated[int, Number(0, 64 * _MIB, "bytes"), Says(
        "images, audio and files that the tools of one run return, equal ones counted once; and as many may"
        " be shown in its output. 0: none",
        reached="the call fails with `tool_error`, which a program can catch; what is shown too much is left"
        " out, and the output says so")] = 8 * _MIB
    max_snapshot_bytes: Annotated[int, Number(_KIB, 256 * _MIB, "bytes"), Says(
        "one suspended run, as stored", reached="`snapshot_limit_exceeded`")] = 10 * _MIB
    max_pending_tool_calls: Annotated[int, Number(1, 128, "calls"), Says(
        "nested calls in flight at once, new ones counted",
        reached="`too_many_pending_tool_calls`; none of the new ones is started")] = 16
    max_queued_tool_calls: Annotated[int, Number(0, 10_000, "calls"), Says(
        "calls beyond `maxPendingToolCalls` that wait in line, in the order in which they were made, instead"
        " of ending the program",
        reached="`too_many_pending_tool_calls`; none of the new ones is started")] = 0
    max_tool_calls: Annotated[int, Number(1, 1_000_000, "calls"), Says(
        "calls of one run, searches counted",
        reached="`too_many_pending_tool_calls`; the program cannot catch it")] = 10_000
    snapshot_ttl_seconds: Annotated[int, Number(1, 86_400, "s"), Says(
        "how long a suspended run can be resumed, since it was suspended last",
        reached="`snapshot_expired`")] = 900
    session_state: Annotated[Literal["none", "keep"], Says(
        "`keep`: what a program declares at its top level is there in the next programs of its session")
        ] = "none"
    world_ttl_seconds: Annotated[int, Number(1, 604_800, "s"), Says(
        "how long what a session's programs have declared is kept after the last of them",
        reached="the next program begins with none")] = 3_600
    world_busy: Annotated[Literal["fork", "wait"], Says(
        "for a program of a session whose variables a suspended run holds: `fork` gives it a copy, and drops"
        " its changes; `wait` lets it wait for that run, up to `timeoutMs`")] = "fork"
    checkpoints: Annotated[Literal["suspensions", "awaits", "none"], Says(
        "when a run's past is kept for `engine.fork(run_id, at=…)`: each time that it goes on after a"
        " suspension, each time that a call is answered, or never; the last 20 of a run")] = "suspensions"
    search_default_limit: Annotated[int, Number(1, 50, "hits", at_most="max_search_limit"), Says(
        "of `tools.search` without a limit")] = 8
    max_search_limit: Annotated[int, Number(1, 50, "hits"), Says("of `tools.search` at most")] = 50
    learn_result_shapes: Annotated[bool, Says(
        "learn from results what tools return that do not declare it: names of fields and broad types, no"
        " values; for `tools.describe`, and for the list of tools that the next session is shown")] = True
    policies: Annotated[tuple[WrittenPolicy, ...], NotASetting()] = ()

    def to_dict(self) -> dict[str, Any]:
        """The form of a configuration file; `load_config` makes this again of it, without `policies`."""
        found = _plain(msgspec.structs.replace(self, policies=()))
        del found["policies"]
        return found


_LEGS = Number(1, 1_000_000, "legs")


class EngineSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the engine works; no model and no program sees it. Resolved like the configuration."""

    worker_reuse: Annotated[int | Literal["session"], NumberOr(_LEGS, ("session",)), Says(
        "legs for each worker process: 1 gives every leg a process of its own; with `session` one serves legs"
        " of one agent and session with the same tools only, and callers who name no session get one for each"
        " leg; a larger number is legs of anybody")] = 1
    max_workers: Annotated[int, Number(1, 1024, "legs"), Says(
        "legs that run at once; one that waits for tools lets go of its worker when others queue",
        reached="the leg waits for a worker", default="4 per core, at least 8")] = max(8, 4 * _CORES)
    warm_workers: Annotated[int, Number(0, 1024, "workers"), Says(
        "workers ready before they are asked for, in each flavour in use",
        default="one per core, at least 2")] = max(2, _CORES)
    queue_limit: Annotated[int, Number(0, 1_000_000, "legs"), Says(
        "legs that may wait for a worker", reached="`runtime_unavailable`")] = 1000
    confinement: Annotated[Literal["auto", "require", "off"], Says(
        "of worker processes: `require` makes a missing layer a start-up error, `off` is for debugging"
        )] = "auto"
    max_suspended_runs: Annotated[int, Number(0, 10_000_000, "runs"), Says(
        "suspended runs in the store", reached="`snapshot_limit_exceeded`")] = 10_000
    max_store_bytes: Annotated[int, Number(0, 1 << 50, "bytes"), Says(
        "all suspended runs together, as stored", reached="`snapshot_limit_exceeded`")] = _GIB
    max_pending_bytes: Annotated[int, Number(_MIB, _GIB, "bytes"), Says(
        "what the host keeps for the calls of one run: their arguments, as text and decoded, and results"
        " that wait for a suspended program", reached="the call fails with `invalid_arguments`; a result is"
        " replaced by an error that says that the tool has run")] = 64 * _MIB
    max_pending_total_bytes: Annotated[int, Number(_MIB, 1 << 50, "bytes"), Says(
        "the same for all runs together", reached="as for `maxPendingBytes`")] = 512 * _MIB
    history_runs: Annotated[int, Number(0, 1_000_000, "runs"), Says(
        "finished runs that are remembered in the store, redacted as trajectories are; 0 remembers none",
        reached="the oldest is forgotten")] = 2_000
    history_bytes: Annotated[int, Number(0, 1 << 40, "bytes"), Says(
        "the same in bytes", reached="the oldest is forgotten")] = 16 * _MIB
    history_seconds: Annotated[int, Number(60, 366 * 86_400, "s"), Says(
        "how long a finished run is remembered")] = 7 * 86_400
    session_share_percent: Annotated[int, Number(1, 100, "%"), Says(
        "of `maxPendingTotalBytes`, `maxWorkers`, `queueLimit`, `maxSuspendedRuns` and `maxStoreBytes` that"
        " one session may have; not for the session of callers who name none, and not of fewer than 8",
        reached="as if the whole were used up, for that session")] = 75

    def to_dict(self) -> dict[str, Any]:
        return _plain(self)


class ToolSearchConfig(Struct, frozen=True, kw_only=True, rename="camel"):
    """`tools.toolSearch`, resolved: every number is within its clamp."""

    enabled: Annotated[Gate, Gated(), Says(
        "`auto` defers tools only above the share; true is `on`, false is `off`")] = "off"
    mode: Annotated[SearchMode, Says("which controls the model sees")] = "code"
    fallback: Annotated[Literal["tools", "refuse"], Says(
        "of mode `code` where no isolated worker can be made")] = "tools"
    core_tools: Annotated[tuple[str, ...], Names("names, ids, `*` wildcards, `group:…`"), Says(
        "tools that are never deferred, beside all of source `openclaw` in `auto`")] = ()
    context_window_tokens: Annotated[int, Number(1_000, 10_000_000, "tokens"), Says(
        "the model's context window, unless `prepare(context_window=…)` says it")] = 128_000
    context_share_percent: Annotated[int, Number(1, 100, "%"), Says(
        "of the context window; `auto` defers tools that would take more")] = 10
    directory_max_chars: Annotated[int, Number(500, 200_000, "characters"), Says(
        "the directory in mode `directory`")] = 18_000
    directory_max_schemas: Annotated[int, Number(0, 50, "tools"), Says(
        "tools of a directory with their schemas: those `required`, then the best for the turn's `text`")] = 8
    code_timeout_ms: Annotated[int, Number(100, 60_000, "ms"), Says(
        "wall clock of one `tool_search_code`, tools and continuations included")] = 10_000
    search_default_limit: Annotated[int, Number(1, 50, "hits", at_most="max_search_limit"), Says(
        "of a search without a limit")] = 8
    max_search_limit: Annotated[int, Number(1, 50, "hits"), Says("of a search at most")] = 50

    def to_dict(self) -> dict[str, Any]:
        """The form of a configuration file; `load_tool_search` makes this again of it."""
        return _plain(self)


# fmt: on


def _plain(section: Struct) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(section))
