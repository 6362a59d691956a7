"""Stored snapshots that somebody changed: refused with a result, never run, no harm to their neighbours."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from codemode_snapshots import Claim, MemoryStore, Opened, Pending, RunScope, Snapshot, new_key, seal, unseal
from codemode_snapshots.label import Label
from msgspec.structs import replace

from codemode import Engine, Waiting
from tests.harness.engine import Desk, engine, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
KEY = b"k" * 32
PROGRAM = "await yield_control(); return await tools.hold({ name: 'a' })"
Tamper = Callable[[bytes, Label], bytes]
LIES = b"lies" * 100


def flipped(at: int) -> Tamper:
    def tamper(envelope: bytes, _: Label) -> bytes:
        changed = bytearray(envelope)
        changed[at] ^= 1
        return bytes(changed)

    return tamper


def opened(envelope: bytes, label: Label) -> Opened:
    return unseal(
        KEY,
        envelope,
        build_id=label.build_id,
        run_id=label.run_id,
        scope=label.scope,
        now_ms=label.created_at_ms,
        max_bytes=len(envelope),
    )


def under_a_strangers_key(envelope: bytes, label: Label) -> bytes:
    parts = opened(envelope, label)
    return seal(new_key(), label, state=parts.state, delta=parts.delta)


def of_another_run(envelope: bytes, label: Label) -> bytes:
    parts = opened(envelope, label)
    return seal(KEY, replace(label, run_id="run_another"), state=parts.state, delta=parts.delta)


def of_another_session(envelope: bytes, label: Label) -> bytes:
    parts = opened(envelope, label)
    theirs = replace(label, scope=replace(label.scope, session="theirs"))
    return seal(KEY, theirs, state=parts.state, delta=parts.delta)


def with_a_lie_for_a_delta(envelope: bytes, label: Label) -> bytes:
    """What only a thief of the key can make; the worker refuses it."""
    parts = opened(envelope, label)
    return seal(KEY, label, state=parts.state, delta=hashlib.sha256(LIES).digest())


def nothing(envelope: bytes, _: Label) -> bytes:
    """The state stays as it is, and the delta is changed."""
    return envelope


TAMPERINGS: dict[str, Tamper] = {
    "damaged in front": flipped(0),
    "damaged in the middle": flipped(300),
    "damaged at the end": flipped(-1),
    "cut short": lambda envelope, _: envelope[:-1],
    "nothing left": lambda _envelope, _label: b"",
    "under a stranger's key": under_a_strangers_key,
    "of another run": of_another_run,
    "of another session": of_another_session,
    "with a lie for a delta": with_a_lie_for_a_delta,
    "with another delta": nothing,
}
STAYS = "under a stranger's key"  # the one that an engine with that key could go on with


def tamper_in_file(path: Path, run_id: str, tamper: Tamper) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        (number, *words, envelope) = file.execute(
            "SELECT runs.id, build_id, agent, session, agent_run, tool_call, created_at_ms, expires_at_ms,"
            " state FROM runs JOIN bodies ON bodies.id = runs.id WHERE run_id = ?",
            (run_id,),
        ).fetchone()
        build_id, agent, session, agent_run, tool_call, created, expires = words
        label = Label(build_id, run_id, RunScope(agent, session, agent_run, tool_call), created, expires)
        file.execute("UPDATE bodies SET state = ? WHERE id = ?", (tamper(envelope, label), number))
        if tamper is with_a_lie_for_a_delta:
            file.execute("UPDATE bodies SET delta = ? WHERE id = ?", (LIES, number))
        if tamper is nothing:
            file.execute("UPDATE bodies SET delta = zeroblob(length(delta)) WHERE id = ?", (number,))


async def refused(made: Engine, ids: dict[str, str]) -> None:
    for how, run_id in ids.items():
        result = await made.wait(run_id)
        assert (how, result.to_dict().get("code")) == (how, "snapshot_restore_failed")
        assert (await made.wait(run_id)).to_dict().get("code") == "snapshot_restore_failed"  # as it was
    assert [found["runId"] for found in await made.runs()] == [ids[STAYS]]


@pytest.mark.parametrize("restarted", [False, True], ids=["same engine", "next engine"])
async def test_snapshots_changed_in_their_file_cannot_be_restored_and_their_neighbour_can(
    restarted: bool, tmp_path: Path
) -> None:
    desk, path = Desk(), tmp_path / "runs.sqlite"

    async def look(made: Engine, ids: dict[str, str], neighbour: Waiting) -> None:
        assert value_of(await made.wait(neighbour.run_id)) == "untouched"
        await refused(made, ids)
        assert desk.started == []

    async with engine(desk.tools, store=path, store_key=KEY) as made:
        ids = {how: waiting(await made.exec(PROGRAM)).run_id for how in TAMPERINGS}
        neighbour = waiting(await made.exec("await yield_control(); return 'untouched'"))
        for how, run_id in ids.items():
            tamper_in_file(path, run_id, TAMPERINGS[how])
        if not restarted:
            await look(made, ids, neighbour)
            return
    async with engine(desk.tools, store=path, store_key=KEY) as made:
        await look(made, ids, neighbour)


async def test_snapshots_changed_in_memory_cannot_be_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, save, next_one = Desk(), MemoryStore.save, iter(TAMPERINGS.values())

    def save_changed(
        store: MemoryStore,
        snapshot: Snapshot,
        calls: Sequence[Pending],
        node: str,
        *,
        claim: Claim | None = None,
    ) -> None:
        tamper = next(next_one)
        changed = replace(snapshot, state=tamper(snapshot.state, snapshot.label))
        if tamper in (with_a_lie_for_a_delta, nothing):
            changed = replace(changed, delta=LIES)
        save(store, changed, calls, node, claim=claim)

    async with engine(desk.tools, {"checkpoints": "none"}, store_key=KEY) as made:
        monkeypatch.setattr(MemoryStore, "save", save_changed)
        ids = {how: waiting(await made.exec(PROGRAM)).run_id for how in TAMPERINGS}
        await refused(made, ids)
    assert desk.started == []
