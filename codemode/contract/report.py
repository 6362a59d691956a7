"""What an engine tells about itself: counts, workers, suspended runs. Pure data.

`EngineStats` and `RunInfo` are dicts with the camelCase keys of their JSON, as they always were: hosts index
them, compare them and hand them to `json.dumps`. Their parts are typed attributes as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NoReturn

import msgspec
from codemode_runtime.shapes import Layer
from codemode_runtime.zygote_wire import Flavour
from msgspec import Struct


class Report(dict[str, Any]):
    """The JSON of a report. A subclass declares its attributes, under snake_case names."""

    def to_dict(self) -> dict[str, Any]:
        """The report as a plain dict."""
        return dict(self)

    if not TYPE_CHECKING:  # a type checker would then allow any name

        def __getattr__(self, name: str) -> Any:
            key = _camel(name)
            if name not in type(self).__annotations__ or key not in self:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self[key]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} tells how it was; {name} cannot be set")


def _camel(name: str) -> str:
    """Spells a name as msgspec's `rename="camel"` does."""
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


class RunInfo(Report):
    """A suspended run. `settled` counts the results that came during its suspension and are kept.

    `state` is "running" while a `wait` carries it on. `tool_call` is the model's call that started it; "-" if
    the host did not say.
    """

    run_id: str
    agent: str
    session: str
    agent_run: str
    created_at_ms: int
    expires_at_ms: int
    bytes: int
    settled: int
    state: Literal["waiting", "running"]
    tool_call: str


class WorldInfo(Report):
    """What the programs of a session have left for the next one. `names` are the declared ones, with the type
    of each value; `bytes` is the size in the store.

    `age_ms` counts from the session's first program, `saved_at_ms` is when the last one ended. `held_by` is a
    suspended run that goes on in it, or None.
    """

    agent: str
    session: str
    names: dict[str, str]
    bytes: int
    age_ms: int
    programs: int
    saved_at_ms: int
    expires_at_ms: int
    held_by: str | None


class ZygoteStats(Struct, frozen=True):
    """A process that workers are forked from."""

    pid: int | None
    flavour: Flavour
    ready: bool


class WorkerStats(Struct, frozen=True):
    """Processes and queue now; `spawned`, `killed`, `crashed` and `restarts` count since the start.

    `kept` wait for another leg of the session that they served, with `workerReuse: "session"`.
    `confinement` is the last report of a worker, of the first flavour that has workers.
    """

    zygotes: tuple[ZygoteStats, ...]
    warm: int
    busy: int
    starting: int
    queued: int
    spawned: int
    killed: int
    crashed: int
    restarts: int
    build_id: str
    confinement: tuple[Layer, ...]
    kept: int = 0


class EngineTotals(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Sums by name since the start. `results` counts status words and error codes."""

    counts: dict[str, int] = {}
    spent_us: dict[str, int] = {}
    bytes: dict[str, int] = {}
    cap_failures: dict[str, int] = {}
    snapshots: dict[str, int] = {}
    tools: dict[str, int] = {}
    results: dict[str, int] = {}
    tokens_saved: int = 0


class LoopStats(Struct, frozen=True, rename="camel"):
    """How late the engine's event loop was, in milliseconds: at the last beat, at worst, and in all.

    `stalls` counts how often it was more than 50 ms late.
    """

    lag_ms: float
    worst_lag_ms: float
    stalled_ms: float
    stalls: int


class McpServerStats(Struct, frozen=True):
    """Messages of one MCP server since the start: `dropped` above the budget of what nobody asked for, and
    `refused` as too large, too deep or made of too many parts. `disconnected` counts how often it was,
    because it did not stop."""

    server: str
    dropped: int
    refused: int
    disconnected: int


class EngineStats(Report):
    """Counts since the start, and the state now. `runs` has a count for each state of a run; `draining` tells
    whether `drain` was called."""

    runs: dict[str, int]
    draining: bool

    @property
    def totals(self) -> EngineTotals:
        return msgspec.convert(self["totals"], EngineTotals)

    @property
    def workers(self) -> WorkerStats:
        return msgspec.convert(self["workers"], WorkerStats)

    @property
    def loop(self) -> LoopStats:
        return msgspec.convert(self["loop"], LoopStats)

    @property
    def mcp(self) -> tuple[McpServerStats, ...]:
        return msgspec.convert(self["mcp"], tuple[McpServerStats, ...])
