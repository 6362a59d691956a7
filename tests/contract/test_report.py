"""What an engine tells of itself: typed by attribute, and still the JSON it was by key."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest

from codemode.contract.report import EngineTotals, RunInfo, WorkerStats, ZygoteStats
from tests.harness.engine import engine, waiting

RUN = {
    "runId": "run_1",
    "agent": "main",
    "session": "s1",
    "agentRun": "-",
    "createdAtMs": 1,
    "expiresAtMs": 2,
    "bytes": 3,
    "settled": 0,
    "state": "waiting",
    "toolCall": "-",
}


def test_a_report_has_the_same_by_attribute_and_by_key() -> None:
    info = RunInfo(RUN)
    assert (info.run_id, info.agent, info.session, info.agent_run) == ("run_1", "main", "s1", "-")
    assert (info.created_at_ms, info.expires_at_ms, info.bytes, info.settled) == (1, 2, 3, 0)
    assert (info["runId"], info.get("nothing"), info.state) == ("run_1", None, "waiting")


def test_a_report_is_the_dict_it_was_and_encodes_as_one() -> None:
    info = RunInfo(RUN)
    assert info == RUN
    assert type(info.to_dict()) is dict
    assert json.loads(json.dumps(info)) == msgspec.json.decode(msgspec.json.encode(info)) == RUN
    assert pickle.loads(pickle.dumps(info)).run_id == copy.deepcopy(info).run_id == "run_1"


def test_a_report_has_no_other_attributes_and_none_can_be_set() -> None:
    info: Any = RunInfo(RUN)
    with pytest.raises(AttributeError, match="'RunInfo' object has no attribute 'runId'"):
        _ = info.runId
    with pytest.raises(AttributeError, match="cannot be set"):
        info.state = "running"


async def test_the_stats_of_an_engine_are_typed_all_the_way_down() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await tools.echo({}); await yield_control()", session="s1"))
        stats, (found,) = made.stats(), await made.runs("s1")
    assert (stats.runs, stats["runs"]) == ({"waiting": 1}, {"waiting": 1})
    totals = stats.totals
    assert isinstance(totals, EngineTotals)
    assert totals.counts == stats["totals"]["counts"] == {"exec": 1, "call": 1}
    assert (totals.results, totals.cap_failures) == ({"waiting": 1}, {})
    workers = stats.workers
    assert isinstance(workers, WorkerStats)
    assert workers.build_id == stats["workers"]["build_id"]
    assert [type(zygote) for zygote in workers.zygotes] == [ZygoteStats]
    assert (found.run_id, found.session, found.state) == (result.run_id, "s1", "waiting")
