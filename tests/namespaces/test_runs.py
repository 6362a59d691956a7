"""Namespaces in runs: who sees them, what they call, and what is refused before and during a program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from codemode import Engine, Waiting, tool
from codemode.catalog import Catalog
from codemode.executor import BeforeToolCall
from codemode.namespaces import Namespace, NamespaceContext, NamespaceRegistry, namespace_tool
from codemode.namespaces.registry import texts_of, visible_in
from codemode.surface.description import describe_exec
from codemode.tools import Tool, ToolError
from tests.harness.engine import Desk, engine, failure_of, statuses, value_of, waiting

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@tool(source="plugin", owner="fleet", name="ship_find")
async def find(name: str, limit: int = 1) -> dict[str, Any]:
    """Finds ships."""
    return {"name": name, "limit": limit}


@tool(source="plugin", owner="fleet", name="ship_sink")
async def sink(name: str) -> None:
    """Cannot."""
    raise ToolError(f"{name} does not sink")


def scope(context: NamespaceContext) -> dict[str, Any]:
    look = namespace_tool("ship_find")
    return {
        "find": look,
        "by": {"name": namespace_tool("ship_find", lambda args: {"name": args[0], "limit": len(args)})},
        "both": [look, look],
        "sink": namespace_tool("ship_sink"),
        "run": context.run_id,
        "who": [context.agent_id, context.session_id, context.config["timeoutMs"], context.is_aborted()],
        "none": None,
    }


FAILS = object()


def giving(made: Any) -> Callable[[NamespaceContext], Any]:
    def create_scope(context: NamespaceContext) -> Any:
        if made is FAILS:
            raise ZeroDivisionError
        return made

    return create_scope


FLEET: dict[str, Any] = {
    "id": "fleet.v1",
    "globalName": "fleet",
    "description": "The ships.",
    "prompt": "Start with fleet.find.",
    "requiredToolNames": ["ship_find", "ship_sink"],
    "createScope": scope,
}


async def test_a_program_sees_a_namespace_as_a_global_and_in_namespaces() -> None:
    program = """
    const { find, by, both, who, none } = fleet;
    return [fleet === namespaces.fleet, await find({ name: "a" }), await by.name("b", 1, 2),
            await both[1]({ name: "c" }), who, none, Object.isFrozen(by), Object.keys(namespaces)];
    """
    async with engine([find, sink]) as made:
        made.register_namespace("fleet", FLEET)
        result = await made.exec(program, session="s1")
        value = value_of(result)
        calls = [(call.tool, call.method) for call in result.telemetry.calls]
    assert value == [
        True,
        {"name": "a", "limit": 1},
        {"name": "b", "limit": 3},
        {"name": "c", "limit": 1},
        ["main", "s1", 20_000, False],
        None,
        True,
        ["fleet"],
    ]
    assert calls == [("plugin:fleet:ship_find", "namespace")] * 3


async def test_calls_go_through_the_executor_as_the_tools_they_are() -> None:
    seen: list[tuple[str, str, dict[str, Any]]] = []

    class Hook:
        def before_tool_call(self, event: BeforeToolCall) -> None:
            seen.append((event.tool, event.tool_id, event.arguments))

    async with engine([find, sink], hooks=Hook()) as made:
        made.register_namespace("fleet", FLEET)
        value = value_of(
            await made.exec(
                "await fleet.by.name('x'); return await fleet.find({ nam: 1 }).catch((e) => e.code)"
            )
        )
    assert value == "invalid_arguments"
    assert seen[1:] == [("ship_find", "plugin:fleet:ship_find", {"name": "x", "limit": 1})]


async def test_failures_can_be_caught_and_a_mapper_that_fails_is_one() -> None:
    program = """
    const sunk = await fleet.sink({ name: "Ark" }).catch((e) => [e.code, e.message]);
    const bad = await fleet.by.name().catch((e) => [e.code, e.message]);
    return [sunk, bad];
    """
    async with engine([find, sink]) as made:
        made.register_namespace("fleet", FLEET)
        value = value_of(await made.exec(program))
    assert value == [
        ["tool_error", "Ark does not sink"],
        ["invalid_arguments", "fleet.by.name: these arguments cannot be used: IndexError"],
    ]


async def test_it_is_not_there_without_its_tools_and_neither_is_its_prompt() -> None:
    registry = NamespaceRegistry()
    registry.register("fleet", FLEET)
    async with engine([find, sink], policy={"deny": ["ship_sink"]}) as made:
        made.register_namespace("fleet", FLEET)
        value = value_of(await made.exec("return [typeof fleet, Object.keys(namespaces)]"))
    assert value == ["undefined", []]
    whole, part = Catalog([find, sink]), Catalog([find])
    assert "Start with fleet.find." in describe_exec(whole, namespaces=texts_of(registry.registered, whole))
    assert "fleet" not in describe_exec(part, namespaces=texts_of(registry.registered, part), index_budget=0)


@pytest.mark.parametrize(
    "other",
    [
        {"source": "plugin", "owner": "pirates"},
        {"source": "openclaw", "owner": "fleet"},
        {"source": "mcp", "owner": "fleet"},
        {"source": "client", "owner": "fleet"},
    ],
)
def test_tools_of_that_name_from_elsewhere_do_not_make_it_visible(other: dict[str, Any]) -> None:
    registry = NamespaceRegistry()
    registry.register("fleet", FLEET)
    foreign = [Tool(own.name, "", own.parameters, own.run, **other) for own in (find, sink)]
    assert visible_in(registry.registered, Catalog(foreign)) == ()
    assert len(visible_in(registry.registered, Catalog([*foreign, find, sink]))) == 1


async def test_clear_removes_what_a_plugin_registered() -> None:
    async with engine([find, sink]) as made:
        made.register_namespace("fleet", FLEET)
        before = value_of(await made.exec("return typeof fleet"))
        removed = (made.clear_namespaces("pirates"), made.clear_namespaces("fleet"))
        assert before == "object"
        assert removed == (0, 1)
        assert value_of(await made.exec("return [typeof fleet, Object.keys(namespaces)]")) == [
            "undefined",
            [],
        ]


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        ({"f": print}, "fleet.f: a raw function"),
        ({"deep": [{"f": len}]}, "fleet.deep.0.f: a raw function"),
        ({"other": namespace_tool("echo")}, 'fleet.other: "echo" is not in requiredToolNames'),
        ({"a.b": 1}, "'a.b' cannot be a name here"),
        ({"": 1}, "'' cannot be a name here"),
        ({"__proto__": {}}, "'__proto__' cannot be a name here"),
        ({"x": {"constructor": 1}}, "fleet.x: 'constructor' cannot be a name here"),
        ({"prototype": 1}, "'prototype' cannot be a name here"),
        ({1: 1}, "1 cannot be a name here"),
        ([], "must return a plain object"),
        (FAILS, "createScope failed: ZeroDivisionError"),
    ],
)
async def test_a_scope_that_cannot_be_used_is_refused_before_the_program_runs(
    made: Any, problem: str
) -> None:
    async with engine([find, sink]) as own:
        own.register_namespace("fleet", FLEET | {"createScope": giving(made)})
        result = await own.exec("text('ran'); return 1")
        assert result.output == ()
        assert problem in failure_of(result, "invalid_config").error


async def test_cycles_are_refused_and_shared_references_are_not() -> None:
    shared = {"look": namespace_tool("ship_find")}
    cycle: dict[str, Any] = {}
    cycle["again"] = [cycle]
    async with engine([find, sink]) as made:
        made.register_namespace(
            "fleet", FLEET | {"createScope": giving({"a": shared, "b": [shared, shared]})}
        )
        found = value_of(await made.exec("return await fleet.b[1].look({ name: 'x' })"))
        made.register_namespace("fleet", FLEET | {"createScope": giving(cycle)})
        error = failure_of(await made.exec("return 1"), "invalid_config").error
    assert found == {"name": "x", "limit": 1}
    assert 'namespace "fleet.v1" at fleet.again.0: a cycle' in error


async def test_a_suspended_call_of_a_namespace_is_delivered_after_wait() -> None:
    desk = Desk()
    hold = Tool("hold", "", {"type": "object"}, desk.tools[0].run, None, "plugin", "fleet")
    waiting_room = FLEET | {
        "requiredToolNames": ["hold"],
        "createScope": giving({"hold": namespace_tool("hold", lambda args: {"name": args[0]})}),
    }
    async with engine([hold], {"timeoutMs": 300}) as made:
        made.register_namespace("fleet", waiting_room)
        first = waiting(await made.exec("return await fleet.hold('a')"), "pending_tools")
        pending = [(call.method, call.tool) for call in first.pending_tool_calls]
        desk.answer("a", "done")
        result = await made.wait(first.run_id)
        assert pending == [("namespace", "plugin:fleet:hold")]
        assert value_of(result) == "done"
        assert statuses(result) == [("hold", "ok")]


async def test_after_a_restart_a_namespace_call_that_was_approved_finds_its_tool_and_mapper(
    tmp_path: Path,
) -> None:
    @tool(source="plugin", owner="fleet", name="ship_sell", requires_approval=True)
    async def sell(name: str) -> str:
        """Sells a ship."""
        return f"sold {name}"

    trade = FLEET | {
        "requiredToolNames": ["ship_sell"],
        "createScope": giving({"sell": namespace_tool("ship_sell", lambda args: {"name": args[0]})}),
    }
    options: dict[str, Any] = {"store": tmp_path / "runs.sqlite", "store_key": b"k" * 32}

    async def agree(made: Engine, result: Waiting) -> None:
        approval = result.pending_tool_calls[0].approval
        assert approval is not None
        assert await made.approve(result.run_id, approval.id)

    async with engine([sell], **options) as made:
        made.register_namespace("fleet", trade)
        first = waiting(await made.exec("return [await fleet.sell('A'), await fleet.sell('B')]"), "approval")
    async with engine([sell], **options) as made:
        made.register_namespace("fleet", trade)
        await agree(made, first)
        second = waiting(await made.wait(first.run_id), "approval")
        await agree(made, second)
        assert value_of(await made.wait(first.run_id)) == ["sold A", "sold B"]


def test_a_registered_object_and_a_namespace_are_the_same() -> None:
    registry = NamespaceRegistry()
    own = Namespace(
        id="fleet.v1", global_name="fleet", required_tool_names=("ship_find", "ship_sink"), create_scope=scope
    )
    registry.register("fleet", own)
    registry.register("fleet", FLEET)
    assert [found.namespace.prompt for found in visible_in(registry.registered, Catalog([find, sink]))] == [
        "Start with fleet.find."
    ]
