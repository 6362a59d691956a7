"""Any node goes on with any run: suspended at A, asked for at B, while A lives, is dead, closed or stopped.

Two real processes on one store, an SQLite file or a PostgreSQL database, with the same answers. `TABLE` is the
whole of it: a row for what a run waits for at A and what B does, a column for what has become of A.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.durable_host import Witness
from tests.e2e.hosts import Host
from tests.e2e.shared_stores import KEY, Shared, SharedDatabase, SharedFile
from tests.e2e.test_durable_runs import approval_in, suspended, value

pytestmark = pytest.mark.timeout(240)
YIELD = "const kept = [7]; await yield_control(); return kept[0]"
TIMER = "const due = new Promise((done) => setTimeout(() => done('due'), 20)); await yield_control(); return await due"
HOLD = "const call = tools.hold({ name: 'NAME' }).catch((error) => error.code); await yield_control(); return await call"
AGAIN = HOLD.replace("hold", "hold_again")
PAY = "return await tools.pay({ amount: AMOUNT }).catch((error) => error.code)"
LEG = "await yield_control(); return await tools.hold({ name: 'NAME' })"
QUIET_LEG = LEG.replace("hold", "hold_again")  # it has done nothing that must not be repeated
Launch = Callable[[], Host]

STATES = ("alive", "killed", "closed", "stopped")
TABLE: dict[str, tuple[Any, Any, Any, Any]] = {
    #                         alive      killed         closed         stopped
    "leg, wait": ("invalid_input", "aborted", "aborted", "aborted"),  # busy, while A leads it
    "leg, abort": (True, True, False, True),  # an engine that closes ends its legs itself
    "leg without effects, wait": ("invalid_input", "from B", "aborted", "from B"),
    "yield, list": (True, True, True, True),
    "yield, trajectory": (True, True, True, True),
    "yield, wait": (7, 7, 7, 7),
    "yield, abort": (True, True, True, True),
    "call, wait": ("from A", "interrupted", "interrupted", "interrupted"),
    "call, abort": (True, True, True, True),
    "idempotent call, wait": ("from A", "from B", "from B", "from B"),
    "settled call, wait": ("early", "early", "early", "early"),
    "timer, wait": ("due", "due", "due", "due"),
    "approval, wait": ("denied", "denied", "denied", "denied"),  # while B waits
    "approval, approve": ("from B", "from B", "from B", "from B"),
    "approval, deny": ("denied", "denied", "denied", "denied"),
    "approved call, wait": ("from A", "interrupted", "interrupted", "interrupted"),
}
# What is one and the same afterwards, wherever it is asked for.
ENDED = [cell for cell in TABLE if cell.endswith(", wait")]


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


# --- the table


class RunsOfA:
    """One run at A for each row of the table, each where the row says."""

    def __init__(self, a: Host) -> None:
        self.a = a
        self.approvals: dict[str, str] = {}
        self.legs: dict[str, int] = {}
        # legs begin last and are asked about first: their budget runs meanwhile
        self.ids = {cell: self._begin(cell, list(TABLE).index(cell)) for cell in reversed(TABLE)}
        a.ask("kept", results=1)

    def _begin(self, cell: str, number: int) -> str:
        match cell.split(", ")[0]:
            case "yield":
                return suspended(self.a, YIELD)
            case "timer":
                return suspended(self.a, TIMER)
            case "call":
                return suspended(self.a, HOLD.replace("NAME", cell), cell)
            case "idempotent call":
                return suspended(self.a, AGAIN.replace("NAME", cell), cell)
            case "settled call":
                run_id = suspended(self.a, HOLD.replace("NAME", cell), cell)
                self.a.ask("answer", name=cell, value="early")
                return run_id
            case "approval" | "approved call" as waits_for:
                asked = self.a.ask("exec", program=PAY.replace("AMOUNT", str(number)))
                self.approvals[cell] = approval_in(asked)
                if waits_for == "approved call":
                    self.decide(self.a, "approve", cell, asked["runId"])
                    self.a.ask("held", names=[f"pay {number}"])
                return asked["runId"]
            case leg:
                run_id = suspended(self.a, (LEG if leg == "leg" else QUIET_LEG).replace("NAME", cell))
                self.legs[cell] = self.a.order("wait", run_id=run_id)
                self.a.ask("held", names=[cell])
                return run_id

    def decide(self, host: Host, how: str, cell: str, run_id: str) -> Any:
        return host.ask(how, run_id=run_id, approval=self.approvals[cell])

    def called(self, cell: str) -> str:
        """The name of the call that the row's run waits for."""
        return f"pay {list(TABLE).index(cell)}" if "appro" in cell else cell


def become(state: str, a: Host, shared: Shared) -> None:
    match state:
        case "killed":
            a.kill()
            shared.lapse(a.process.pid)
        case "closed":
            a.__exit__()
        case "stopped":
            os.kill(a.process.pid, signal.SIGSTOP)
            shared.lapse(a.process.pid)
        case _:
            pass


def asked_at(b: Host, cell: str, runs: RunsOfA, want: Any) -> Any:
    """What B says to the row's question. `want` tells who has to answer the call that it waits for."""
    run_id, what = runs.ids[cell], cell.split(", ")[1]
    match what:
        case "list":
            return run_id in b.ask("runs")
        case "trajectory":
            return b.ask("trajectory", run_id=run_id)
        case "abort":
            return b.ask("abort", run_id=run_id)
        case "approve" | "deny":
            assert runs.decide(b, what, cell, run_id) is True
            assert runs.decide(b, what, cell, run_id) is False  # it is decided
        case _:
            pass
    waiting = b.order("wait", run_id=run_id)
    if cell == "approval, wait":
        assert runs.decide(b, "deny", cell, run_id) is True
    if want in ("from A", "from B"):
        answer(runs.a if want == "from A" else b, runs.called(cell), want)
    return told(finished(b, run_id, b.take(waiting)))


def answer(host: Host, name: str, said: str) -> None:
    host.ask("held", names=[name])
    host.ask("answer", name=name, value=said)


def finished(b: Host, run_id: str, result: dict[str, Any] | None = None) -> dict[str, Any]:
    """What B's waits come to."""
    found: dict[str, Any] = result or b.ask("wait", run_id=run_id)
    while found["status"] == "waiting" and found["reason"] != "approval":
        found = b.ask("wait", run_id=run_id)
    return found


def told(result: dict[str, Any]) -> Any:
    """A result as it stands in the table."""
    match result["status"]:
        case "completed":
            return result["value"]
        case "waiting":
            return result["reason"]
        case _:
            return result["code"]


@pytest.mark.guarantee("any-node")
@pytest.mark.parametrize("state", STATES)
def test_whatever_a_run_waits_for_another_node_goes_on_with_it(
    launch: Launch, shared: Shared, witness: Witness, state: str
) -> None:
    a, b = launch(), launch()
    runs = RunsOfA(a)
    become(state, a, shared)
    expected = {cell: row[STATES.index(state)] for cell, row in TABLE.items()}
    assert {cell: asked_at(b, cell, runs, want) for cell, want in expected.items()} == expected
    if state == "alive":
        a.ask("cancelled", name="call, abort")  # the abort at B stopped A's call
        assert a.take(runs.legs["leg, abort"])["code"] == "aborted"
        for cell in ("leg, wait", "leg without effects, wait"):
            answer(a, cell, "from A")
            assert value(a.take(runs.legs[cell])) == "from A"
            assert value(b.ask("wait", run_id=runs.ids[cell])) == "from A"
    if state == "stopped":
        for cell in ("call, wait", "idempotent call, wait", "leg, wait"):
            a.order("answer", name=cell, value="late")
        os.kill(a.process.pid, signal.SIGCONT)
        for cell in ("leg, wait", "leg without effects, wait"):
            assert told(a.take(runs.legs[cell])) in (expected[cell], "aborted")
        # not what A would have said
        ended = {cell: expected[cell] for cell in ENDED}
        assert {cell: told(finished(a, runs.ids[cell])) for cell in ended} == ended
        assert value(a.ask("exec", program=YIELD.replace("await yield_control();", ""))) == 7
    for cell in ("yield, abort", "call, abort", "leg, abort"):
        assert b.ask("wait", run_id=runs.ids[cell])["code"] == "aborted"
    begun = [line["key"] for line in witness.lines() if line["what"] in ("hold", "pay")]
    assert len(begun) == len(set(begun))
    again = [line["key"] for line in witness.lines() if line["what"] == "hold_again"]
    assert len(set(again)) == 2  # by its key a tool knows that it was called before


# --- two at once


@pytest.mark.guarantee("any-node")
def test_of_two_approvers_at_two_nodes_one_wins_and_the_call_runs_once(
    launch: Launch, witness: Witness
) -> None:
    a, b = launch(), launch()
    for amount in range(5):
        asked = a.ask("exec", program=PAY.replace("AMOUNT", str(amount)))
        run_id, approval = asked["runId"], approval_in(asked)
        orders = [(host, host.order("approve", run_id=run_id, approval=approval)) for host in (a, b)]
        won = [host for host, order in orders if host.take(order)]
        assert len(won) == 1
        answer(won[0], f"pay {amount}", "paid")
        other = b if won[0] is a else a
        assert value(finished(other, run_id)) == "paid"
    assert len(witness.lines()) == 5


@pytest.mark.guarantee("any-node")
def test_of_two_waits_at_two_nodes_one_goes_on_and_both_hear_how_it_ends(launch: Launch) -> None:
    a, b = launch(), launch()
    for _ in range(5):
        run_id = suspended(a, YIELD)
        orders = [(host, host.order("wait", run_id=run_id)) for host in (a, b)]
        said = [told(host.take(order)) for host, order in orders]
        assert 7 in said
        assert set(said) <= {7, "invalid_input"}  # busy: at the other node
        assert [value(finished(host, run_id)) for host in (a, b)] == [7, 7]


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
    become("killed", a, shared)
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
