"""The JSON-RPC backend against hosts that do not keep to the protocol: it says so, and goes on."""

import contextlib
import json
import signal
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.serve.json_rpc import messages as rpc
from codemode.serve.json_rpc.peer import MAX_REQUESTS
from tests.harness.patience import PATIENCE_SECONDS
from tests.harness.processes import PROJECT
from tests.harness.serve import SHOP, RawHost, raw_host, refusal, serve

pytestmark = pytest.mark.usefixtures("leaves_nothing")

HOLD: dict[str, Any] = {"name": "hold", "description": "Takes its time."}


async def works(host: RawHost) -> None:
    """The connection is as good as before."""
    answer = await host.ask("exec", {"input": {"code": "return 6 * 7"}}, id="works")
    assert (answer["id"], answer["result"]["value"]) == ("works", 42)


def error_of(answer: dict[str, Any]) -> tuple[Any, int]:
    return answer["id"], answer["error"]["code"]


LINES: list[tuple[bytes, tuple[Any, int]]] = [
    (b"garbage", (None, -32700)),
    (b'{"jsonrpc": "2.0", "id": 1, "method"', (None, -32700)),
    (b"\xff\xfe\x00", (None, -32700)),
    (b"[" * 100_000, (None, -32600)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "stats", "params": ' + b"[" * 100_000, (None, -32700)),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "stats"}]', (None, -32600)),
    (b"42", (None, -32600)),
    (b'{"id": 7, "method": "stats"}', (7, -32600)),
    (b'{"jsonrpc": "1.0", "id": 7, "method": "stats"}', (7, -32600)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "stats", "extra": 1}', (7, -32600)),
    (b'{"jsonrpc": "2.0", "id": null, "method": "stats"}', (None, -32600)),
    (b'{"jsonrpc": "2.0", "id": [1], "method": "stats"}', (None, -32600)),
    (b'{"jsonrpc": "2.0", "id": 7}', (7, -32600)),
    (b'{"jsonrpc": "2.0", "id": 7, "result": 1, "error": {"code": 1, "message": ""}}', (7, -32600)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "nope"}', (7, -32601)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "exec", "params": [1]}', (7, -32602)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "exec", "params": {}}', (7, -32602)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "stats", "params": {"all": true}}', (7, -32602)),
    (b'{"jsonrpc": "2.0", "id": 7, "method": "abort", "params": {"runId": 1}}', (7, -32602)),
    (
        b'{"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": 1}}',
        (7, -32600),
    ),
]


async def test_what_is_wrong_with_a_line_is_said_by_a_code_and_the_next_line_counts() -> None:
    async with raw_host() as host:
        await host.begin()
        for line, expected in LINES:
            await host.write(line + b"\n")
            assert error_of(await host.read()) == expected, line[:100]
            await works(host)


async def test_nothing_is_done_before_the_versions_are_agreed_on() -> None:
    async with raw_host() as host:
        assert error_of(await host.ask("exec", {"input": {"code": "return 1"}})) == (1, -32002)
        refused = await host.ask("initialize", {"protocolVersion": 2})
        assert error_of(refused) == (1, -32001)
        assert refused["error"]["data"] == {"supported": [1]}
        await host.begin()
        await works(host)


async def test_a_line_over_the_limit_is_refused_by_its_id_and_not_kept() -> None:
    async with raw_host() as host:
        await host.begin()
        await host.send(id=5, method="exec", params={"input": {"code": "x" * (40 << 20)}})
        assert error_of(await host.read()) == (5, -32600)
        await host.write(b"x" * (17 << 20) + b"\n")
        assert error_of(await host.read()) == (None, -32600)
        await works(host)


async def test_an_answer_over_the_limit_fails_the_call_and_not_the_connection() -> None:
    async with raw_host() as host:
        await host.begin(tools=[HOLD])
        code = "try { await tools.hold({}) } catch (e) { return e.message }"
        asked = await host.ask("exec", {"input": {"code": code}})
        await host.send(id=asked["id"], result={"value": "x" * (17 << 20)})
        answer = await host.read()
        assert answer["result"]["value"] == "the host's answer is too long: a message may have 16777216 bytes"
        await works(host)


async def test_an_answer_in_another_shape_fails_the_call() -> None:
    async with raw_host() as host:
        await host.begin(tools=[HOLD])
        for result in (None, 5, {"vale": 1}, "text"):
            asked = await host.ask("exec", {"input": {"code": "return await tools.hold({})"}})
            await host.send(id=asked["id"], result=result)
            answer = await host.read()
            assert answer["result"]["code"] == "nested_tool_failed"
            assert "the host's answer to hold must be {value}" in answer["result"]["error"]


async def test_answers_progress_and_cancels_for_nothing_are_ignored() -> None:
    async with raw_host(stderr=subprocess.DEVNULL) as host:
        await host.begin()
        await host.send(id="engine-1", result={"value": 1})
        await host.send(id=99, error={"code": 1, "message": "no"})
        await host.send(method="progress", params={"id": "engine-9", "progress": 1})
        await host.send(method="cancel", params={"id": "nothing"})
        await host.send(method="cancel", params={"what": 1})
        await host.send(method="unheard", params={})
        await works(host)


async def test_a_second_answer_to_a_call_changes_nothing() -> None:
    async with raw_host(stderr=subprocess.DEVNULL) as host:
        await host.begin(tools=[HOLD])
        code = "const a = await tools.hold({}); const b = await tools.hold({}); return [a, b]"
        first = await host.ask("exec", {"input": {"code": code}})
        await host.send(id=first["id"], result={"value": "one"})
        await host.send(id=first["id"], result={"value": "forged"})
        second = await host.read()
        await host.send(id=second["id"], result={"value": "two"})
        assert (await host.read())["result"]["value"] == ["one", "two"]


async def test_a_flood_of_requests_is_refused_above_the_limit_and_an_id_in_use_is_refused() -> None:
    async with raw_host("--timeout", "60") as host:
        await host.begin(tools=[HOLD])
        for number in range(300):
            await host.send(id=number, method="exec", params={"input": {"code": "return tools.hold({})"}})
        refused: list[dict[str, Any]] = []
        while len(refused) < 300 - MAX_REQUESTS:
            message = await host.read()
            refused += [message] if "error" in message else []
        assert [error_of(message) for message in refused] == [
            (number, -32000) for number in range(MAX_REQUESTS, 300)
        ]
        await host.send(id=0, method="stats")
        while "error" not in (message := await host.read()):
            assert message["method"] == "tools/call"
        assert error_of(message) == (0, -32600)


def test_a_host_that_never_reads_and_closes_its_end_is_not_waited_for() -> None:
    process = subprocess.Popen(serve("--stdio"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=PROJECT)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
        )
        held = b"await new Promise((resolve) => setTimeout(resolve, 9000))"
        process.stdin.write(
            b'{"jsonrpc":"2.0","id":2,"method":"exec","params":{"input":{"code":"%s"}}}\n' % held
        )
        for _ in range(5_000):  # each is answered with some hundred bytes: more than pipes hold
            process.stdin.write(b"garbage that is no message at all\n")
        process.stdin.close()
        assert process.wait(PATIENCE_SECONDS) == 0
    finally:
        process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_in_the_middle_of_a_call_ends_everything_with_exit_code_zero(
    number: signal.Signals,
) -> None:
    async with raw_host() as host:
        await host.begin(tools=[HOLD])
        await host.ask("exec", {"input": {"code": "return await tools.hold({})"}})
        host.process.send_signal(number)
        assert await host.ended() == 0


async def test_two_tools_under_one_id_and_a_tool_that_cannot_be_are_errors_of_the_host() -> None:
    async with raw_host() as host:
        await host.begin(tools=[HOLD])
        twice = await host.ask("exec", {"input": {"code": "return 1"}, "tools": [HOLD]})
        assert error_of(twice) == (1, -32602)
        for bad in (
            {"name": ""},
            {"name": "x", "owner": "a:b"},
            {"name": "x", "hints": {"timeoutMs": 0}},
        ):
            answer = await host.ask("prepare", {"tools": [bad]})
            assert error_of(answer) == (1, -32602)
        await works(host)


async def test_stdout_carries_the_protocol_alone_whatever_tools_print() -> None:
    async with raw_host("--tools", SHOP, stderr=subprocess.DEVNULL) as host:
        await host.begin()
        answer = await host.ask("exec", {"input": {"code": 'return await tools.shout({ text: "hey" })'}})
        assert answer["result"]["value"] == "HEY"


def test_a_file_as_standard_input_is_refused_in_words() -> None:
    text = "codemode serve: stdin: must be a pipe, a socket or a terminal, not a file.\n"
    assert refusal("--stdio") == (2, "", text)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_FIELDS = st.sampled_from(("jsonrpc", "id", "method", "params", "result", "error", "other"))
_NEARLY = st.dictionaries(_FIELDS, _JSON | st.just("2.0"), max_size=5)


@given(st.binary(max_size=200) | (_NEARLY | _JSON).map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_message_or_is_refused(line: bytes) -> None:
    """Any other exception would come out here."""
    with contextlib.suppress(rpc.MessageRefused):
        assert isinstance(rpc.decode(line), rpc.Request | rpc.Notification | rpc.Reply)
