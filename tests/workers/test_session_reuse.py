"""With workerReuse "session" a worker serves one tenant: an agent and a session with the same tools."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any

import pytest
from codemode_runtime import wire
from codemode_runtime.shapes import Limits

from codemode.workers.kept import KeptWorkers, Service, Tenant
from codemode.workers.supervisor import Supervisor
from codemode.workers.worker import Worker
from tests.harness.engine import Desk, engine, value_of, waiting
from tests.harness.loops import until
from tests.harness.workers import start, supervisor

pytestmark = pytest.mark.usefixtures("leaves_nothing")
TOOLS = object()
ANNA = Tenant("agent", "anna", TOOLS)
COUNTS = "globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n"


def settled(found: Supervisor) -> bool:
    return not found.stats().starting


async def leg(found: Supervisor, tenant: Tenant | None, program: str = COUNTS, **options: Any) -> int:
    """One leg; the token of the worker that served it."""
    with await found.lease(session="s", tenant=tenant) as worker:
        await start(worker, program, **options)
    await until(lambda: settled(found))
    return worker.token


async def test_a_worker_serves_further_legs_of_its_tenant_with_a_fresh_guest_each() -> None:
    async with supervisor(worker_reuse="session") as found:
        tokens: set[int] = set()
        for _ in range(4):
            with await found.lease(tenant=ANNA) as worker:
                outcome = await start(worker, COUNTS)
                assert isinstance(outcome, wire.Done)
                assert wire.decode_value(outcome.result.value) == 1
                tokens.add(worker.token)
            await until(lambda: settled(found))
            assert found.stats().kept == 1
    assert len(tokens) == 1


@pytest.mark.parametrize(
    "other",
    [
        Tenant("agent", "berta", TOOLS),
        Tenant("other agent", "anna", TOOLS),
        Tenant("agent", "anna", object()),
        None,
    ],
    ids=["session", "agent", "tools", "nobody"],
)
async def test_a_worker_is_never_given_to_another_tenant(other: Tenant | None) -> None:
    async with supervisor(worker_reuse="session") as found:
        first = await leg(found, ANNA)
        others = {await leg(found, other) for _ in range(3)}
        assert first not in others
        assert len(others) == (3 if other is None else 1)
        assert await leg(found, ANNA) == first


@pytest.mark.parametrize("reuse", [1, 3])
async def test_tenants_do_not_matter_where_a_number_says_how_often_workers_are_used(reuse: int) -> None:
    async with supervisor(worker_reuse=reuse, warm_workers=0) as found:
        tokens = [await leg(found, tenant) for tenant in (ANNA, Tenant("a", "b", TOOLS), None)]
        assert len(set(tokens)) == 3 // reuse
        assert found.stats().kept == 0


async def test_a_worker_whose_program_ran_into_a_limit_serves_nobody_again() -> None:
    async with supervisor(worker_reuse="session") as found:
        bomb = "const a = []; for (;;) a.push('x'.repeat(99_999))"
        first = await leg(found, ANNA, bomb, limits=Limits(memory_bytes=8 << 20))
        assert await leg(found, ANNA) != first


async def test_a_kept_worker_that_is_killed_is_replaced() -> None:
    async with supervisor(worker_reuse="session") as found:
        with await found.lease(tenant=ANNA) as worker:
            await start(worker, COUNTS)
        await until(lambda: found.stats().kept == 1)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)
        await until(lambda: not worker.is_usable)
        assert await leg(found, ANNA) != worker.token


async def test_of_too_many_kept_workers_the_one_used_longest_ago_ends() -> None:
    async with supervisor(worker_reuse="session", max_workers=2) as found:
        tenants = [Tenant("agent", f"s{i}", TOOLS) for i in range(3)]
        tokens = [await leg(found, tenant) for tenant in tenants]
        assert found.stats().kept == 2
        assert await leg(found, tenants[2]) == tokens[2]
        assert await leg(found, tenants[1]) == tokens[1]
        assert await leg(found, tenants[0]) != tokens[0]


async def test_kept_workers_end_when_it_has_been_quiet_for_long() -> None:
    async with supervisor(worker_reuse="session", idle_seconds=0.05) as found:
        await leg(found, ANNA)
        await until(lambda: found.stats().kept == 0)


async def test_many_callers_at_once_never_share_a_worker_between_sessions() -> None:
    served: dict[int, set[Tenant]] = {}

    async def caller(found: Supervisor, tenant: Tenant) -> None:
        for _ in range(12):
            with await found.lease(session=tenant.session, tenant=tenant) as worker:
                served.setdefault(worker.token, set()).add(tenant)
                outcome = await start(worker, COUNTS)
                assert isinstance(outcome, wire.Done)
                assert wire.decode_value(outcome.result.value) == 1

    async with supervisor(worker_reuse="session", max_workers=3) as found:
        tenants = [Tenant("agent", f"s{i % 4}", TOOLS) for i in range(8)]
        await asyncio.gather(*(caller(found, tenant) for tenant in tenants))
        assert found.stats().kept <= 3
    assert all(len(tenants) == 1 for tenants in served.values())
    assert len(served) < 96


async def test_a_leg_that_gives_up_while_it_waits_leaves_the_worker_to_its_tenant() -> None:
    async with supervisor(worker_reuse="session", warm_workers=0) as found:
        first = await leg(found, ANNA)
        given_up = asyncio.create_task(found.lease(tenant=Tenant("agent", "berta", TOOLS)))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.wait([given_up])
        assert await leg(found, ANNA) == first


# ---- through the engine


async def test_runs_of_a_session_share_a_worker_and_those_of_others_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    served: list[tuple[int, str, str]] = []
    lease = Supervisor.lease

    async def noting(self: Supervisor, **given: Any) -> Worker:
        worker = await lease(self, **given)
        tenant: Tenant | None = given.get("tenant")
        served.append((worker.token, tenant.agent if tenant else "", tenant.session if tenant else ""))
        return worker

    monkeypatch.setattr(Supervisor, "lease", noting)
    desk = Desk()
    async with engine(desk.tools, settings={"workerReuse": "session"}) as made:
        for session in ("s1", "s2", "s1", "s2"):
            assert value_of(await made.exec(COUNTS, session=session, agent="a")) == 1
            await until(lambda: not made.stats().workers.starting)
        await made.exec(COUNTS, session="s1", agent="b")
        for _ in range(2):
            await made.exec(COUNTS)
        run = waiting(await made.exec("await yield_control(); return 1", session="s1", agent="a"))
        await until(lambda: not made.stats().workers.starting)
        assert value_of(await made.wait(run.run_id, session="s1", agent="a")) == 1
        narrowed = await made.exec(COUNTS, session="s1", agent="a", allow=["nothing"])
        assert value_of(narrowed) == 1
    tokens: dict[tuple[str, str], set[int]] = {}
    for token, agent, session in served[:9]:
        tokens.setdefault((agent, session), set()).add(token)
    assert {who: len(workers) for who, workers in tokens.items()} == {
        ("a", "s1"): 1,
        ("a", "s2"): 1,
        ("b", "s1"): 1,
        ("", ""): 2,
    }
    assert served[9][0] not in tokens["a", "s1"]  # other tools


# ---- alone


def test_a_worker_that_was_lent_for_two_minutes_serves_no_further_leg() -> None:
    service = Service(legs=1000)
    service.begin(0.0, is_last=False)
    assert service.end(119.0)
    service.begin(500.0, is_last=False)
    assert not service.end(502.0)


def test_a_last_leg_is_the_last_one_whatever_the_number() -> None:
    service = Service(legs=1000)
    service.begin(0.0, is_last=True)
    assert not service.end(0.0)


def test_nothing_is_kept_for_a_tenant_that_never_had_a_worker() -> None:
    assert KeptWorkers(1).take(ANNA) is None
