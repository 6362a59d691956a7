"""MCP servers that attack the host's loop and memory: no turn is long, memory has a bound, what is too much
fails its call alone, a server that does not stop is disconnected, and its neighbours' answers are right."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from codemode import McpServerStats
from tests.harness.engine import engine, value_of
from tests.harness.loop_meter import MOST_UNITS, LoopMeter, measured
from tests.harness.loops import until
from tests.harness.mcp_servers import fast_at, free_port, hostile, listening, servers
from tests.mcp.hostile_server import FLOODS

pytestmark = pytest.mark.usefixtures("leaves_nothing")

MOST_BYTES = 200 << 20
GOOD = "return (await MCP.good.ok()).content[0].text"


@pytest.mark.guarantee("no-mcp-server-holds-up-the-loop")
@pytest.mark.parametrize("kind", FLOODS)
def test_a_server_that_floods_is_disconnected_and_its_neighbours_answer_meanwhile(
    kind: str, tmp_path: Path
) -> None:
    trigger = tmp_path / "now"

    async def scenario(meter: LoopMeter) -> tuple[list[Any], dict[str, Any]]:
        bad = hostile("flood", kind, str(trigger))
        async with engine((), mcp=servers(bad=bad, good=hostile("calls"))) as made:
            value_of(await made.exec(f"await MCP.bad.ok(); {GOOD}"))
            meter.begin()
            trigger.touch()
            found: list[Any] = []
            while not (told := made.health()["mcp"][0])["disconnected"]:
                found.append(value_of(await made.exec(GOOD)))
            trigger.unlink()
            program = "return await MCP.bad.ok().then((v) => v.content[0].text, (e) => e.message)"
            await until(lambda: made.health()["mcp"][0]["state"] == "failed")
            refused = value_of(await made.exec(program))
            assert refused.startswith("the MCP server bad cannot be reached: it sent more than anybody asked")
            await until(lambda: made.health()["mcp"][0]["state"] == "connected")
            assert value_of(await made.exec(program)) == "ok"
            counted = made.stats().mcp
            assert [one.server for one in counted] == ["bad", "good"]
            assert counted[0].disconnected >= 1
            assert counted[1] == McpServerStats("good", 0, 0, 0)
        return found, told

    (found, told), worst, grown = measured(scenario)
    assert set(found) <= {"ok"}
    assert told["dropped"] > 0 or told["refused"] > 0
    assert worst < MOST_UNITS
    assert grown < MOST_BYTES


PARTS = "the server's answer is made of more than 250,000 parts: lists, objects, keys, strings and numbers"
DEEP = "nested more than 256 levels deep"
ANSWERS = {
    "blocks": 49_000,
    "manyBlocks": PARTS,
    "lists": PARTS,
    "numbers": PARTS,
    "allWrong": 'all_wrong has run, but its result is not what it declares: 7 is not of type "string"',
    "oneOf": 240_000,
    "anyOf": 240_000,
    "deep": f"the server's answer is {DEEP}",
    "lateId": f"the server's answer is {DEEP}",
    "middleId": f"the MCP server bad was lost: it sent a message that belongs to no call and is {DEEP}",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_too_much_fails_its_call_at_once_and_nothing_else(name: str) -> None:
    program = f"return await MCP.bad.{name}().then((v) => (v.content ?? v.n).length, (e) => e.message)"

    async def scenario(meter: LoopMeter) -> tuple[Any, Any]:
        async with engine((), mcp=servers(bad=hostile("calls"), good=hostile("calls"))) as made:
            value_of(await made.exec(f"await MCP.bad.ok(); {GOOD}"))
            meter.begin()
            return value_of(await made.exec(program)), value_of(await made.exec(GOOD))

    found, worst, grown = measured(scenario)
    assert found == (ANSWERS[name], "ok")
    assert worst < MOST_UNITS
    assert grown < MOST_BYTES


def hostile_http(port: int, kind: str, trigger: Path) -> AbstractAsyncContextManager[Any]:
    return listening([sys.executable, "-m", "tests.mcp.hostile_http", str(port), kind, str(trigger)], port)


@pytest.mark.parametrize("kind", ["lists", "progress", "changed", "pings", "questions", "large answers"])
def test_a_server_that_floods_its_event_stream_is_disconnected_too(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trigger, port = tmp_path / "now", free_port()

    async def scenario(meter: LoopMeter) -> list[Any]:
        both = servers(bad=fast_at(port), good=hostile("calls"))
        async with hostile_http(port, kind, trigger), engine((), mcp=both) as made:
            value_of(await made.exec(f"await MCP.bad.ok(); {GOOD}"))
            meter.begin()
            trigger.touch()
            found: list[Any] = []
            while not made.health()["mcp"][0]["disconnected"]:
                found.append(value_of(await made.exec(GOOD)))
            trigger.unlink()
            await until(lambda: made.health()["mcp"][0]["state"] == "failed")
            assert made.health()["mcp"][0]["reason"].startswith("it sent more than anybody asked for")
            await until(lambda: made.health()["mcp"][0]["state"] == "connected")
            found.append(value_of(await made.exec("return (await MCP.bad.ok()).content[0].text")))
        return found

    found, worst, grown = measured(scenario)
    assert set(found) == {"ok"}
    # the log is not flooded either
    assert caplog.text.count("belongs to no one call") == (kind == "questions")
    assert worst < MOST_UNITS
    assert grown < MOST_BYTES


HTTP_ANSWERS = {
    "plain": PARTS,
    "events": PARTS,
    "deep": f"the server's answer is {DEEP}",
    "wrongId": "wrong_id",
    "bomb": "the server's answer is compressed, which nobody asked for",
    "rubbish": "the server's answer is not what MCP says it is",
    "before": "before",
}


def test_answers_over_http_are_measured_matched_and_refused_one_by_one(tmp_path: Path) -> None:
    port = free_port()
    program = f"""const told = (name) => MCP.bad[name]().then((v) => v.content[0].text, (e) => e.message);
    const found = {{}};
    for (const name of {list(HTTP_ANSWERS)}) found[name] = await told(name);
    return found"""

    async def scenario(meter: LoopMeter) -> Any:
        bad = fast_at(port)
        async with (
            hostile_http(port, "logs", tmp_path / "never"),
            engine((), mcp=servers(bad=bad), config={"timeoutMs": 30_000}) as made,
        ):
            value_of(await made.exec("await MCP.bad.ok()"))
            meter.begin()
            return value_of(await made.exec(program))

    found, worst, grown = measured(scenario)
    assert found == HTTP_ANSWERS
    assert worst < MOST_UNITS
    assert grown < MOST_BYTES
