"""Plugins come and go while the engine runs; runs and prepared runs keep what they had."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode import (
    BlockingEngine,
    ConfigError,
    Engine,
    NamespaceContext,
    Plugin,
    PluginHealth,
    ToolError,
    namespace_tool,
    tool,
)
from codemode.adapters.calling import ModelTools
from tests.harness.engine import Desk, echo, engine, failure_of, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")
NAMES = "return ALL_TOOLS.map((entry) => entry.id)"


@tool
async def find(ship: str = "Fram") -> str:
    """Finds a ship."""
    return f"{ship} is in Oslo"


def scope(_: NamespaceContext) -> dict[str, Any]:
    return {"find": namespace_tool("find")}


FLEET: dict[str, Any] = {
    "id": "fleet",
    "globalName": "fleet",
    "requiredToolNames": ["find"],
    "createScope": scope,
}
SHIPS = Plugin("ships", tools=[find], namespaces=[FLEET])


@pytest.mark.guarantee("plugins-come-and-go")
async def test_a_plugin_registered_while_the_engine_runs_is_in_the_next_run() -> None:
    async with engine([echo]) as made:
        assert value_of(await made.exec(NAMES)) == ["openclaw:core:echo"]
        made.register(SHIPS)
        assert made.plugins() == ("ships",)
        assert value_of(await made.exec(NAMES)) == ["openclaw:core:echo", "plugin:ships:find"]
        program = "return [await tools.find({ ship: 'Ark' }), await fleet.find(), ALL_TOOLS[1].sourceName]"
        assert value_of(await made.exec(program)) == ["Ark is in Oslo", "Fram is in Oslo", "ships"]
        made.unregister("ships")
        assert made.plugins() == ()
        assert value_of(await made.exec(NAMES)) == ["openclaw:core:echo"]
        assert value_of(await made.exec("return typeof fleet")) == "undefined"


@pytest.mark.guarantee("plugins-come-and-go")
async def test_a_prepared_run_keeps_the_tools_and_namespaces_it_was_prepared_with() -> None:
    async with engine([echo]) as made:
        without = ModelTools(await made.prepare())
        made.register(SHIPS)
        with_ships = ModelTools(await made.prepare())
        made.unregister("ships")
        late = Plugin("late", tools=[tool(find.function, name="seek")])
        made.register(late)
        program = {"code": "return [ALL_TOOLS.map((entry) => entry.name), typeof fleet]"}
        answers = [await one.call("exec", program) for one in (without, with_ships)]
        assert [answer.value["value"] for answer in answers] == [
            [["echo"], "undefined"],
            [["echo", "find"], "object"],
        ]
        called = await with_ships.call("exec", {"code": "return await fleet.find()"})
        assert called.value["value"] == "Fram is in Oslo"
        assert "fleet" in with_ships.prepared.exec_description
        assert "fleet" not in without.prepared.exec_description


@pytest.mark.guarantee("plugins-come-and-go")
async def test_a_suspended_run_and_calls_under_way_keep_a_plugin_that_is_unregistered() -> None:
    desk = Desk()
    async with engine(()) as made:
        made.register(Plugin("desk", tools=desk.tools))
        program = (
            "const held = tools.hold({ name: 'a' }); await yield_control();"
            "return [await held, await tools.echo({ value: 1 })]"
        )
        first = waiting(await made.exec(program), "yield")
        await desk.asked("a")
        made.unregister("desk")
        desk.answer("a")
        assert value_of(await made.wait(first.run_id)) == ["a", 1]
        assert failure_of(await made.exec("await tools.call('echo')"), "nested_tool_failed")


async def test_tool_search_lists_the_tools_anew_for_each_call() -> None:
    async with Engine([echo], False) as made:
        made.register(SHIPS)
        prepared = await made.tool_search({"mode": "tools"}).prepare()
        found = await prepared.call("tool_call", {"id": "find", "args": {}})
        made.unregister("ships")
        gone = await prepared.call("tool_call", {"id": "find", "args": {}})
    assert (found.value, gone.code) == ("Fram is in Oslo", "unknown_tool")


async def test_a_plugin_that_cannot_be_taken_leaves_everything_as_it_was() -> None:
    taken = Plugin("other", tools=[tool(find.function, name="look")], namespaces=[FLEET | {"id": "second"}])
    foreign = tool(find.function, source="mcp", owner="x")
    async with engine([echo]) as made:
        made.register(SHIPS)
        for plugin, told in (
            (SHIPS, "plugin.ships: is registered already: unregister it first."),
            (taken, 'namespace.second.globalName: "fleet" is taken by another one.'),
            (Plugin("twice", tools=[find, find]), "plugin:twice:find"),
            (Plugin("a:b"), "plugin.id: is a text that is not blank and has no colon."),
            (Plugin("  "), "plugin.id: is a text"),
            (Plugin("mine", tools=[foreign]), "says that it is mcp:x:find"),
            (Plugin("bad", tools="find"), "plugin.bad.tools: must be a list"),
        ):
            with pytest.raises(ConfigError) as refused:
                made.register(plugin)
            assert told in str(refused.value)
        no_plugin: Any = {"id": "x"}
        with pytest.raises(ConfigError, match=r"must be a codemode\.Plugin"):
            made.register(no_plugin)
        with pytest.raises(ConfigError, match=r'no plugin "shps" is registered\. Did you mean "ships"'):
            made.unregister("shps")
        assert made.plugins() == ("ships",)
        assert value_of(await made.exec(NAMES)) == ["openclaw:core:echo", "plugin:ships:find"]


async def test_the_policy_is_asked_about_a_plugin_s_tools_too() -> None:
    async with engine([echo], policy={"deny": ["plugin:ships:*"]}, plugins=[SHIPS]) as made:
        assert value_of(await made.exec(NAMES)) == ["openclaw:core:echo"]
        assert value_of(await made.exec("return typeof fleet")) == "undefined"


def test_the_blocking_engine_has_plugins_and_their_health() -> None:
    sick = Plugin("sick", probe=lambda: "out of paper")
    with BlockingEngine([echo], plugins=[SHIPS]) as made:
        made.register(sick)
        assert made.plugins() == ("ships", "sick")
        assert value_of(made.exec("return await fleet.find()")) == "Fram is in Oslo"
        assert "plugin sick: out of paper" in made.probe().reasons
        made.unregister("ships")
        assert value_of(made.exec(NAMES)) == ["openclaw:core:echo"]


# ---- health ------------------------------------------------------------------------------------------------


async def healthy() -> None:
    pass


async def failing() -> None:
    raise OSError("/home/ada/socket is gone")


def degraded_by_raising() -> None:
    raise ToolError("slow today", status="degraded")


async def hanging() -> None:
    await asyncio.Event().wait()


@pytest.mark.guarantee("plugins-are-probed")
async def test_a_probe_of_the_engine_asks_each_plugin_and_health_remembers_the_answers() -> None:
    odd: Any = lambda: 7  # noqa: E731 - a probe that answers with rubbish
    probes: dict[str, Any] = {
        "well": healthy,
        "words": lambda: "the disk is nearly full",
        "down": failing,
        "slow": degraded_by_raising,
        "told": lambda: PluginHealth("unavailable", "no licence"),
        "odd": odd,
        "none": None,
    }
    async with engine((), plugins=[Plugin(name, probe=probe) for name, probe in probes.items()]) as made:
        before = made.health()
        assert {check.status for check in before.checks if check.name.startswith("plugin ")} == {"healthy"}
        probed = await made.probe()
        found = {check.name: (check.status, check.reason) for check in probed.checks}
        assert {name: found[f"plugin {name}"] for name in probes} == {
            "well": ("healthy", ""),
            "words": ("degraded", "the disk is nearly full"),
            "down": ("unavailable", "…/socket is gone"),
            "slow": ("degraded", "slow today"),
            "told": ("unavailable", "no licence"),
            "odd": ("degraded", "its probe answered with 7"),
            "none": ("healthy", ""),
        }
        assert probed.status == "degraded"  # programs run without plugins
        assert made.health().checks[-len(probes) :] == probed.checks[-len(probes) :]
        made.unregister("down")
        assert "plugin down" not in {check.name for check in made.health().checks}


async def test_a_probe_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemode.health._PATIENCE_SECONDS", 0.2)
    async with engine((), settings={"warmWorkers": 1}, plugins=[Plugin("stuck", probe=hanging)]) as made:
        assert value_of(await made.exec("return 1")) == 1
        reasons = (await made.probe()).reasons
    assert "plugin stuck: it did not answer within 0.2 s" in reasons
