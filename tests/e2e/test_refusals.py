"""Calls that must not happen: wrong arguments, and ways back into exec, wait and Tool Search."""

from __future__ import annotations

from typing import Any

import pytest

from codemode import tool
from tests.harness.engine import engine, failure_of, value_of
from tests.harness.tool_samples import make, takes

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.guarantee("arguments-are-checked-first")
async def test_wrong_arguments_reach_no_tool_and_the_error_says_what_is_right() -> None:
    sent: list[str] = []
    asked: list[Any] = []

    @tool(requires_approval=True)
    async def send_mail(recipient: str, subject: str = "") -> None:
        """Sends a mail."""
        sent.append(recipient)

    class Hook:
        def before_tool_call(self, event: Any) -> None:
            if event.tool_kind == "tool":
                asked.append(event)

    words = (
        'send_mail: unknown parameter "recipiant". Did you mean "recipient"?; '
        'missing parameter "recipient", perhaps given as "recipiant". '
        "Parameters: { recipient: string, subject?: string }"
    )
    async with engine([send_mail], hooks=Hook(), approve=asked.append) as made:
        call = "tools.send_mail({ recipiant: 'ann' })"
        caught = await made.exec(
            f"return await {call}.catch((e) => [e.name, e.code, e.message, e.data.problems.length])"
        )
        assert value_of(caught) == ["InvalidArguments", "invalid_arguments", words, 2]
        result = failure_of(await made.exec(f"return await {call}"), "nested_tool_failed")
        assert result.error.startswith(f"InvalidArguments: {words} (1:20)")
        for given in ("'ann'", "[1]", "{ recipient: 5 }", "{ recipient: 'a', subject: null }", "{}"):
            failure_of(await made.exec(f"await tools.send_mail({given})"), "nested_tool_failed")
        assert (sent, asked) == ([], [])


@pytest.mark.guarantee("no-recursion")
async def test_exec_wait_and_tool_search_cannot_be_called_by_a_program() -> None:
    controls = ("exec", "wait", "tool_search_code", "tool_search", "tool_describe", "tool_call")
    offered = [
        make("read"),
        *(make(name) for name in controls[2:]),
        make("exec", control=True),
        make("wait", control=True),
    ]
    program = f"""
    const said = [];
    const code = (promise) => promise.then(() => "it worked", (error) => error.code);
    for (const name of {list(controls)}) {{
      said.push(typeof globalThis[name], typeof tools[name], ...await tools.search(name));
      for (const id of [name, `openclaw:core:${{name}}`])
        said.push(await code(tools.call(id, {{}})), await code(tools.describe(id)));
    }}
    return [[...new Set(said)], ALL_TOOLS.map((entry) => entry.name)];
    """
    async with engine(offered) as made:
        assert value_of(await made.exec(program)) == [["undefined", "unknown_tool"], ["read"]]


@pytest.mark.guarantee("no-recursion")
async def test_a_host_shell_named_exec_is_an_ordinary_tool_of_the_program() -> None:
    shell = make("exec", "Runs a shell command.", parameters=takes("command"))
    async with engine([shell]) as made:
        program = """
        const wrong = await tools.call("exec", { code: "return 1" }).catch((error) => error.code);
        const byId = await tools.call("openclaw:core:exec", { command: "id" });
        return [await tools.exec({ command: "ls" }), byId, wrong];
        """
        result = await made.exec(program)
        assert value_of(result) == [{"command": "ls"}, {"command": "id"}, "invalid_arguments"]
        assert result.telemetry.visible_tools == ("exec", "wait")
