"""Runs a bundle's program again: in a worker like any program's, with the recorded answers and no tool.

Every request to the worker is one that the bundle holds: the same settlements in the same batches, the same
captures and restores, and clocks and randomness as they were read. There is no executor here, nothing that
could call out.
"""

from __future__ import annotations

from codemode_runtime import orders, wire
from codemode_runtime.frames import Data, frame_parts
from codemode_runtime.shapes import Lookup, Settlement
from msgspec import Struct

from codemode.config import EngineSettings
from codemode.replay.bundle import Bundle, BundleRefused, Recorded, WorkerTurn
from codemode.replay.difference import Comparison, Difference
from codemode.replay.tape import without_measures
from codemode.workers.parties import UNHEARD
from codemode.workers.settings import WorkerSettings
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker

_LEAST_MS = 10_000  # for a leg: nothing waits in it, and this machine may be a slow one
_REPLAY = orders.encode(orders.TapeReads(replays=True))
_MAX_DELTA = 64 << 20


class Replay(Struct, frozen=True, rename="camel"):
    """What came of it. `difference` is the first that there was; `calls` and `outputs` were the same."""

    difference: Difference | None
    calls: int
    outputs: int
    other_build: bool  # the bundle was made with another guest image

    @property
    def is_same(self) -> bool:
        return self.difference is None

    def __str__(self) -> str:
        calls = f"{self.calls} call{'' if self.calls == 1 else 's'}"
        outputs = f"{self.outputs} item{'' if self.outputs == 1 else 's'} of output"
        told = f"no difference: {calls}, {outputs} and the outcome are the same"
        return told if self.difference is None else str(self.difference)


async def replay_bundle(bundle: Bundle, *, program: str | None = None) -> Replay:
    """Runs the program of the bundle, or another text against the same answers. Raises BundleRefused for a
    bundle without values, and SupervisorError where no worker can run."""
    recorded = bundle.recorded
    if recorded is None:
        raise BundleRefused(
            f"it has no values, so its program cannot be run again: {bundle.without or 'none were recorded'}."
        )
    most = max(turn.limits.memory_bytes for turn in recorded.turns if turn.limits is not None)
    settings = WorkerSettings(EngineSettings(warm_workers=1), memory_bytes=most)
    async with Supervisor(settings) as supervisor:
        return await _Replaying(supervisor, recorded, program).run()


class _Names:
    """The run descriptor of a replay: what was looked up then."""

    def __init__(self, recorded: Recorded) -> None:
        self._found = {(one.kind, one.key): bytes(one.json) for one in recorded.names}
        self.offer = orders.Offer()

    def begin_leg(self, turn: WorkerTurn) -> None:
        if turn.offer is not None:
            self.offer = turn.offer.offer()

    def lookup(self, kind: Lookup, key: str) -> bytes | None:
        return self._found.get((int(kind), key)) or None


class _Replaying:
    def __init__(self, supervisor: Supervisor, recorded: Recorded, program: str | None) -> None:
        self._supervisor = supervisor
        self._recorded = recorded
        self._program = recorded.program if program is None else program
        self._names = _Names(recorded)
        self._compared = Comparison(is_same_text=self._program == recorded.program)
        self._budget_ms = max(_LEAST_MS, recorded.timeout_ms)
        self._delta: Data = b""

    async def run(self) -> Replay:
        found = await self._first_difference()
        is_other = self._recorded.build != self._supervisor.build_id
        return Replay(found, self._compared.calls, self._compared.outputs, is_other)

    async def _first_difference(self) -> Difference | None:
        turns, at = self._recorded.turns, 0
        while at < len(turns):
            flavour = self._recorded.language if not at else "javascript"
            with await self._supervisor.lease(flavour=flavour) as worker:
                while True:  # the turns of one leg
                    if (found := await self._take_turn(worker, turns[at])) is not None:
                        return found
                    at += 1
                    if at == len(turns) or turns[at].order == "resume":
                        break
        return None

    async def _take_turn(self, worker: Worker, turn: WorkerTurn) -> Difference | None:
        worker.record(UNHEARD, frame_parts(_REPLAY, orders.pack_reads(turn.reads)))
        if turn.order == "capture":
            _, self._delta = await worker.capture(_MAX_DELTA)
            return None
        outcome = await self._outcome(worker, turn)
        assert turn.outcome is not None
        return self._compared.compare(turn.outcome, without_measures(outcome))

    async def _outcome(self, worker: Worker, turn: WorkerTurn) -> wire.Outcome:
        settled = self._settled(turn)
        if turn.limits is None:
            return await worker.deliver(settled)
        self._names.begin_leg(turn)
        if turn.order == "start":
            language, budget_ms = self._recorded.language, self._budget_ms
            return await worker.start(self._program, language, turn.limits, budget_ms, self._names)
        worker.send_resume(self._delta, settled, turn.limits, self._budget_ms, self._names)
        return await worker.outcome()

    def _settled(self, turn: WorkerTurn) -> list[Settlement]:
        return [one.settlement(self._compared.ids.get(one.id, one.id)) for one in turn.settled]
