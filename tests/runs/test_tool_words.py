"""A tool's own failure keeps its own words: in the program, the ledger, the envelope and the trajectory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from codemode import CallContext, Engine, ToolError, read_trajectory, to_envelope, tool
from codemode.contract.error_codes import CALL_ERRORS, ERRORS, HealthStatus
from tests.harness.engine import Desk, engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")

WORDS: dict[str, Any] = {
    "code": "OLLAMA_UNREACHABLE",
    "recoverable": True,
    "suggestion": "Start it with `ollama serve`.",
    "status": "degraded",
}
LEDGER = {**WORDS, "retryable": False, "message": "Ollama does not answer"}
CAUGHT = "return [e.name, e.message, e.code, e.recoverable, e.suggestion, e.status, e.retryable, e.data]"


def ollama() -> ToolError:
    return ToolError("Ollama does not answer", data={"port": 11434}, meta={"tries": 3}, **WORDS)


@tool
async def generate() -> None:
    """Fails."""
    raise ollama()


@pytest.mark.guarantee("tools-fail-in-their-own-words")
async def test_a_program_catches_what_the_tool_said_as_fields_of_the_error() -> None:
    async with engine([generate]) as made:
        result = await made.exec(f"try {{ await tools.generate() }} catch (e) {{ {CAUGHT} }}")
    assert value_of(result) == [
        *("ToolError", "Ollama does not answer", "OLLAMA_UNREACHABLE", True),
        *("Start it with `ollama serve`.", "degraded", False, {"port": 11434}),
    ]
    (call,) = result.to_dict()["telemetry"]["calls"]
    assert (call["status"], call["error"], call["meta"]) == ("error", LEDGER, {"tries": 3})


@pytest.mark.guarantee("tools-fail-in-their-own-words")
async def test_an_error_that_nobody_catches_is_in_the_envelope_as_the_tool_said_it() -> None:
    async with engine([generate]) as made:
        result = await made.exec("text('before');\nawait tools.generate()")
    found = failure_of(result, "nested_tool_failed")
    assert found.error.splitlines() == [
        "ToolError: Ollama does not answer (2:13)",
        "    await tools.generate()",
        "                ^",
        "Start it with `ollama serve`.",
    ]
    told = to_envelope(result)
    assert (told["status"], told["data"]) == ("degraded", None)
    assert told["error"] == {
        "code": "OLLAMA_UNREACHABLE",
        "message": "Ollama does not answer",
        "recoverable": True,
        "suggestion": "Start it with `ollama serve`.",
    }
    meta = told["meta"]
    assert (meta["code"], meta["text"], meta["phase"]) == ("nested_tool_failed", found.error, "bridge")
    assert (meta["tool"], meta["tries"]) == ("openclaw:core:generate", 3)
    assert meta["output"] == [{"type": "text", "text": "before"}]
    assert meta["durationMs"] == result.telemetry.duration_ms > 0


@pytest.mark.parametrize("recoverable", [True, False])
@pytest.mark.parametrize("status", ["healthy", "degraded", "unavailable"])
async def test_status_and_recoverable_do_not_depend_on_each_other(
    status: HealthStatus, recoverable: bool
) -> None:
    @tool
    async def broken() -> None:
        raise ToolError("down", code="DOWN", recoverable=recoverable, status=status)

    async with engine([broken]) as made:
        told = to_envelope(await made.exec("await tools.broken()"))
    assert (told["status"], told["error"]["recoverable"]) == (status, recoverable)
    assert told["error"]["suggestion"] == ERRORS["nested_tool_failed"].suggestion


async def test_a_tool_that_says_nothing_about_its_failure_has_the_words_of_the_code() -> None:
    async with engine() as made:
        result = await made.exec("await tools.fail({ message: 'secret of Ada' })")
    told = to_envelope(result)
    assert told["error"] == {
        "code": "nested_tool_failed",
        "message": failure_of(result, "nested_tool_failed").error,
        "recoverable": True,
        "suggestion": ERRORS["nested_tool_failed"].suggestion,
    }
    (call,) = result.to_dict()["telemetry"]["calls"]
    assert call["error"] == {"code": "tool_error", "retryable": False}  # and not its message


async def test_the_cause_behind_an_error_of_the_program_keeps_its_words() -> None:
    program = "try { await tools.generate() } catch (cause) { throw new Error('no answer', { cause }) }"
    async with engine([generate]) as made:
        result = await made.exec(program)
    assert result.telemetry.failed_call == "1"
    assert to_envelope(result)["error"]["code"] == "OLLAMA_UNREACHABLE"


async def test_of_several_calls_the_one_that_ended_the_run_is_told() -> None:
    program = "await tools.fail().catch(() => 0); await tools.echo(); await tools.generate()"
    async with engine([*Desk().tools, generate]) as made:
        result = await made.exec(program)
    assert result.telemetry.failed_call == "3"


async def test_a_program_cannot_forge_the_words_of_a_tool() -> None:
    program = """
        const e = new Error("forged"); e.name = "ToolError"; e.code = "OLLAMA_UNREACHABLE";
        e.recoverable = true; throw e;
    """
    async with engine([generate]) as made:
        result = await made.exec(program)
    assert result.telemetry.failed_call is None
    assert to_envelope(result)["error"]["code"] == "guest_error"


async def test_a_tool_that_calls_its_failure_denied_is_no_refusal_of_the_engine() -> None:
    @tool
    async def guarded() -> None:
        raise ToolError("the account is locked", code="denied")

    async with engine([guarded]) as made:
        result = await made.exec("try { await tools.guarded() } catch (e) { return e.code }")
    assert value_of(result) == "denied"
    assert [call.status for call in result.telemetry.calls] == ["error"]


async def test_what_a_tool_puts_into_its_error_by_mistake_costs_it_nothing_but_that() -> None:
    @tool
    async def odd() -> None:
        wrong: Any = {"code": 7, "status": "on fire", "recoverable": "yes", "suggestion": 3, "meta": [1]}
        raise ToolError("it is odd", **wrong)

    async with engine([odd]) as made:
        result = await made.exec(f"try {{ await tools.odd() }} catch (e) {{ {CAUGHT} }}")
    assert value_of(result) == ["ToolError", "it is odd", "7", None, "3", None, False, None]


async def test_hundreds_of_failures_keep_all_codes_and_the_texts_of_the_first() -> None:
    program = "for (let i = 0; i < 205; i++) try { await tools.generate() } catch {}"
    async with engine([generate]) as made:
        result = await made.exec(program)
    errors = [call.error for call in result.telemetry.calls]
    assert [error.code for error in errors if error] == ["OLLAMA_UNREACHABLE"] * 205
    assert sum(error is not None and error.message is not None for error in errors) == 200
    assert sum(call.meta is not None for call in result.telemetry.calls) == 200


# ---- suspension, restart, trajectory -----------------------------------------------------------------------


@pytest.mark.guarantee("tools-fail-in-their-own-words")
async def test_a_failure_while_the_run_is_suspended_arrives_in_the_same_words() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        first = waiting(await made.exec("await tools.hold({ name: 'a' })"))
        desk.held["a"].set_exception(ollama())
        told = to_envelope(await made.wait(first.run_id))
    assert (told["status"], told["error"]["code"]) == ("degraded", "OLLAMA_UNREACHABLE")
    assert told["meta"]["telemetry"]["calls"][0]["error"] == LEDGER


@pytest.mark.guarantee("tools-fail-in-their-own-words")
async def test_a_failure_that_outlives_its_engine_arrives_in_the_same_words(tmp_path: Path) -> None:
    desk, settings, path = Desk(), {"enabled": True, "timeoutMs": 100}, tmp_path / "runs.sqlite"
    program = f"try {{ await tools.hold({{ name: 'a' }}) }} catch (e) {{ await yield_control(); {CAUGHT} }}"
    async with Engine(desk.tools, settings, store=path, redact=False) as first:
        left = waiting(await first.exec(program))
        events = first.events(left.run_id)
        desk.held["a"].set_exception(ollama())
        assert (await anext(events)).type == "call_finished"
    async with Engine(desk.tools, settings, store=path, redact=False) as second:
        again = waiting(await second.wait(left.run_id), "yield")
    async with Engine(desk.tools, {**settings, "timeoutMs": 20_000}, store=path, redact=False) as third:
        result = await third.wait(again.run_id)
        trajectory = await third.trajectory(again.run_id)
    assert value_of(result)[2:7] == ["OLLAMA_UNREACHABLE", True, WORDS["suggestion"], "degraded", False]
    (call,) = result.to_dict()["telemetry"]["calls"]
    assert (call["error"], call["meta"]) == (LEDGER, {"tries": 3})
    assert trajectory is not None
    nested = read_trajectory(trajectory.to_json()).to_dict()["calls"][0]["calls"][0]
    assert (nested["error"], nested["failure"]) == ("OLLAMA_UNREACHABLE", LEDGER)


async def test_a_trajectory_without_values_has_the_code_and_what_is_no_text() -> None:
    async with engine([generate]) as made:
        result = await made.exec("try { await tools.generate() } catch { await yield_control() }")
        found = await made.trajectory(waiting(result).run_id)
    assert found is not None
    assert found.to_dict()["calls"][0]["calls"][0]["failure"] == {
        "code": "OLLAMA_UNREACHABLE",
        "retryable": False,
        "recoverable": True,
        "status": "degraded",
    }


# ---- retryable, meta, other ways to call -------------------------------------------------------------------


@pytest.mark.guarantee("nested-errors-say-whether-to-retry")
async def test_each_nested_error_says_whether_the_same_call_may_succeed_later() -> None:
    @tool(timeout_ms=1)
    async def slow() -> None:
        await asyncio.Event().wait()

    @tool
    async def busy(retryable: bool) -> None:
        raise ToolError("busy", retryable=retryable)

    program = """
        const told = {};
        for (const [name, call] of Object.entries({
            slow: () => tools.slow(),
            busy: () => tools.busy({ retryable: true }),
            full: () => tools.busy({ retryable: false }),
            wrong: () => tools.busy({ retryable: "no" }),
            unknown: () => tools.call("nope"),
        })) await call().catch((e) => { told[name] = e.retryable });
        return told;
    """
    async with engine([slow, busy]) as made:
        result = await made.exec(program)
    assert value_of(result) == {"slow": True, "busy": True, "full": False, "wrong": False, "unknown": False}
    assert [call.error.retryable for call in result.telemetry.calls if call.error] == [
        *(True, True, False, False, False)
    ]


async def test_what_a_tool_adds_about_a_call_is_in_the_ledger_and_not_in_the_program() -> None:
    @tool
    async def cached(context: CallContext) -> int:
        context.meta["cached"] = True
        return 6

    async with engine([cached]) as made:
        result = await made.exec("return await tools.cached()")
    assert value_of(result) == 6
    assert [call.meta for call in result.telemetry.calls] == [{"cached": True}]


async def test_meta_that_is_no_json_or_too_large_is_left_out() -> None:
    @tool
    async def chatty(context: CallContext, large: bool) -> int:
        context.meta["x"] = "y" * 3_000 if large else object()
        return 1

    async with engine([chatty]) as made:
        result = await made.exec("for (const large of [true, false]) await tools.chatty({ large })")
    assert [(call.status, call.meta) for call in result.telemetry.calls] == [("ok", None), ("ok", None)]


async def test_a_model_that_calls_the_tool_through_tool_search_is_told_the_same() -> None:
    @tool(source="plugin", owner="llm")
    async def ask(context: CallContext) -> None:
        context.meta["node"] = "a"
        raise ollama()

    async with Engine([ask], False) as made:
        prepared = await made.tool_search({"mode": "tools"}).prepare()
        answer = await prepared.call("tool_call", {"id": "ask", "args": {}})
        program = await made.tool_search({"mode": "code"}).prepare()
        code = {"code": "await openclaw.tools.call('ask', {})"}
        ran = (await program.call("tool_search_code", code)).to_envelope()
    told = answer.to_envelope()
    assert (told["status"], told["data"]) == ("degraded", None)
    assert told["error"] == {
        "code": "OLLAMA_UNREACHABLE",
        "message": "Ollama does not answer",
        "recoverable": True,
        "suggestion": "Start it with `ollama serve`.",
    }
    assert (told["meta"]["tries"], told["meta"]["node"]) == (3, "a")
    assert told["meta"]["durationMs"] == answer.duration_ms > 0
    assert answer.to_dict() == {
        "status": "failed",
        "error": "Ollama does not answer",
        "code": "OLLAMA_UNREACHABLE",
        "data": {"port": 11434},
        "suggestion": "Start it with `ollama serve`.",
    }
    assert (ran["status"], ran["error"]) == ("degraded", told["error"])


def test_a_code_that_nobody_knows_has_the_facts_of_a_tool_error() -> None:
    from codemode.contract.envelope import facts_of_call

    assert facts_of_call("OLLAMA_UNREACHABLE") == CALL_ERRORS["tool_error"]
    assert facts_of_call("denied") == CALL_ERRORS["denied"]


async def test_the_duration_of_a_whole_run_is_that_of_its_legs() -> None:
    async with engine() as made:
        legs: list[float] = []
        result = await made.run(
            "await yield_control(); await yield_control(); return 1",
            on_waiting=lambda found: legs.append(found.telemetry.duration_ms),
        )
        single = await made.exec("return 1")
    assert len(legs) == 2
    assert result.telemetry.duration_ms > sum(legs) > 0
    assert to_envelope(single)["meta"]["durationMs"] == single.telemetry.duration_ms > 0
