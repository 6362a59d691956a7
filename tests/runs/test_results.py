"""What a result says: exactly the JSON of the contract, and the ledger of everything that happened."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from codemode import to_envelope
from codemode.contract.results import decode_result
from tests.harness.engine import Desk, engine, failure_of, texts, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_a_completed_result_is_the_contract_s_json() -> None:
    async with engine() as made:
        result = await made.exec("text('a'); console.warn('b', { c: 1 }); json([1]); return { d: null }")
        found = result.to_dict()
        telemetry = found.pop("telemetry")
        assert found == {
            "status": "completed",
            "value": {"d": None},
            "output": [
                {"type": "text", "text": "a"},
                {"type": "text", "text": 'b {"c":1}', "level": "warn"},
                {"type": "json", "value": [1]},
            ],
        }
        assert telemetry["calls"] == []
        assert "lossy" not in telemetry
        assert "snapshot" not in telemetry
        assert decode_result(result.to_json()).to_dict() == result.to_dict()


async def test_a_waiting_result_is_the_contract_s_json() -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        program = "setTimeout(() => {}, 60000); tools.hold({ name: 'a' }); tools.pay({ amount: 1 }).catch(() => {}); await yield_control('why')"
        result = waiting(await made.exec(program))
        found = result.to_dict()
        assert set(found) == {"status", "runId", "reason", "pendingToolCalls", "output", "telemetry"}
        assert (found["status"], found["runId"], found["reason"]) == (
            "waiting",
            result.run_id,
            "approval",
        )
        pending: list[dict[str, Any]] = found["pendingToolCalls"]
        assert all(isinstance(call.pop("elapsedMs"), int) for call in pending)
        approval = pending[2].pop("approval")
        assert set(approval) == {"id", "summary"}
        assert pending == [
            {"id": "1", "method": "timer"},
            {"id": "2", "method": "call", "tool": "openclaw:core:hold"},
            {"id": "3", "method": "call", "tool": "openclaw:core:pay"},
            {"id": "4", "method": "yield", "reason": "why"},
        ]
        assert decode_result(result.to_json()).to_dict() == result.to_dict()


async def test_a_failed_result_is_the_contract_s_json() -> None:
    async with engine() as made:
        result = failure_of(await made.exec("text('a');\n  nope.x"), "guest_error")
        found = result.to_dict()
        found.pop("telemetry")
        assert found.pop("error").startswith(
            "ReferenceError: nope is not defined (2:3)\n      nope.x\n      ^"
        )
        assert found == {
            "status": "failed",
            "code": "guest_error",
            "phase": "guest",
            "output": [{"type": "text", "text": "a"}],
        }
        assert to_envelope(result)["status"] == "degraded"


async def test_the_ledger_has_every_nested_call_with_its_size_and_end_cumulative_over_legs() -> None:
    desk = Desk()
    program = """
    await tools.echo({ value: "é" });
    await tools.call("openclaw:core:fail", { message: "m" }).catch(() => {});
    await tools.search("echo");
    await tools.describe("echo");
    await tools.call("nope").catch(() => {});
    const held = tools.hold({ name: "a" });
    await yield_control();
    await held;
    await tools.echo({});
    """
    columns = ("id", "tool", "name", "method", "status", "bytesIn")
    expected = [
        ("1", "openclaw:core:echo", "echo", "call", "ok", len('[{"value":"é"}]'.encode())),
        ("2", "openclaw:core:fail", "fail", "call", "error", len('[{"message":"m"}]')),
        ("3", "", "", "search", "ok", len('["echo"]')),
        ("4", "openclaw:core:echo", "echo", "describe", "ok", 2),
        ("5", "", "nope", "call", "error", 2),
        ("6", "openclaw:core:hold", "hold", "call", "pending", len('[{"name":"a"}]')),
    ]
    async with engine(desk.tools) as made:
        result = waiting(await made.exec(program))
        calls = result.to_dict()["telemetry"]["calls"]
        assert [set(call) - {"error"} for call in calls] == [{*columns, "ms", "bytesOut"}] * 6
        assert [call["error"]["code"] for call in calls if "error" in call] == ["tool_error", "unknown_tool"]
        assert [tuple(call[name] for name in columns if name != "bytesIn") for call in calls] == [
            row[:-1] for row in expected
        ]
        assert calls[0]["bytesIn"] == expected[0][-1]
        assert calls[0]["bytesOut"] == len('"é"'.encode())
        assert calls[1]["bytesOut"] > 0
        await desk.asked("a")
        desk.answer("a")
        final = (await made.wait(result.run_id)).to_dict()["telemetry"]
        assert final["calls"][:5] == calls[:5]
        assert [(c["id"], c["status"]) for c in final["calls"][5:]] == [("6", "ok"), ("8", "ok")]
        assert final["counts"] == {"exec": 1, "wait": 1, "call": 5, "search": 1, "describe": 1}
        assert final["calledTools"] == ["openclaw:core:echo", "openclaw:core:fail", "openclaw:core:hold"]


async def test_waits_in_which_nothing_settled_are_counted_too() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        result = waiting(await made.exec("return await tools.hold({ name: 'a' })"))
        for number in (1, 2):
            again = waiting(await made.wait(result.run_id))
            assert again.to_dict()["telemetry"]["counts"] == {"exec": 1, "wait": number, "call": 1}
        await desk.asked("a")
        desk.answer("a")
        final = (await made.wait(result.run_id)).to_dict()["telemetry"]
        assert final["counts"] == {"exec": 1, "wait": 3, "call": 1}
        totals = made.stats()["totals"]
        assert totals["counts"] == {"exec": 1, "wait": 3, "call": 1}
        assert totals["results"] == {"waiting": 3, "completed": 1}


async def test_lossy_conversions_of_the_value_are_listed_by_path() -> None:
    async with engine() as made:
        result = await made.exec("return { a: [1n, NaN], b: { c: new Map([[1, 2]]) }, d: undefined }")
        assert value_of(result) == {"a": ["1", None], "b": {"c": [[1, 2]]}}
        assert [item["path"] for item in result.to_dict()["telemetry"]["lossy"]] == [
            "$.a[0]",
            "$.a[1]",
            "$.b.c",
        ]


async def test_a_result_that_suspended_or_resumed_has_the_cost_of_its_snapshot() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control(); return 1"))
        first = result.to_dict()["telemetry"]["snapshot"]
        assert set(first) == {"bytes", "captureUs", "restoreUs"}
        assert 0 < first["bytes"] < 4500
        assert first["captureUs"] > 0
        assert first["restoreUs"] == 0
        second = (await made.wait(result.run_id)).to_dict()["telemetry"]["snapshot"]
        assert (second["bytes"], second["captureUs"]) == (first["bytes"], first["captureUs"])
        assert second["restoreUs"] > 0


async def test_snapshot_lifecycle_events_are_listed_and_counted() -> None:
    async with engine() as made:
        result = waiting(await made.exec("await yield_control(); await yield_control(); return 1"))
        result = waiting(await made.wait(result.run_id))
        telemetry = (await made.wait(result.run_id)).to_dict()["telemetry"]
        kinds = [event["event"] for event in telemetry["snapshotEvents"]]
        assert [kind for kind in kinds if kind in ("taken", "restored")] == [
            "taken",
            "restored",
            "taken",
            "restored",
        ]
        assert made.stats()["totals"]["snapshots"]["taken"] == 2
        assert made.stats()["totals"]["snapshots"]["restored"] == 2


async def test_the_engine_s_totals_are_the_sum_of_its_runs() -> None:
    async with engine() as made:
        for _ in range(3):
            await made.exec("await tools.echo({ value: 1 }); return 1")
        await made.exec("throw 1")
        await made.exec("")
        waiting(await made.exec("await yield_control()"))
        totals = made.stats()["totals"]
        assert totals["counts"] == {"exec": 5, "call": 3}
        assert totals["results"] == {"completed": 3, "guest_error": 1, "invalid_input": 1, "waiting": 1}
        assert totals["tools"] == {"openclaw:core:echo": 3}
        assert made.stats()["runs"] == {"waiting": 1}


async def test_no_argument_and_no_result_of_a_call_is_in_the_telemetry() -> None:
    async with engine() as made:
        result = await made.exec(
            "await tools.echo({ value: 'a-secret' }); await tools.search('a-secret'); await tools.fail({ message: 'a-secret' }).catch(() => {}); return 1"
        )
        assert "a-secret" not in json.dumps(result.to_dict())
        assert "a-secret" not in json.dumps(made.stats())


async def test_text_and_json_follow_the_rules_of_conversion() -> None:
    async with engine() as made:
        result = await made.exec(
            "text('plain'); text({ a: 1n }); text(undefined); json({ when: new Date(0) }); console.log('a', 1, [2])"
        )
        assert texts(result) == [
            "plain",
            '{"a":"1"}',
            "null",
            {"when": "1970-01-01T00:00:00.000Z"},
            "a 1 [2]",
        ]


@pytest.mark.parametrize("store", [None, "runs.sqlite"])
async def test_the_list_of_runs_counts_results_that_came_meanwhile_in_every_store(
    store: str | None, tmp_path: Path
) -> None:
    desk = Desk()
    program = (
        "const all = [tools.hold({ name: 'a' }), tools.pay({ amount: 1 })]; return await Promise.all(all)"
    )
    async with engine(desk.tools, store=store and tmp_path / store) as made:
        result = waiting(await made.exec(program), "approval")
        assert [run.settled for run in await made.runs()] == [0]
        desk.answer("a")
        approval = next(call.approval for call in result.pending_tool_calls if call.approval)
        assert await made.approve(result.run_id, approval.id)
        async with asyncio.timeout(20):
            while [run.settled for run in await made.runs()] != [2]:  # noqa: ASYNC110 - a store has no event
                await asyncio.sleep(0)
        assert value_of(await made.wait(result.run_id)) == ["a", "paid 1"]
