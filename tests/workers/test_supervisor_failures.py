"""Workers and zygotes that die or lie: one run fails with a typed error, and the next one works."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from pathlib import Path

import pytest
from codemode_runtime import wire
from codemode_runtime.zygote_wire import Setup

from codemode.workers.errors import ProtocolViolation, RuntimeUnavailable, WorkerLost
from codemode.workers.head_start import NATIVE
from codemode.workers.zygote import LINGER_SECONDS, Zygote
from tests.harness.leftovers import ends
from tests.harness.loops import until
from tests.harness.tool_search import damage_runtime
from tests.harness.workers import ROGUE, answers, start, supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGABRT, signal.SIGTERM])
async def test_a_worker_ended_by_a_signal_mid_run_fails_that_run_and_the_next_one_works(
    number: signal.Signals,
) -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x'); for (;;);")
            await until(lambda: worker.pid)
            assert worker.pid is not None
            delivery = asyncio.create_task(worker.deliver(answers(outcome)))
            await asyncio.sleep(0)
            os.kill(worker.pid, number)
            with pytest.raises(WorkerLost, match=number.name) as lost:
                await delivery
            assert lost.value.status == -number
            assert lost.value.code == "internal_error"
        assert await value_of(found, "return 1") == 1
        assert found.stats().crashed == 1


async def test_warm_workers_that_were_killed_a_moment_ago_are_not_given_to_a_run() -> None:
    async with supervisor(warm_workers=2) as found:
        (pool,) = found._pools.values()  # pyright: ignore[reportPrivateUsage] - which ones are warm
        await until(lambda: len(pool.ready) == 2 and all(worker.pid for worker in pool.ready))
        for pid in [worker.pid for worker in pool.ready]:
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            assert ends(pid)
        assert len(pool.ready) == 2  # the loop has not turned: nobody could have told the pool
        assert await value_of(found, "return 1") == 1
        await until(lambda: found.stats().crashed == 2)


@pytest.mark.parametrize(
    "habit",
    [
        "garbage",
        "a gigabyte announced",
        "a tail nobody asked for",
        "a tail larger than any batch",
        "a million timers",
        "many messages in a large chunk",
        "fewer chunks than it says",
        "more chunks than messages",
        "a result before its end",
        "a result of many losses",
        "asks without reading",
        "no JSON",
        "an unknown message",
        "an unknown field",
        "deep JSON",
        "too many empty texts",
        "ready again",
        "a capture",
        "floods",
    ],
)
async def test_a_worker_that_breaks_the_protocol_is_killed_and_the_next_run_works(habit: str) -> None:
    async with supervisor(entry=ROGUE) as found:
        with await found.lease() as worker, pytest.raises(ProtocolViolation):
            await start(worker, habit)
        assert await value_of(found, "obeys") is None
        await until(lambda: found.stats().killed == 1)


async def test_a_worker_that_answers_twice_is_killed_after_its_first_answer() -> None:
    async with supervisor(entry=ROGUE) as found:
        with await found.lease() as worker:
            assert isinstance(await start(worker, "two answers"), wire.Done)
            await until(lambda: not worker.is_usable)
            with pytest.raises(ProtocolViolation):
                await worker.deliver([])


@pytest.mark.parametrize(
    ("habit", "status"), [("half a frame", 0), ("exits:3", 3), ("only closes its socket", -signal.SIGKILL)]
)
async def test_a_worker_that_ends_without_an_answer_is_lost(habit: str, status: int) -> None:
    async with supervisor(entry=ROGUE) as found:
        with await found.lease() as worker:
            with pytest.raises(WorkerLost) as lost:
                await start(worker, habit)
            assert lost.value.status == status
        assert await value_of(found, "obeys") is None


async def test_a_killed_zygote_fails_its_runs_and_is_replaced() -> None:
    async with supervisor() as found:
        (before,) = found.stats().zygotes
        assert before.pid is not None
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x'); for (;;);")
            delivery = asyncio.create_task(worker.deliver(answers(outcome)))
            await asyncio.sleep(0)
            os.kill(before.pid, signal.SIGKILL)
            with pytest.raises(WorkerLost):
                await delivery
        assert await value_of(found, "return 'again'") == "again"
        (after,) = found.stats().zygotes
        assert after.pid != before.pid
        assert found.stats().restarts == 1


async def test_a_zygote_that_cannot_start_is_a_clear_error_and_leaves_nothing() -> None:
    with pytest.raises(RuntimeUnavailable, match="no_such_module") as unavailable:
        async with supervisor(entry="codemode_runtime.no_such_module"):
            pass
    assert unavailable.value.code == "runtime_unavailable"


async def test_required_confinement_that_is_missing_is_an_error_at_the_start() -> None:
    with pytest.raises(RuntimeUnavailable, match="few system calls"):
        async with supervisor(entry="tests.workers.open_zygote", confinement="require"):
            pass


async def test_required_confinement_that_is_there_starts() -> None:
    async with supervisor(confinement="require") as found:
        assert await value_of(found, "return 1") == 1
        assert {layer.status for layer in found.stats().confinement} == {"active"}


async def test_a_worker_that_died_after_its_answer_is_not_reset_for_another_leg() -> None:
    async with supervisor(worker_reuse=3) as found:
        with await found.lease() as worker:
            await until(lambda: worker.pid)
            assert isinstance(await start(worker, "return 1"), wire.Done)
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)
            before = found.stats().starting
            ends(worker.pid)  # the loop, held up here, has heard nothing of it
        assert found.stats().starting == before
        assert await value_of(found, "return 2") == 2


class Ends:
    """What a pool is to its zygotes; remembers why they ended."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def zygote_is_ready(self, zygote: Zygote) -> None: ...
    def zygote_is_compiling(self, zygote: Zygote) -> None: ...

    def zygote_has_ended(self, zygote: Zygote, reason: str) -> None:
        self.reasons.append(reason)


async def test_why_the_runtime_did_not_start_is_told_though_its_end_is_heard_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage_runtime(tmp_path, monkeypatch)
    told = Ends()
    Zygote(Setup("javascript", str(tmp_path), True, 64 << 20, True), NATIVE, told)
    for thread in threading.enumerate():
        if thread.name == "codemode-keeper":
            thread.join()  # the loop, held up here, will find both: its end and its last words
    await until(lambda: told.reasons)
    assert "the guest image is damaged" in told.reasons[0]


async def test_a_process_that_the_system_refuses_fails_that_start_and_no_run_in_flight() -> None:
    async with supervisor(entry="tests.workers.crowded_zygote", warm_workers=1) as found:
        (before,) = found.stats().zygotes
        with await found.lease() as worker:
            outcome = await start(worker, "return await tools.call('x')")
            with pytest.raises(RuntimeUnavailable, match="refused a process for a worker: Resource temp"):
                await found.lease()
            ended = await worker.deliver(answers(outcome))
            assert isinstance(ended, wire.Done)
        (after,) = found.stats().zygotes
        assert (after.pid, found.stats().restarts, found.stats().crashed) == (before.pid, 0, 0)


async def test_where_no_thread_can_start_the_error_says_so_and_no_descriptor_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = set(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeUnavailable, match="no thread for it: can't start new thread"):
            async with supervisor():
                pass
    await until(lambda: set(os.listdir("/proc/self/fd")) <= before)


async def test_a_worker_that_does_not_end_with_its_lease_is_killed() -> None:
    async with supervisor(entry=ROGUE) as found:
        with await found.lease() as worker:
            assert isinstance(await start(worker, "answers, then stops reading"), wire.Idle)
            pid = worker.pid
        assert pid is not None
        assert LINGER_SECONDS <= 0.05
        await until(lambda: not Path(f"/proc/{pid}").exists())
        assert found.stats().crashed == 0


async def test_a_worker_maps_no_more_than_its_guest_and_no_memory_that_is_writable_and_executable() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            assert isinstance(await start(worker, "return 1"), wire.Done)
            shown = shown_of(worker.pid, "limits").splitlines()[1:]
            bounds = {line[:25].strip(): line[26:].split()[1] for line in shown}
            assert (bounds["Max address space"], bounds["Max stack size"]) == (str(32 << 30), str(96 << 20))
            maps = shown_of(worker.pid, "maps").splitlines()
            assert [line for line in maps if line.split()[1].startswith("rwx")] == []


def shown_of(pid: int | None, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text("utf-8")
    except PermissionError:
        return ""  # maps: only root may look; tests/runtime/test_confine_hostile.py tries it from the inside


async def test_a_relative_cache_folder_is_one_of_the_host_s_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with supervisor(cache=Path("made-here")) as found:
        assert await value_of(found, "return 1") == 1
    assert [name for name in os.listdir("made-here") if name.endswith(".cwasm")] != []
    assert "made-here" not in os.listdir("/")
