"""The phases of a run, which phase may follow which, and what a run holds in each. Data; run.py changes it.

Running     a leg works on it: its program, ledger and output are in memory (`Active`)
Suspended   it is in its snapshot, and this process knows what that holds; calls may go on here for it
Adoptable   it is in the store, and other engines may have gone on with it; calls may still go on here for it
Ended       the run is over; `how` says in which way, and no phase follows
"""

from __future__ import annotations

import contextvars
import enum
import re
import secrets
from typing import Literal

from msgspec import Struct

from codemode.catalog import Catalog
from codemode.config import Language
from codemode.contract.results import Output
from codemode.replay.tape import NOT_RECORDED, Tape
from codemode.runs.meter import RunMeter
from codemode.runs.worlds import World
from codemode.tools import CallContext, Tool


class RunState(enum.StrEnum):
    """The phases as results, statistics and trajectories call them."""

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    EXPIRED = "expired"
    ABORTED = "aborted"


class Running(Struct):
    pass


class Suspended(Struct):
    """`is_stored` is False while its snapshot is being written."""

    is_stored: bool = False
    stored_bytes: int = 0
    idle_waits: int = 0  # waits in which nothing settled
    settled_calls: int = 0


class Adoptable(Struct):
    pass


class Ended(Struct):
    how: RunState


Phase = Running | Suspended | Adoptable | Ended

STATES = {Running: RunState.RUNNING, Suspended: RunState.WAITING, Adoptable: RunState.WAITING}
NEXT: dict[type[Phase], tuple[type[Phase], ...]] = {
    Running: (Suspended, Ended),
    Suspended: (Running, Adoptable, Ended),
    Adoptable: (Running, Suspended, Ended),
    Ended: (),
}
_LEFT_ENDS = (RunState.FAILED, RunState.EXPIRED, RunState.ABORTED)
ENDS: dict[type[Phase], tuple[RunState, ...]] = {
    Running: (RunState.COMPLETED, RunState.FAILED, RunState.ABORTED),
    Suspended: _LEFT_ENDS,
    Adoptable: _LEFT_ENDS,
    Ended: (),
}


_WORD = re.compile(r"[\w$]+")


class Active:
    """What a leg works with; when the run is suspended, all of it is in the snapshot."""

    __slots__ = (
        "checkpoints", "language", "meter", "named_tools", "output", "program", "returned", "tape", "taped",
        "world",
    )  # fmt: skip

    def __init__(self, program: str, language: Language, meter: RunMeter) -> None:
        self.program = program
        self.language: Language = language
        self.meter = meter
        self.returned = False
        self.checkpoints = 0
        self.output: list[Output] = []  # new since the last result
        self.tape: Tape | None = None  # for a replay, where values are recorded
        self.taped = b""  # by legs before this one
        self.world: World | None = None  # of its session, where programs share one
        self.named_tools: tuple[str, ...] | None = (
            None  # by the program's text; found when it is first frozen
        )

    def name_tools(self, catalog: Catalog) -> tuple[str, ...]:
        """Ids of the tools whose name stands in the program, in their order there."""
        if self.named_tools is None:
            words = dict.fromkeys(_WORD.findall(self.program))
            found = (catalog.convenience(word) for word in words)
            self.named_tools = tuple(dict.fromkeys(tool_id for tool_id in found if tool_id))
        return self.named_tools

    def enter_world(self, world: World) -> None:
        self.world = world

    @property
    def world_mode(self) -> Literal["", "own", "copy"]:
        return "" if self.world is None else self.world.mode

    def remember(
        self,
        returned: bool,
        named: tuple[str, ...] | None,
        world: Literal["", "own", "copy"],
        checkpoints: int,
        taped: bytes,
    ) -> None:
        """Out of its snapshot."""
        self.returned, self.named_tools, self.checkpoints = returned, named, checkpoints
        self.taped = taped
        self.world = World(world) if world else None

    def record(self, tape: Tape | None) -> None:
        """From now on what happens is written down here, after what was before. None: in no place, and so a
        run that was recorded elsewhere cannot be replayed."""
        if tape is not None and self.taped:
            tape.thaw(self.taped)
        self.tape = tape
        self.taped = NOT_RECORDED if self.taped and tape is None else b""

    def freeze_tape(self) -> bytes:
        return self.taped if self.tape is None else self.tape.freeze()

    def count_checkpoint(self) -> int:
        self.checkpoints += 1
        return self.checkpoints

    def take_output(self) -> tuple[Output, ...]:
        taken, self.output = tuple(self.output), []
        return taken

    def put_back_output(self, output: tuple[Output, ...]) -> None:
        self.output[:0] = output

    def note_idle(self, returned: bool) -> None:
        self.returned = returned


NO_CONTEXT = CallContext()  # the host said nothing about its caller


class Origin(Struct, frozen=True):
    """Under which policy, and for whom, a run's tools run. The snapshot has most of it too, because a restart
    must not change it. `tools` are the run's own, which cannot be stored."""

    provider: str | None = None
    model: str | None = None
    allow: tuple[str, ...] | None = None  # the run's own allowlist, below the policy
    tools: tuple[Tool, ...] = ()
    context: CallContext = NO_CONTEXT
    variables: contextvars.Context | None = None  # of its latest exec or wait


def new_run_id() -> str:
    """144 random bits, so that an id cannot be guessed from others."""
    return "run_" + secrets.token_urlsafe(18)
