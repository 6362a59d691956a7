"""Any node goes on with any run: one suspended at A, asked for at B, while A lives, is dead, closed or frozen.

Two real processes on one store, an SQLite file or a PostgreSQL database, with the same answers.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from codemode_snapshots import key_id
from codemode_snapshots.postgres_schema import migrate

from tests.e2e.durable_host import Witness
from tests.e2e.hosts import Host
from tests.e2e.test_durable_runs import approval_in, suspended, value
from tests.harness.postgres import run_sql

KEY = bytes(range(32))
HOLD = "const call = tools.hold({ name: 'x' }).catch((error) => error.code); await yield_control(); return await call"
AGAIN = HOLD.replace("hold", "hold_again")
PAY = "return await tools.pay({ amount: 1 }).catch((error) => error.code)"
Launch = Callable[[], Host]


class Shared(Protocol):
    """A store that several processes use."""

    address: str

    def lapse(self) -> None:
        """The leases of all nodes that have joined so far are over, as if they had not beaten."""
        ...


class SharedFile:
    def __init__(self, address: str) -> None:
        self.address = address

    def lapse(self) -> None:
        connection = sqlite3.connect(self.address)
        with connection:
            connection.execute("UPDATE nodes SET lease_until_ms = 1")
        connection.close()


class SharedDatabase:
    def __init__(self, address: str) -> None:
        migrate(address, key_id(KEY).hex())
        self.address = address

    def lapse(self) -> None:
        run_sql(self.address, "UPDATE codemode.nodes SET lease_until = least(lease_until, now())")


@pytest.fixture(params=["sqlite", "postgres"])
def shared(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shared:
    monkeypatch.setenv("CODEMODE_STORE_KEY", KEY.hex())
    if request.param == "sqlite":
        return SharedFile(str(tmp_path / "runs.sqlite"))
    return SharedDatabase(request.getfixturevalue("database"))


@pytest.fixture
def witness(tmp_path: Path) -> Witness:
    return Witness(tmp_path / "witness")


@pytest.fixture
def launch(shared: Shared, tmp_path: Path) -> Iterator[Launch]:
    launched: list[Host] = []

    def start() -> Host:
        launched.append(Host(shared.address, tmp_path / "witness"))
        return launched[-1]

    yield start
    for host in launched:
        host.kill()


def killed(a: Host, shared: Shared) -> None:
    a.kill()
    shared.lapse()


def closed(a: Host, shared: Shared) -> None:
    a.__exit__()


def frozen(a: Host, shared: Shared) -> None:
    os.kill(a.process.pid, signal.SIGSTOP)
    shared.lapse()


LEFT = [killed, closed, frozen]


def finished(b: Host, run_id: str) -> dict[str, Any]:
    """What B's waits come to."""
    result = b.ask("wait", run_id=run_id)
    while result["status"] == "waiting" and result["reason"] != "approval":
        result = b.ask("wait", run_id=run_id)
    return result


def names(witness: Witness, what: str) -> list[str]:
    return [line["key"] for line in witness.lines() if line["what"] == what]


# --- while A lives


@pytest.mark.guarantee("any-node")
def test_a_run_that_yielded_at_one_node_is_finished_at_another(launch: Launch) -> None:
    a, b = launch(), launch()
    run_id = suspended(a, "const kept = [1]; await yield_control(); return kept")
    assert b.ask("runs") == [run_id]
    assert value(finished(b, run_id)) == [1]
    assert value(a.ask("wait", run_id=run_id)) == [1]  # its result can be asked for again, anywhere
    assert a.ask("runs") == []


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("program", [HOLD, AGAIN])
def test_a_call_in_flight_at_one_node_is_awaited_at_another_and_runs_once(
    launch: Launch, witness: Witness, program: str
) -> None:
    a, b = launch(), launch()
    run_id = suspended(a, program, "x")
    waiting = b.order("wait", run_id=run_id)
    a.ask("answer", name="x", value="from A")
    result = b.take(waiting)
    assert value(result if result["status"] == "completed" else finished(b, run_id)) == "from A"
    assert len(witness.lines()) == 1


@pytest.mark.guarantee("any-node")
def test_a_call_that_had_settled_at_one_node_is_delivered_at_another(launch: Launch) -> None:
    a, b = launch(), launch()
    run_id = suspended(a, HOLD, "x")
    a.ask("answer", name="x", value="early")
    a.ask("kept", results=1)
    assert value(finished(b, run_id)) == "early"


@pytest.mark.guarantee("any-node")
def test_of_two_approvers_at_two_nodes_one_wins_and_the_call_runs_once(
    launch: Launch, witness: Witness
) -> None:
    a, b = launch(), launch()
    asked = a.ask("exec", program=PAY)
    run_id, approval = asked["runId"], approval_in(asked)
    assert b.ask("wait", run_id=run_id)["reason"] == "approval"
    orders = [(host, host.order("approve", run_id=run_id, approval=approval)) for host in (a, b)]
    won = [host for host, order in orders if host.take(order)]
    assert len(won) == 1
    won[0].ask("held", names=["pay 1"])
    won[0].ask("answer", name="pay 1", value="paid")
    other = b if won[0] is a else a
    assert value(finished(other, run_id)) == "paid"
    assert len(names(witness, "pay")) == 1


@pytest.mark.guarantee("any-node")
def test_a_denial_at_another_node_reaches_the_program(launch: Launch, witness: Witness) -> None:
    a, b = launch(), launch()
    asked = a.ask("exec", program=PAY)
    assert b.ask("deny", run_id=asked["runId"], approval=approval_in(asked)) is True
    assert value(finished(a, asked["runId"])) == "denied"
    assert names(witness, "pay") == []


@pytest.mark.guarantee("any-node")
def test_an_abort_at_another_node_is_an_abort_everywhere(launch: Launch) -> None:
    a, b = launch(), launch()
    run_id = suspended(a, HOLD, "x")
    assert b.ask("abort", run_id=run_id) is True
    for host in (a, b):
        assert host.ask("wait", run_id=run_id)["code"] == "aborted"
        assert host.ask("runs") == []


@pytest.mark.guarantee("any-node")
def test_a_leg_under_way_at_one_node_ends_when_another_aborts_it(launch: Launch) -> None:
    a, b = launch(), launch()
    run_id = suspended(a, "await yield_control(); return await tools.hold({ name: 'x' })")
    leg = a.order("wait", run_id=run_id)
    a.ask("held", names=["x"])
    assert b.ask("wait", run_id=run_id)["code"] == "invalid_input"
    assert b.ask("abort", run_id=run_id) is True
    assert a.take(leg)["code"] == "aborted"


# --- when A is gone, or does not answer


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("leave", LEFT)
def test_a_run_that_a_gone_node_left_is_finished_at_another(
    launch: Launch, shared: Shared, leave: Callable[[Host, Shared], None]
) -> None:
    a = launch()
    run_id = suspended(a, "await yield_control(); return 7")
    leave(a, shared)
    assert value(finished(launch(), run_id)) == 7


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("leave", LEFT)
def test_a_call_of_a_gone_node_is_interrupted_and_runs_nowhere_else(
    launch: Launch, shared: Shared, witness: Witness, leave: Callable[[Host, Shared], None]
) -> None:
    a = launch()
    run_id = suspended(a, HOLD, "x")
    leave(a, shared)
    assert value(finished(launch(), run_id)) == "interrupted"
    assert len(witness.lines()) == 1


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("leave", LEFT)
def test_an_idempotent_call_of_a_gone_node_runs_again_with_the_same_key(
    launch: Launch, shared: Shared, witness: Witness, leave: Callable[[Host, Shared], None]
) -> None:
    a = launch()
    run_id = suspended(a, AGAIN, "x")
    leave(a, shared)
    b = launch()
    waiting = b.order("wait", run_id=run_id)
    b.ask("held", names=["x"])
    b.ask("answer", name="x", value="from B")
    result = b.take(waiting)
    assert value(result if result["status"] == "completed" else finished(b, run_id)) == "from B"
    first, second = names(witness, "hold_again")
    assert first == second


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("leave", LEFT)
def test_an_approval_that_a_gone_node_asked_for_is_given_at_another(
    launch: Launch, shared: Shared, leave: Callable[[Host, Shared], None]
) -> None:
    a = launch()
    asked = a.ask("exec", program=PAY)
    leave(a, shared)
    b = launch()
    assert b.ask("approve", run_id=asked["runId"], approval=approval_in(asked)) is True
    b.ask("held", names=["pay 1"])
    b.ask("answer", name="pay 1", value="paid")
    assert value(finished(b, asked["runId"])) == "paid"


@pytest.mark.guarantee("any-node")
def test_a_leg_whose_node_died_is_aborted_for_nodes_that_were_open_by_then(
    launch: Launch, shared: Shared, witness: Witness
) -> None:
    a = launch()
    run_id = suspended(a, "await yield_control(); return await tools.hold({ name: 'x' })")
    a.order("wait", run_id=run_id)
    a.ask("held", names=["x"])
    killed(a, shared)
    b = launch()
    assert b.ask("wait", run_id=run_id)["code"] == "aborted"
    assert len(witness.lines()) == 1


@pytest.mark.guarantee("requests-run-once")
def test_a_request_whose_node_died_runs_again_only_if_it_had_done_nothing(
    launch: Launch, shared: Shared, witness: Witness
) -> None:
    a = launch()
    done = "await tools.note({ name: 'once' }); return await tools.hold({ name: 'x' })"
    a.order("exec", program=done, request="r-1")
    a.ask("held", names=["x"])
    idle = "return await tools.hold_again({ name: 'y' })"
    a.order("exec", program=idle, request="r-2")
    a.ask("held", names=["y"])
    killed(a, shared)
    b = launch()
    again = b.ask("exec", program=done, request="r-1")
    assert (again["code"], again["error"]) == (
        "aborted",
        "The engine died while this run was going on; it is gone.",
    )
    b.order("exec", program=idle, request="r-2")
    b.ask("held", names=["y"])
    b.ask("answer", name="y", value=2)
    assert value(b.ask("exec", program=idle, request="r-2")) == 2
    assert [line["what"] for line in witness.lines()] == ["note", "hold", "hold_again", "hold_again"]


@pytest.mark.guarantee("any-node")
def test_a_frozen_node_that_goes_on_settles_nothing_and_works_on_under_another_name(
    launch: Launch, shared: Shared
) -> None:
    a = launch()
    run_id = suspended(a, HOLD, "x")
    frozen(a, shared)
    b = launch()
    assert value(finished(b, run_id)) == "interrupted"
    a.order("answer", name="x", value="late")
    os.kill(a.process.pid, signal.SIGCONT)
    assert value(a.ask("wait", run_id=run_id)) == "interrupted"  # not what A would have said
    assert value(a.ask("exec", program="return 1")) == 1
