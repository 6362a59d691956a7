"""What is kept of runs, how much of it, and who may see it: bounds, scopes, sessions, a closed engine."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from typing import Any

import pytest

from codemode.runs.trajectory_archive import MAX_BYTES, MAX_ENDED
from codemode.trajectory.trace import MAX_CALLS, MAX_LEGS
from tests.harness.engine import engine, value_of, waiting
from tests.harness.trajectory import nested_in, only_run, outline, seen

pytestmark = pytest.mark.usefixtures("leaves_nothing")
OWN: dict[str, Any] = {"session": "s1", "agent": "a1", "agent_run": "turn-1"}


async def test_a_thousand_calls_are_all_there_and_a_flood_of_them_is_counted() -> None:
    async with engine(config={"timeoutMs": 60_000}) as made:
        result = waiting(
            await made.exec(
                "for (let i = 0; i < 1000; i++) await tools.echo({ value: i }); await yield_control()"
            )
        )
        found = await seen(made, result.run_id)
        assert [call.id for call in nested_in(found)] == [str(number) for number in range(1, 1001)]
        (meta,) = await made.runs()
        assert meta["bytes"] < 30_000
        value_of(await made.wait(result.run_id))
        value_of(
            await made.exec(
                f"for (let i = 0; i < {MAX_CALLS + 5}; i++) await tools.search('x')", session="flood"
            )
        )
        flood = await only_run(made, "flood")
        assert (len(flood.calls[0].calls), flood.calls[0].more_calls) == (MAX_CALLS, 5)


async def test_a_run_that_is_resumed_for_ever_keeps_its_exec_and_the_latest_waits() -> None:
    async with engine(settings={"workerReuse": 100_000}) as made:
        result = await made.exec(
            f"await tools.echo(); for (let i = 0; i < {MAX_LEGS + 3}; i++) {{ await tools.echo(); await yield_control() }}"
        )
        run_id = waiting(result).run_id
        while result.status == "waiting":
            result = await made.wait(run_id)
        found = await seen(made, run_id)
        assert (len(found.calls), found.dropped_control_calls) == (MAX_LEGS, 4)
        assert [call.name for call in found.calls[:2]] == ["exec", "wait"]
        assert [len(call.calls) for call in found.calls] == [2, *[1] * (MAX_LEGS - 2), 0]


async def test_only_so_many_ended_runs_are_kept_and_suspended_ones_stay() -> None:
    async with engine(settings={"workerReuse": 100_000}) as made:
        suspended = waiting(await made.exec("await yield_control(); return 1", session="s")).run_id
        for _ in range(MAX_ENDED + 1):
            value_of(await made.exec("return 1", session="s"))
        found = await made.session_trajectory("s")
        assert found is not None
        assert len(found.runs) == MAX_ENDED
        assert (await seen(made, suspended, session="s")).status == "waiting"


async def test_what_is_kept_is_bounded_in_bytes_and_a_suspended_run_is_whole_again_when_it_goes_on() -> None:
    program = """
    const noise = () => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(16000))));
    for (let i = 0; i < 13; i++) await tools.echo({ value: noise() + noise() });
    await yield_control()
    """
    async with engine(redact=False, settings={"workerReuse": 100_000}) as made:
        first = waiting(
            await made.exec("await tools.echo(); await yield_control(); await yield_control()")
        ).run_id
        for _ in range(MAX_BYTES // 700_000 + 1):  # each keeps more than that, compressed
            waiting(await made.exec(program))
        forgotten = await seen(made, first)
        assert (forgotten.is_partial, forgotten.status, forgotten.calls) == (True, "waiting", ())
        waiting(await made.wait(first))
        again = await seen(made, first)
        assert outline(again) == [("exec", "waiting", [("echo", "ok")]), ("wait", "waiting", [])]


@pytest.mark.guarantee("wrong-scope-fails")
async def test_outside_its_scope_a_run_has_no_trajectory() -> None:
    outside: list[dict[str, Any]] = [
        {**OWN, "session": "s2"},
        {**OWN, "agent": "a2"},
        {**OWN, "agent_run": "turn-2"},
        {"session": "s1"},
        {},
        *({**OWN, field: value} for field in OWN for value in ("", " ", None, 7, "\ud800")),
    ]
    async with engine() as made:
        run_id = waiting(
            await made.exec("await yield_control(); await yield_control(); return 1", **OWN)
        ).run_id
        for _ in range(2):
            for scope in outside:
                assert await made.trajectory(run_id, **scope) is None
            assert (await seen(made, run_id, **OWN)).agent_run == "turn-1"
            await made.wait(run_id, **OWN)
        assert (await seen(made, run_id, **OWN)).status == "completed"
        for scope in outside:
            assert await made.trajectory(run_id, **scope) is None
        assert await made.trajectory("run_unknown", **OWN) is None


async def test_a_session_s_trajectory_has_its_own_runs_and_no_others() -> None:
    async with engine() as made:
        value_of(await made.exec("return 1", session="s", agent_run="turn-1"))
        waiting(await made.exec("await yield_control()", session="s", agent_run="turn-2"))
        value_of(await made.exec("return 2", session="t"))
        value_of(await made.exec("return 3", session="s", agent="other"))
        found = await made.session_trajectory("s")
        assert found is not None
        assert [(one.status, one.agent_run) for one in found.runs] == [
            ("completed", "turn-1"),
            ("waiting", "turn-2"),
        ]
        other = await made.session_trajectory("s", agent="other")
        assert other is not None
        assert [one.agent for one in other.runs] == ["other"]
        unknown = await made.session_trajectory("nobody")
        assert unknown is not None
        assert unknown.runs == ()
        assert await made.session_trajectory("") is None


async def test_ended_runs_can_be_seen_after_the_engine_is_closed() -> None:
    async with engine() as made:
        value_of(await made.exec("return await tools.echo({ value: 1 })"))
    assert outline(await only_run(made)) == [("exec", "completed", [("echo", "ok")])]
