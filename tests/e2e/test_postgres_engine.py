"""Engines on a PostgreSQL database that is away, cut off or far from the nodes' clocks; what a step costs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import StoreUnavailable, key_id
from codemode_snapshots.postgres import PostgresStore
from codemode_snapshots.postgres_schema import migrate

from codemode import ConfigError, Engine, Failed, Tool, Waiting, tool
from tests.e2e.hosts import Host
from tests.e2e.test_durable_runs import suspended, value
from tests.harness.postgres import PostgresServer, postgres_server, run_sql

KEY = bytes(range(32))
CONFIG = {"enabled": True, "timeoutMs": 5_000}
HOUR_MS = 3_600_000
HOLD = "const call = tools.hold({}); await yield_control(); return await call"
CUT = """SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
    WHERE application_name = 'codemode feed' AND datname = current_database()"""


@pytest.fixture
def url(database: str) -> str:
    migrate(database, key_id(KEY).hex())
    return database


@contextmanager
def own_server() -> Generator[PostgresServer]:
    with postgres_server() as server:
        migrate(server.url(), key_id(KEY).hex())
        yield server


class Gate:
    """A tool that answers when it is told to."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    def tool(self) -> Tool:
        @tool
        async def hold() -> str:
            """Answers later."""
            await self.opened.wait()
            return "answered"

        return hold


def engine(url: str, *tools: Tool) -> Engine:
    return Engine(list(tools), CONFIG, store=url, store_key=KEY, settings={"warmWorkers": 1})


async def suspended_at(one: Engine, program: str) -> str:
    result = await one.exec(program, session="s")
    assert isinstance(result, Waiting), result
    return result.run_id


async def finished(one: Engine, run_id: str) -> object:
    result = await one.wait(run_id, session="s")
    while isinstance(result, Waiting):
        result = await one.wait(run_id, session="s")
    return result.unwrap()


def test_a_postgresql_store_needs_a_key(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEMODE_STORE_KEY", raising=False)
    with pytest.raises(ConfigError, match="store_key: is needed with a PostgreSQL store"):
        Engine(store=url)
    monkeypatch.setenv("CODEMODE_STORE_KEY", KEY.hex())
    Engine(store=url)


async def test_an_engine_does_not_start_on_a_database_without_tables(database: str) -> None:
    with pytest.raises(StoreUnavailable, match="run `codemode store migrate`"):
        await engine(database).start()


async def test_a_database_that_is_away_costs_no_run() -> None:
    with own_server() as server:
        async with engine(server.url()) as one:
            run_id = await suspended_at(one, "await yield_control(); return 7")
            server.stop()
            away = await one.wait(run_id, session="s")
            assert isinstance(away, Failed)
            assert away.code == "internal_error"
            assert str(server.folder) not in away.error
            failed = await one.exec("await yield_control()", session="s")
            assert isinstance(failed, Failed)
            assert (await one.exec("return 1", session="s")).unwrap() == 1  # needs no store
            server.start()
            assert await finished(one, run_id) == 7


async def test_a_line_of_hints_that_is_cut_costs_no_answer(url: str) -> None:
    gate = Gate()
    async with engine(url, gate.tool()) as ours, engine(url, gate.tool()) as theirs:
        run_id = await suspended_at(theirs, HOLD)
        waiting = asyncio.create_task(ours.wait(run_id, session="s"))
        await asyncio.to_thread(run_sql, url, CUT)
        gate.opened.set()
        await waiting
        assert await finished(ours, run_id) == "answered"


@pytest.mark.parametrize("off_ms", [-HOUR_MS, HOUR_MS])
def test_a_node_whose_clock_is_an_hour_off_goes_on_with_the_runs_of_others_and_they_with_its(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off_ms: int
) -> None:
    monkeypatch.setenv("CODEMODE_STORE_KEY", KEY.hex())
    program = "await yield_control(); return 7"
    odd = Host(str(off_ms), url, tmp_path / "witness", module="tests.e2e.odd_clock_host")
    with Host(url, tmp_path / "witness") as right, odd:
        for first, second in ((right, odd), (odd, right)):
            run_id = suspended(first, program)
            for host in (right, odd):
                assert host.ask("expire") == 0
            assert value(second.ask("wait", run_id=run_id)) == 7


async def test_a_row_that_was_forged_is_refused_and_does_not_reach_the_program(url: str) -> None:
    gate = Gate()
    async with engine(url, gate.tool()) as one:
        run_id = await suspended_at(one, HOLD)
        forged = "UPDATE codemode.calls SET outcome = 'anything', settled = 1"
        await asyncio.to_thread(run_sql, url, forged)
        result = await one.wait(run_id, session="s")
        assert isinstance(result, Failed)
        assert result.code == "snapshot_restore_failed"


async def test_a_decision_is_carried_out_although_a_wait_looks_at_the_run_meanwhile(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the store's word that a call is decided and the carrying out, a wait must not look at it."""
    decide, look = PostgresStore.decide, PostgresStore.look
    looking, decided, looked = threading.Event(), threading.Event(), threading.Event()

    def slowly_decided(store: PostgresStore, *given: Any) -> Any:
        outcome = decide(store, *given)
        decided.set()
        looked.wait(0.5)  # a wait that may look now, does
        return outcome

    def slowly_seen(store: PostgresStore, *given: Any) -> Any:
        looking.set()
        decided.wait(0.5)
        found = look(store, *given)
        looked.set()
        return found

    @tool(requires_approval=True)
    async def pay() -> str:
        """Pays."""
        return "paid"

    async with engine(url, pay) as one:
        result = await one.exec("return await tools.pay({})", session="s")
        assert isinstance(result, Waiting)
        approval = result.pending_tool_calls[0].approval
        assert approval is not None
        monkeypatch.setattr(PostgresStore, "decide", slowly_decided)
        monkeypatch.setattr(PostgresStore, "look", slowly_seen)
        waiting = asyncio.create_task(one.wait(result.run_id, session="s"))
        await asyncio.to_thread(looking.wait, 30)
        assert await one.approve(result.run_id, approval.id, session="s")
        assert (await waiting).unwrap() == "paid"


async def test_round_trips_are_few(url: str) -> None:
    """An exec that ends asks nothing of the store; a suspension one thing; a wait that ends it two."""
    store = PostgresStore(url)
    one = Engine([], CONFIG, store=store, store_key=KEY, settings={"warmWorkers": 1})
    async with one:
        store.totals()
        await one.exec("return 0", session="s")  # what was learned of results is read once for each agent
        counted: dict[str, int] = {}
        before = store.round_trips
        assert (await one.exec("return 1", session="s")).unwrap() == 1
        counted["exec that ends"], before = store.round_trips - before, store.round_trips
        run_id = await suspended_at(one, "await yield_control(); return 7")
        counted["suspension"], before = store.round_trips - before, store.round_trips
        assert await finished(one, run_id) == 7
        counted["wait"] = store.round_trips - before
    store.close()
    assert counted["exec that ends"] == 0
    assert counted["suspension"] == 1
    assert counted["wait"] <= 3
