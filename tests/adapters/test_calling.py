"""What all adapters share: a model's calls by name, answered whatever it sends."""

from __future__ import annotations

import json

import pytest

from codemode import CallContext, ConfigError, Engine, tool
from codemode.adapters import prepare_tools
from codemode.adapters.calling import ModelTools
from codemode.executor import BeforeToolCall, Block
from codemode.surface import PayloadRefused, PreparedRun, prepare_run, render_tools
from tests.harness.engine import Desk, echo, engine, pay
from tests.harness.tool_samples import make

OFF = {"enabled": False}


async def test_in_code_mode_exec_and_wait_are_called_by_name_with_an_object_or_its_text(
    leaves_nothing: None,
) -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        assert tools.active
        assert [shown.name for shown in tools.visible] == ["exec", "wait"]
        program = {"code": "return await tools.echo({ value: 7 })"}
        answers = [await tools.call("exec", program), await tools.call("exec", json.dumps(program))]
    for answer in answers:
        assert (answer.value["status"], answer.value["value"], answer.is_error) == ("completed", 7, False)
        assert json.loads(answer.text) == answer.value


async def test_the_model_is_told_what_was_lost_in_a_note_and_no_telemetry() -> None:
    async with engine() as host:
        tools = await prepare_tools(host)
        answer = await tools.call("exec", {"code": "await tools.echo({}); return { f() {} }"})
    assert answer.value == {
        "status": "completed",
        "value": {"f": "[Function f]"},
        "output": [],
        "notes": ["JSON cannot hold these as they were: $.f (function)."],
    }


async def test_the_model_is_told_what_a_failed_program_has_done() -> None:
    async with engine() as host:
        tools = await prepare_tools(host)
        answer = await tools.call("exec", {"code": "await tools.echo({}); throw new Error('no')"})
    assert answer.is_error
    assert list(answer.value) == ["status", "error", "code", "output", "notes"]
    assert answer.value["notes"] == ["Already done: echo ×1 ok."]


async def test_an_answer_is_bounded_by_the_engines_own_cap_however_much_a_program_writes() -> None:
    async with engine((echo,), {"maxOutputBytes": 2048}) as host:
        tools = await prepare_tools(host)
        answer = await tools.call("exec", {"code": "for (let n = 0; n < 2000; n += 1) text('\\n')"})
    assert len(answer.text.encode()) <= 2048 + 8192
    assert (answer.is_error, answer.value["code"]) == (True, "output_limit_exceeded")
    assert len(answer.value["output"]) == 2048 // len('{"type":"text","text":"\\n"}')


async def test_a_suspended_program_is_gone_on_with_in_the_scope_it_was_prepared_for() -> None:
    desk = Desk()
    async with engine(desk.tools) as host:
        mine, other = await prepare_tools(host, session="s1"), await prepare_tools(host, session="s2")
        code = "const held = tools.hold({ name: 'a' }); await yield_control(); return await held"
        left = await mine.call("exec", {"code": code})
        await desk.asked("a")
        desk.answer("a", "late")
        asked = {"runId": left.value["runId"]}
        foreign = await other.call("wait", asked)
        ended = await mine.call("wait", asked)
    assert (left.value["status"], left.is_error) == ("waiting", False)
    assert (foreign.value["code"], foreign.is_error) == ("invalid_input", True)
    assert ended.value["value"] == "late"


async def test_the_id_of_the_models_call_is_in_the_trajectory() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, session="s1")
        await tools.call("exec", {"code": "return 1"}, "toolu_7")
        session = await host.session_trajectory("s1")
        assert session is not None
        assert '"toolu_7"' in json.dumps(session.to_dict())


@pytest.mark.parametrize("arguments", ['{"code": "return', "[1]", '"return 1"', "7"])
async def test_arguments_that_are_no_object_are_a_failed_result_that_says_so(arguments: str) -> None:
    async with engine() as host:
        answer = await (await prepare_tools(host)).call("exec", arguments)
    assert answer.is_error
    assert answer.value["code"] == "invalid_input"
    assert answer.value["error"].startswith("The arguments of exec must be a JSON object: ")


@pytest.mark.parametrize("arguments", ["", "{}", None])
async def test_no_arguments_are_an_empty_object(arguments: str | None) -> None:
    async with engine(config=OFF) as host:
        assert (await (await prepare_tools(host)).call("echo", arguments)).value is None


async def test_a_hidden_tool_called_directly_is_answered_with_how_to_call_it() -> None:
    async with engine(policy={"deny": ["pay"]}) as host:
        tools = await prepare_tools(host)
        hidden, denied = [(await tools.call(name, {})).value["error"] for name in ("fail", "pay")]
    assert hidden == (
        '"fail" is called from a program: use exec, with code such as `return await tools.fail({})`.'
    )
    assert denied == 'There is no tool "pay". There are exec and wait.'


async def test_with_code_mode_off_the_tools_are_shown_and_called_as_they_are() -> None:
    async with engine([echo, make("plain")], OFF) as host:
        tools = await prepare_tools(host)
        assert not tools.active
        assert [shown.name for shown in tools.visible] == ["echo", "plain"]
        tools.guard({"tools": render_tools(tools.visible, "openai")})  # nothing to guard
        value, words, unknown, wrong = [
            await tools.call("echo", {"value": {"a": 1}}),
            await tools.call("echo", {"value": "as it is"}),
            await tools.call("echoo", {}),
            await tools.call("echo", {"valeu": 1}),
        ]
    assert (value.value, value.text) == ({"a": 1}, '{"a":1}')
    assert words.text == "as it is"
    assert (unknown.text, unknown.is_error) == ('There is no tool "echoo". Did you mean "echo"?', True)
    assert wrong.is_error
    assert "valeu" in wrong.text


async def test_with_code_mode_off_hooks_approvals_and_the_caller_hold_as_in_programs() -> None:
    seen: list[tuple[str, CallContext]] = []

    class Rule:
        def before_tool_call(self, call: BeforeToolCall) -> Block | None:
            seen.append((call.tool, call.context))
            return Block("not today") if call.tool == "echo" else None

    async with engine([echo, pay], OFF, hooks=Rule()) as host:
        context = CallContext(sender="ada")
        tools = await prepare_tools(host, session="s1", agent="a1", context=context)
        blocked, unapproved = [
            await tools.call("echo", {}, "c1"),
            await tools.call("pay", {"amount": 1}, "c2"),
        ]
    assert (blocked.text, blocked.is_error) == ("ToolBlocked: echo was blocked: not today", True)
    assert (unapproved.text, unapproved.is_error) == (
        "pay needs an approval, and nobody is there to give it.",
        True,
    )
    callers = [(c.agent_id, c.session_id, c.sender, c.call_id) for _, c in seen]
    assert callers == [("a1", "s1", "ada", "c1"), ("a1", "s1", "ada", "c2")]


async def test_the_guard_refuses_a_request_that_shows_more_than_exec_and_wait() -> None:
    async with engine() as host:
        tools = await prepare_tools(host)
        declared = render_tools(tools.visible, "anthropic")
        tools.guard({"tools": declared})
        with pytest.raises(PayloadRefused, match="echo"):
            tools.guard({"tools": declared + render_tools([echo], "anthropic")})


async def test_two_visible_tools_of_one_name_are_refused_when_they_are_prepared() -> None:
    async with Engine([echo, make("echo", source="plugin", owner="p")], OFF) as host:
        with pytest.raises(ConfigError, match='would both be shown as "echo"'):
            await prepare_tools(host)


async def test_no_tools_on_purpose_shows_none_and_answers_any_call() -> None:
    async with engine() as host:
        tools = await prepare_tools(host, disable_tools=True)
        assert tools.visible == ()
        answer = await tools.call("exec", {"code": "return 1"})
    assert (answer.text, answer.is_error) == ('There is no tool "exec".', True)


async def test_tools_that_no_engine_prepared_are_not_run_past_its_executor() -> None:
    @tool
    async def reached() -> None:
        raise AssertionError

    prepared: PreparedRun = prepare_run([reached], Engine([], OFF).config)
    with pytest.raises(ConfigError, match=r"Engine\.prepare"):
        await ModelTools(prepared).call("reached", {})


async def test_settings_without_a_switch_are_warned_about_once_with_the_line_to_write(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = (
        'Code mode is off, and the model is shown the tools themselves: the configuration sets "timeoutMs", '
        'but not "enabled". Write Engine(tools, {"enabled": True, "timeoutMs": 5000}); or say false if that '
        "is meant."
    )
    async with Engine([echo], {"timeoutMs": 5000}) as host:
        for _ in range(2):
            tools = await prepare_tools(host)
            assert (tools.active, [shown.name for shown in tools.visible]) == (False, ["echo"])
            assert tools.prepared.warnings == (told,)
    assert [record.message for record in caplog.records] == [told]


@pytest.mark.parametrize("config", [True, False, None, {}, {"enabled": False, "timeoutMs": 5000}])
async def test_who_says_whether_code_mode_is_on_is_not_warned(
    config: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with Engine([echo], config) as host:
        assert (await prepare_tools(host)).prepared.warnings == ()
    assert caplog.records == []
