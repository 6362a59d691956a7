"""Meters: a run counts over all its legs, the engine over all its runs."""

from __future__ import annotations

import json

import msgspec
import pytest

from codemode.catalog import Catalog as ToolCatalog
from codemode.config import load_config
from codemode.contract.telemetry import (
    CallEnd,
    CallRecord,
    CatalogFacts,
    SnapshotCost,
)
from codemode.executor import Executor
from codemode.runs.environment import Environment
from codemode.runs.ledger import OTHERS
from codemode.runs.meter import MAX_NAMES, RunMeter, Tally
from codemode.surface import prepare_run, render_tools
from tests.harness.tool_samples import make


def call(meter: RunMeter, id: str, tool: str = "openclaw:core:echo") -> None:
    meter.start_call(id, tool=tool, name=tool.rpartition(":")[2], method="call", bytes_in=10)


def test_the_ledger_lists_calls_in_the_order_they_were_made() -> None:
    meter = RunMeter(Tally())
    call(meter, "1")
    call(meter, "2", "plugin:mail:send")
    meter.finish_call(CallEnd("2", "error", 2.00049, 7))
    assert meter.telemetry().calls == (
        CallRecord("1", "openclaw:core:echo", "echo", "call", "pending", 0, 10, 0),
        CallRecord("2", "plugin:mail:send", "send", "call", "error", 2.0, 10, 7),
    )
    meter.abort_pending()
    assert [record.status for record in meter.telemetry().calls] == ["aborted", "error"]


def test_a_run_goes_on_counting_after_it_was_stored_and_the_engine_counts_once() -> None:
    engine = Tally()
    meter = RunMeter(engine)
    meter.record_surface(("exec", "wait"), CatalogFacts(3, {"openclaw": 2, "mcp": 1}), 250)
    meter.begin_leg("exec")
    call(meter, "1")
    meter.see_snapshot("taken", bytes=2900, us=300)
    meter.end_leg("waiting")

    resumed = RunMeter.resume(engine, meter.encode())
    resumed.begin_leg("wait")
    resumed.see_snapshot("restored", bytes=2900, us=120)
    resumed.finish_call(CallEnd("1", "ok", 1500, 5))
    resumed.spend("run", 250)
    resumed.end_leg("completed")

    found = resumed.telemetry(hints=("await it",))
    assert found.counts == {"exec": 1, "call": 1, "wait": 1}
    assert found.called_tools == ("openclaw:core:echo",)
    assert found.snapshot == SnapshotCost(2900, 300, 120)
    assert [event.event for event in found.snapshot_events] == ["taken", "restored"]
    assert found.visible_tools == ("exec", "wait")
    assert found.catalog == CatalogFacts(3, {"openclaw": 2, "mcp": 1})
    assert found.durations_ms == {"run": 0.25}
    assert found.bytes == {"callsIn": 10, "callsOut": 5, "snapshots": 2900}
    assert (found.tokens_saved, found.hints) == (250, ("await it",))
    assert engine.to_dict() == {
        "counts": {"exec": 1, "call": 1, "wait": 1},
        "spentUs": {"run": 250},
        "bytes": {"callsIn": 10, "callsOut": 5, "snapshots": 2900},
        "snapshots": {"taken": 1, "restored": 1},
        "tools": {"openclaw:core:echo": 1},
        "results": {"waiting": 1, "completed": 1},
        "tokensSaved": 250,
    }


def test_the_engine_adds_up_its_runs() -> None:
    engine = Tally()
    for code in ("timeout", "timeout", "guest_error", "memory_limit_exceeded"):
        meter = RunMeter(engine)
        meter.begin_leg("exec")
        meter.end_leg(code)
    assert engine.counts == {"exec": 4}
    assert engine.cap_failures == {"timeout": 2, "memory_limit_exceeded": 1}
    assert engine.results == {"timeout": 2, "guest_error": 1, "memory_limit_exceeded": 1}


def test_a_run_that_never_suspended_has_no_snapshot() -> None:
    meter = RunMeter(Tally())
    meter.transfer("output", 12)
    assert json.loads(msgspec.json.encode(meter.telemetry())) == {"calls": [], "bytes": {"output": 12}}


def test_snapshot_events_are_bounded() -> None:
    meter = RunMeter(Tally())
    for number in range(150):
        meter.see_snapshot("taken", bytes=number)
    events = meter.telemetry().snapshot_events
    assert [event.bytes for event in events] == list(range(50, 150))


def test_other_bytes_than_a_meter_are_refused() -> None:
    for encoded in (b"", b"[]", b'{"ledger":5}'):
        with pytest.raises(msgspec.DecodeError):
            RunMeter.resume(Tally(), encoded)


def test_a_large_catalog_saves_what_its_schemas_would_take_in_a_prompt() -> None:
    tools = [make(f"tool_{number}", "word " * 40) for number in range(400)]
    environment = Environment(ToolCatalog(tools), Executor(ToolCatalog(tools)))
    whole = len(msgspec.json.encode(render_tools(tools, "anthropic"))) // 4
    shown = len(msgspec.json.encode(render_tools(prepare_run(tools, load_config(True)).visible, "anthropic")))

    # an estimate: without the braces and keys of a request, and with a full quick index
    assert environment.tokens_saved == pytest.approx(whole - shown // 4, rel=0.25)
    assert Environment(ToolCatalog(()), Executor(ToolCatalog(()))).tokens_saved == 0


def test_sums_by_name_are_bounded_and_lose_no_count() -> None:
    tally = Tally()
    for number in range(MAX_NAMES + 50):
        tally.add("tools", f"client:app:own_{number}")
    tally.add("tools", "client:app:own_0")
    assert (len(tally.tools), tally.tools[OTHERS], tally.tools["client:app:own_0"]) == (MAX_NAMES + 1, 50, 2)


def test_what_stands_for_many_tools_is_not_taken_for_one() -> None:
    meter = RunMeter(Tally())
    for number in range(MAX_NAMES + 1):
        call(meter, str(number), f"client:app:own_{number}")
    assert len(meter.called_tools) == MAX_NAMES
    assert OTHERS not in meter.called_tools
