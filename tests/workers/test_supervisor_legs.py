"""One leg of a run through a real supervisor, zygote and confined worker."""

from __future__ import annotations

import pytest
from codemode_runtime import orders, wire
from codemode_runtime.shapes import Limits, Lookup, Settlement, Stop
from msgspec import Raw

from tests.harness.loops import until
from tests.harness.workers import BUDGET_MS, Offering, answers, calls_in, start, supervisor, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_a_program_returns_its_value_from_a_worker() -> None:
    async with supervisor() as found:
        assert await value_of(found, "return {a: [1, 'é'], b: null}") == {"a": [1, "é"], "b": None}


async def test_what_a_program_sends_arrives_typed_and_in_order() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(
                worker,
                "text('a'); console.warn('b', 1); json({c: 1}); setTimeout(() => {}, 5);"
                "await Promise.all([tools.call('x', {d: 2}), yield_control('why')])",
            )
    assert isinstance(outcome, wire.Idle)
    first, second, third, timer, call, pause = outcome.messages
    assert (first, second) == (wire.Text("a"), wire.Text("b 1", "warn"))
    assert isinstance(third, wire.Json)
    assert bytes(third.value) == b'{"c":1}'
    assert timer == wire.Timer(1, 5)
    assert isinstance(call, wire.Call)
    assert (call.id, call.method, call.target) == (2, "call", "x")
    assert bytes(call.args) == b'[{"d":2}]'
    assert pause == wire.Yield(3, "why")
    assert (outcome.pending_calls, outcome.pending_timers, outcome.pending_yields) == (1, 1, 1)


async def test_a_hundred_awaited_calls_are_answered_in_one_leg() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            program = "let n = 0; for (let i = 0; i < 100; i++) n += await tools.call('x', i); return n"
            outcome = await start(worker, program)
            for expected in range(100):
                (call,) = calls_in(outcome)
                assert wire.decode_value(call.args) == [expected]
                outcome = await worker.deliver([Settlement(call.id, b"2")])
    assert isinstance(outcome, wire.Done)
    assert wire.decode_value(outcome.result.value) == 200


async def test_a_rejected_call_reaches_the_program_as_an_error() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "try { await tools.call('x') } catch (e) { return e.code }")
            (call,) = calls_in(outcome)
            json = b'{"message":"no","code":"denied"}'
            outcome = await worker.deliver([Settlement(call.id, json, rejected=True)])
    assert isinstance(outcome, wire.Done)
    assert wire.decode_value(outcome.result.value) == "denied"


async def test_a_captured_program_goes_on_in_another_process() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "let kept = 'kept'; return [kept, await tools.call('x')]")
            settlements = answers(outcome, b'{"v":1}')
            captured, delta = await worker.capture(1 << 20)
            first = worker.token
        assert captured.bytes == len(delta)
        with await found.lease() as worker:
            assert worker.token != first
            worker.send_resume(delta, settlements, Limits(), BUDGET_MS, Offering())
            outcome = await worker.outcome()
    assert isinstance(outcome, wire.Done)
    assert wire.decode_value(outcome.result.value) == ["kept", {"v": 1}]
    assert outcome.spent.restore_us > 0


async def test_a_capture_over_its_limit_brings_its_size_and_no_bytes_and_the_guest_goes_on() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "await tools.call('x'); return 'went on'")
            captured, delta = await worker.capture(10)
            assert captured.bytes > 10
            assert delta == b""
            outcome = await worker.deliver(answers(outcome))
    assert isinstance(outcome, wire.Done)
    assert wire.decode_value(outcome.result.value) == "went on"


async def test_a_damaged_delta_is_refused() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            worker.send_resume(b"no delta at all" * 9, [], Limits(), BUDGET_MS, Offering())
            outcome = await worker.outcome()
    assert isinstance(outcome, wire.RestoreRefused)
    assert outcome.code == "snapshot_restore_failed"


async def test_module_access_is_refused_with_its_position() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "\n  import fs from 'fs'")
    assert isinstance(outcome, wire.Refused)
    assert (outcome.code, outcome.line, outcome.column) == ("module_access_denied", 2, 3)


async def test_a_syntax_error_is_a_failure_of_the_program() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "let x = ;")
    assert isinstance(outcome, wire.Threw)
    assert outcome.failure.kind == "syntax"


async def test_typescript_runs_in_its_own_flavour_of_zygote_and_only_when_asked_for() -> None:
    async with supervisor() as found:
        assert await value_of(found, "return 1") == 1
        assert [zygote.flavour for zygote in found.stats().zygotes] == ["javascript"]
        program = "enum E { A = 7 }\nconst x: number = E.A as number;\nreturn x"
        assert await value_of(found, program, language="typescript") == 7
        assert [zygote.flavour for zygote in found.stats().zygotes] == ["javascript", "typescript"]


async def test_typescript_that_takes_too_long_to_compile_is_stopped_by_the_budget_of_its_leg() -> None:
    bomb = "return [" + "(x as A).b, " * 80_000 + "0]"
    async with supervisor() as found:
        with await found.lease(flavour="typescript") as worker:
            outcome = await start(worker, bomb, language="typescript", budget_ms=300)
        assert isinstance(outcome, wire.Interrupted)
        assert await value_of(found, "enum E { A = 3 } return E.A as number", language="typescript") == 3


async def test_typescript_of_a_program_with_the_smallest_heap_is_compiled() -> None:
    async with supervisor(memory_bytes=1 << 20) as found:
        with await found.lease(flavour="typescript") as worker:
            limits = Limits(memory_bytes=1 << 20)
            outcome = await start(worker, "enum E { A = 6 } return E.A", language="typescript", limits=limits)
    assert isinstance(outcome, wire.Done)
    assert bytes(outcome.result.value) == b"6"


async def test_typescript_that_takes_too_much_memory_to_compile_is_refused() -> None:
    bomb = "[" + "[{}], " * 300_000 + "0 as any]"
    async with supervisor(memory_bytes=24 << 20) as found:
        with await found.lease(flavour="typescript") as worker:
            limits = Limits(memory_bytes=24 << 20)
            outcome = await start(worker, bomb, language="typescript", limits=limits)
    assert isinstance(outcome, wire.Refused)
    assert outcome.code == "typescript_transform_failed"
    assert outcome.message == "The TypeScript takes too much memory to compile: send a shorter program."


async def test_a_worker_that_is_used_again_compiles_each_program_afresh() -> None:
    async with supervisor(worker_reuse=3) as found:
        for number in range(3):
            program = f"enum E {{ A = {number} }} namespace N {{ export let v = E.A }} return N.v as number"
            assert await value_of(found, program, language="typescript") == number


async def test_more_heap_than_workers_are_made_for_is_refused_before_anything_runs() -> None:
    async with supervisor(memory_bytes=8 << 20) as found:
        with (
            await found.lease() as worker,
            pytest.raises(ValueError, match="workers have 8388608"),
        ):
            await start(worker, "return 1", limits=Limits(memory_bytes=9 << 20))


async def test_a_lookup_in_the_offer_is_answered_without_asking() -> None:
    answer = orders.OfferedAnswer(Lookup.TOOL, "greet", Raw(b'"openclaw:core:greet"'))
    offering = Offering(offer=orders.Offer(answers=(answer,)))
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "typeof tools.absent; await tools.greet({})", descriptor=offering)
    assert [call.target for call in calls_in(outcome)] == ["openclaw:core:greet"]
    assert offering.asked == []


async def test_a_lookup_that_an_incomplete_offer_lacks_is_asked_of_the_host() -> None:
    offering = Offering({(Lookup.TOOL, "greet"): b'"far"'}, orders.Offer(complete=False))
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(
                worker, "text(typeof tools.absent); await tools.greet({})", descriptor=offering
            )
    assert [call.target for call in calls_in(outcome)] == ["far"]
    assert offering.asked == [(Lookup.TOOL, "absent"), (Lookup.TOOL, "greet")]


async def test_an_answer_of_megabytes_crosses_to_the_guest() -> None:
    entries = b"[" + b",".join(b'{"id":"tool-%d"}' % i for i in range(100_000)) + b"]"
    offering = Offering({(Lookup.ALL_TOOLS, ""): entries}, orders.Offer(complete=False))
    async with supervisor() as found:
        assert await value_of(found, "return ALL_TOOLS.length", descriptor=offering) == 100_000


async def test_a_failing_descriptor_fails_its_leg_with_its_own_error() -> None:
    class Broken(Offering):
        def lookup(self, kind: Lookup, key: str) -> bytes | None:
            raise LookupError("the catalog is gone")

    async with supervisor() as found:
        descriptor = Broken(offer=orders.Offer(complete=False))
        with await found.lease() as worker, pytest.raises(LookupError, match="the catalog is gone"):
            await start(worker, "tools.x", descriptor=descriptor)
        assert await value_of(found, "return 1") == 1


async def test_a_memory_bomb_is_stopped_and_its_output_is_kept() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            program = "text('before'); const a = []; for (;;) a.push(new Array(10000).fill('x'.repeat(99)))"
            outcome = await start(worker, program, limits=Limits(memory_bytes=8 << 20))
        assert isinstance(outcome, wire.Stopped)
        assert outcome.reason == Stop.MEMORY
        assert outcome.messages == (wire.Text("before"),)
        assert await value_of(found, "return 1") == 1


async def test_a_flood_of_messages_is_stopped_in_the_worker() -> None:
    async with supervisor() as found:
        with await found.lease() as worker:
            outcome = await start(worker, "for (let i = 0; i < 50000; i++) clearTimeout(setTimeout(text))")
    assert isinstance(outcome, wire.Stopped)
    assert outcome.reason == Stop.MESSAGES


async def test_a_worker_is_used_once() -> None:
    async with supervisor() as found:
        tokens: set[int] = set()
        for _ in range(3):
            with await found.lease() as worker:
                await start(worker, "return 1")
                tokens.add(worker.token)
    assert len(tokens) == 3


async def test_the_worker_that_was_used_last_is_used_next() -> None:
    async with supervisor(worker_reuse=100, warm_workers=3) as found:
        used: list[int] = []
        for _ in range(4):
            with await found.lease() as worker:
                assert isinstance(await start(worker, "return 1"), wire.Done)
                used.append(worker.token)
            await until(lambda: found.stats().warm > 1 and not found.stats().starting)
    assert used[1:] == [used[1]] * 3  # the first leg found only one there


async def test_a_reused_worker_gives_each_leg_a_fresh_guest() -> None:
    async with supervisor(worker_reuse=3, warm_workers=0) as found:
        tokens: list[int] = []
        for _ in range(4):
            with await found.lease() as worker:
                outcome = await start(worker, "globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n")
                assert isinstance(outcome, wire.Done)
                assert wire.decode_value(outcome.result.value) == 1
                tokens.append(worker.token)
    first, second, third, fourth = tokens
    assert first == second == third != fourth


async def test_without_fork_every_worker_is_a_process_of_its_own() -> None:
    async with supervisor(processes="spawn", warm_workers=1) as found:
        assert await value_of(found, "return 1 + 1") == 2
        with await found.lease() as worker:
            outcome = await start(worker, "text('x'); for (;;);", budget_ms=50)
            assert isinstance(outcome, wire.Interrupted)
            assert outcome.messages == (wire.Text("x"),)
