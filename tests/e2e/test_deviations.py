"""What differs from the letter of the source documents on purpose; docs/deviations.md has the reasons."""

from __future__ import annotations

import pytest

from codemode import Engine, ToolHints, to_envelope
from tests.harness.engine import Desk, echo, engine, failure_of, value_of, waiting
from tests.harness.tool_samples import make

pytestmark = pytest.mark.usefixtures("leaves_nothing")


async def test_an_engine_made_of_tools_alone_is_on_and_one_with_an_empty_configuration_is_off() -> None:
    async with Engine([echo]) as on, Engine([echo], {}) as off:
        assert value_of(await on.exec("return await tools.echo({ value: 1 })")) == 1
        assert failure_of(await off.exec("return 1"), "invalid_config")
        assert [tool.name for tool in (await off.prepare()).visible] == ["echo"]


async def test_an_error_of_the_program_itself_has_a_code_and_every_failure_a_phase() -> None:
    async with engine() as made:
        told = failure_of(await made.exec("null.x"), "guest_error").to_dict()
    assert (told["code"], told["phase"]) == ("guest_error", "guest")


async def test_a_run_that_waits_for_a_yes_says_so_in_its_reason() -> None:
    async with engine() as made:
        assert waiting(await made.exec("await tools.pay({ amount: 1 })")).reason == "approval"


async def test_output_of_console_has_its_level_and_output_of_text_has_none() -> None:
    async with engine() as made:
        told = (await made.exec("console.warn('a'); text('b')")).to_dict()["output"]
    assert told == [{"type": "text", "text": "a", "level": "warn"}, {"type": "text", "text": "b"}]


async def test_what_a_failed_program_wrote_is_in_the_meta_of_its_envelope() -> None:
    async with engine() as made:
        told = to_envelope(await made.exec("text('a'); null.x"))
    assert (told["data"], told["meta"]["output"]) == (None, [{"type": "text", "text": "a"}])


async def test_the_ledger_says_why_a_call_failed_beside_the_fields_of_the_contract() -> None:
    async with engine() as made:
        result = await made.exec("await tools.fail().catch(() => 0); await tools.echo()")
    first, second = result.to_dict()["telemetry"]["calls"]
    fields = {"id", "tool", "name", "method", "status", "ms", "bytesIn", "bytesOut"}
    assert (set(first), set(second)) == ({*fields, "error"}, fields)


async def test_a_call_that_ended_while_its_run_waits_is_in_the_ledger_of_the_next_result_only() -> None:
    desk = Desk()
    async with engine(desk.tools, {"timeoutMs": 100}) as made:
        first = waiting(await made.exec("return await tools.hold({ name: 'a' })"))
        desk.answer("a")
        assert [call.status for call in first.telemetry.calls] == ["pending"]
        final = await made.wait(first.run_id)
    assert [call.status for call in final.telemetry.calls] == ["ok"]


async def test_a_servers_word_that_its_tool_is_harmless_counts_for_nothing_in_a_policy() -> None:
    harmless = make("peek", source="mcp", owner="files", hints=ToolHints(read_only=True))
    async with engine([echo], policy={"allow": ["hint:read-only", "echo"]}) as made:
        prepared = await made.prepare(tools=[harmless])
    assert prepared.catalog is not None
    assert [tool.name for tool in prepared.catalog.tools] == ["echo"]
