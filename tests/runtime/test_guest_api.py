"""What a run offers its program: tools, MCP, API, namespaces. All of it driven by a descriptor."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from typing import Any

import pytest
from codemode_runtime.shapes import Lookup

from tests.harness.guests import Offer, ToolFailed, always, echo, run

ENTRIES = [
    {"id": "openclaw:core:echo", "name": "echo", "description": "Echo.", "source": "openclaw"},
    {
        "id": "plugin:x:__proto__",
        "name": "__proto__",
        "description": "",
        "source": "plugin",
        "tags": [{"a": 1}],
    },
]
DOCS: dict[str, Any] = {
    "o": {
        "createIssue": {"c": "mcp:docs:create_issue", "m": "mcp"},
        "resources": {
            "o": {"list": {"c": "docs", "m": "mcp_resources_list"}, "read": {"c": "docs", "m": "mcp_read"}}
        },
        "prompts": {"o": {"get": {"c": "docs", "m": "mcp_prompt"}}},
        "$api": {"api": "docs"},
    }
}
FLEET: dict[str, Any] = {
    "o": {
        "ships": {"o": {"list": {"c": "fleet/ships/list", "m": "namespace"}}},
        "limits": {"v": {"max": [1, {"deep": 2}]}},
        "queue": {"a": [{"v": 1}, {"c": "fleet/queue/1", "m": "namespace"}]},
        "version": {"v": "1.0"},
    }
}


def offer() -> Offer:
    return Offer(
        {
            (Lookup.ALL_TOOLS, ""): ENTRIES,
            (Lookup.TOOL_NAMES, ""): {
                "echo": "openclaw:core:echo",
                "read_file": "openclaw:core:read_file",
            },
            (Lookup.TOOL, "echo"): "openclaw:core:echo",
            (Lookup.TOOL, "read_file"): "openclaw:core:read_file",
            (Lookup.SERVERS, ""): ["docs"],
            (Lookup.SERVER, "docs"): DOCS,
            (Lookup.API_LIST, ""): {"files": ["mcp/index.d.ts", "mcp/docs.d.ts"]},
            (Lookup.API_LIST, "mcp/d"): {"files": ["mcp/docs.d.ts"]},
            (Lookup.API_READ, "mcp/docs.d.ts"): {"path": "mcp/docs.d.ts", "content": "declare const x: 1;"},
            (Lookup.API, "[null]"): {"header": "all"},
            (Lookup.API, '["docs"]'): {"header": "docs"},
            (Lookup.API, '["docs","createIssue",{"schema":true}]'): {"header": "createIssue", "schema": {}},
            (Lookup.NAMESPACES, ""): {"fleet": FLEET},
        },
        has_namespaces=True,
    )


def value_of(program: str) -> Any:
    return run(program, {"openclaw:core:echo": echo}, descriptor=offer()).value


def test_all_tools_is_a_deeply_frozen_array_of_entries() -> None:
    assert value_of("return ALL_TOOLS") == ENTRIES
    program = """const frozen = (v) => typeof v !== "object" || v === null || (Object.isFrozen(v) && Object.values(v).every(frozen));
      return [frozen(ALL_TOOLS), ALL_TOOLS === ALL_TOOLS, Array.isArray(ALL_TOOLS), ALL_TOOLS.length];"""
    assert value_of(program) == [True, True, True, 2]


def test_a_program_that_names_nothing_asks_for_nothing_but_the_namespaces() -> None:
    descriptor = offer()
    run("return 1", descriptor=descriptor)
    assert descriptor.asked == [(Lookup.NAMESPACES, "")]


def test_each_thing_is_asked_for_when_it_is_first_named_and_then_kept() -> None:
    descriptor = offer()
    run(
        "ALL_TOOLS; ALL_TOOLS; tools.echo; tools.echo; MCP.docs; MCP.docs; fleet; return 1",
        descriptor=descriptor,
    )
    assert descriptor.asked == [
        (Lookup.NAMESPACES, ""),
        (Lookup.ALL_TOOLS, ""),
        (Lookup.TOOL, "echo"),
        (Lookup.SERVER, "docs"),
    ]


def test_call_describe_and_search_send_their_arguments() -> None:
    ran = run(
        """await tools.call("a:b:c", { x: 1 }); await tools.call("bare"); await tools.describe("a:b:c");
           await tools.search("find it"); await tools.search("two", { limit: 3 }); return 1""",
        {"a:b:c": always(1), "bare": always(1), "search": always([])},
    )
    assert [(m["method"], m["target"], m["args"]) for m in ran.sent("call")] == [
        ("call", "a:b:c", [{"x": 1}]),
        ("call", "bare", []),
        ("describe", "a:b:c", []),
        ("search", "", ["find it"]),
        ("search", "", ["two", {"limit": 3}]),
    ]


@pytest.mark.parametrize(
    "call",
    ["tools.call()", "tools.call(5, {})", "tools.describe({})", "tools.search()", "tools.search(null)"],
)
def test_a_wrong_first_argument_rejects_with_a_type_error_and_sends_nothing(call: str) -> None:
    ran = run(f"return await {call}.catch((e) => [e.name, e instanceof TypeError])")
    assert ran.value == ["TypeError", True]
    assert ran.messages == []


def test_a_convenience_function_is_one_object_with_its_name_and_calls_its_tool() -> None:
    program = """const f = tools.echo;
      return [f === tools.echo, f.name, typeof f, await f({ a: 1 }), await tools["echo"](2), Object.isFrozen(f)]"""
    assert value_of(program) == [True, "echo", "function", {"a": 1}, 2, True]


def test_tools_lists_its_methods_and_convenience_names() -> None:
    names = ["call", "describe", "echo", "read_file", "search"]
    program = """const names = []; for (const name in tools) names.push(name);
      return [Object.keys(tools).sort(), names.sort(), Reflect.ownKeys(tools).sort(), Object.keys({ ...tools }).sort()]"""
    assert value_of(program) == [names, names, names, names]


def test_membership_of_tools_is_exact() -> None:
    program = """return ["echo" in tools, "nope" in tools, "toString" in tools, "constructor" in tools, "__proto__" in tools,
      Object.hasOwn(tools, "call"), tools.nope === undefined, tools[Symbol.iterator] === undefined, Object.getPrototypeOf(tools)]"""
    assert value_of(program) == [True, False, False, False, False, True, True, True, None]


def test_a_tool_s_property_descriptor_is_that_of_a_frozen_object() -> None:
    program = """const d = Object.getOwnPropertyDescriptor(tools, "echo");
      return [d.value === tools.echo, d.writable, d.enumerable, d.configurable,
              Object.getOwnPropertyDescriptor(tools, "nope") === undefined, Object.isFrozen(tools), Object.isExtensible(tools)]"""
    assert value_of(program) == [True, False, True, False, True, True, False]


@pytest.mark.guarantee("api-is-frozen")
@pytest.mark.parametrize(
    "view", ["tools", "MCP", "MCP.docs", "MCP.docs.resources", "API", "namespaces", "fleet", "console"]
)
@pytest.mark.parametrize("name", ["echo", "call", "docs", "list", "fleet", "log", "fresh", "__proto__"])
def test_no_property_of_the_api_can_be_made_changed_or_removed(view: str, name: str) -> None:
    program = f"""
      const target = {view}, before = target[{name!r}], failures = [];
      const had = Object.hasOwn(target, {name!r});
      for (const act of [() => {{ target[{name!r}] = 1; }},
                         () => Object.defineProperty(target, {name!r}, {{ value: 1, configurable: true }}),
                         () => {{ delete target[{name!r}]; if (had) throw 0; }},
                         () => Object.setPrototypeOf(target, {{}})]) {{
        try {{ act(); }} catch (e) {{ failures.push(e === 0 ? "deleted" : e.name); }}
      }}
      return [failures.filter((n) => n !== "TypeError"), target[{name!r}] === before, Object.hasOwn(target, {name!r}) === had];"""
    assert value_of(program) == [[], True, True]


def test_tools_as_a_value_shows_its_functions_by_name() -> None:
    assert value_of("return tools")["echo"] == "[Function echo]"
    assert value_of("return JSON.stringify(tools)") == "{}"


def test_an_mcp_tree_calls_with_its_method_and_target() -> None:
    ran = run(
        """await MCP.docs.createIssue({ title: "t" }); await MCP.docs.resources.list();
           await MCP.docs.resources.read("file:///a"); await MCP.docs.prompts.get("p", { x: 1 }); return Object.keys(MCP.docs)""",
        {"mcp:docs:create_issue": always(1), "docs": always(1)},
        descriptor=offer(),
    )
    assert [(m["method"], m["target"], m["args"]) for m in ran.sent("call")] == [
        ("mcp", "mcp:docs:create_issue", [{"title": "t"}]),
        ("mcp_resources_list", "docs", []),
        ("mcp_read", "docs", ["file:///a"]),
        ("mcp_prompt", "docs", ["p", {"x": 1}]),
    ]
    assert ran.value == ["createIssue", "resources", "prompts", "$api"]


def test_mcp_shows_its_servers_and_no_inherited_name() -> None:
    program = """return [Object.keys(MCP), "docs" in MCP, "nope" in MCP, MCP.nope === undefined, MCP.docs === MCP.docs,
      Object.getPrototypeOf(MCP.docs), Object.isFrozen(MCP.docs.resources), MCP.docs.createIssue.name, "toString" in MCP.docs]"""
    assert value_of(program) == [
        ["$api", "docs"], True, False, True, True, None, True, "createIssue", False,
    ]  # fmt: skip


@pytest.mark.guarantee("declarations-need-no-bridge")
def test_declarations_are_read_without_a_message() -> None:
    ran = run(
        """return [await API.list(), await API.list("mcp/d"), await API.read("mcp/docs.d.ts"), await MCP.$api(),
                   await MCP.docs.$api(), await MCP.docs.$api("createIssue", { schema: true })]""",
        descriptor=offer(),
    )
    assert ran.messages == []
    assert ran.value == [
        {"files": ["mcp/index.d.ts", "mcp/docs.d.ts"]},
        {"files": ["mcp/docs.d.ts"]},
        {"path": "mcp/docs.d.ts", "content": "declare const x: 1;"},
        {"header": "all"},
        {"header": "docs"},
        {"header": "createIssue", "schema": {}},
    ]


@pytest.mark.parametrize(
    "call",
    ["API.read('mcp/none.d.ts')", "API.read()", "API.read(5)", "API.list(5)", "API.read('../x')",
     "MCP.docs.$api('nope')"],
)  # fmt: skip
def test_what_the_descriptor_does_not_know_rejects_with_a_type_error(call: str) -> None:
    assert value_of(f"return await {call}.catch((e) => e.name)") == "TypeError"


def test_a_prefix_without_files_lists_none() -> None:
    assert value_of("return await API.list('none')") == {"files": []}


def test_a_namespace_is_a_global_and_a_member_of_namespaces() -> None:
    program = """const shown = []; for (const key of Object.keys(namespaces)) shown.push(key);
      return [fleet === namespaces.fleet, shown, fleet.limits, fleet.version, fleet.queue[0], Array.isArray(fleet.queue),
              Object.isFrozen(fleet.limits.max[1]), Object.getPrototypeOf(fleet), "nope" in namespaces]"""
    assert value_of(program) == [
        True, ["fleet"], {"max": [1, {"deep": 2}]}, "1.0", 1, True, True, None, False,
    ]  # fmt: skip


def test_namespace_calls_pass_all_arguments() -> None:
    ran = run(
        "return [await fleet.ships.list('a', { b: 1 }), await fleet.queue[1]()]",
        {"fleet/ships/list": lambda *args: list(args), "fleet/queue/1": lambda *args: list(args)},
        descriptor=offer(),
    )
    assert ran.value == [["a", {"b": 1}], []]
    assert [m["method"] for m in ran.sent("call")] == ["namespace", "namespace"]


def test_views_answer_the_same_after_a_suspension() -> None:
    program = """const before = [tools.echo, MCP.docs, ALL_TOOLS, fleet]; await tools.echo(1);
      return [before[0] === tools.echo, before[1] === MCP.docs, before[2] === ALL_TOOLS, before[3] === namespaces.fleet,
              await tools.read_file("x"), Object.keys(tools).length]"""
    tools = {"openclaw:core:echo": echo, "openclaw:core:read_file": always("text")}
    assert run(program, tools, "every_await", descriptor=offer()).value == [True, True, True, True, "text", 5]


def refuse(*_: object) -> object:
    raise ToolFailed(name="McpError", message="no", code="mcp_error", data={"status": 404})


def test_a_failed_call_is_a_plain_error_with_four_properties_at_most() -> None:
    program = """const e = await tools.call("x").catch((e) => e);
      return [Reflect.ownKeys(e).sort(), e.name, e.message, e.code, e.data, Object.getPrototypeOf(e) === Error.prototype,
              e instanceof Error, String(e), e.cause === undefined]"""
    assert run(program, {"x": refuse}).value == [
        ["code", "data", "message", "name"], "McpError", "no", "mcp_error", {"status": 404}, True, True, "McpError: no", True,
    ]  # fmt: skip


def test_the_stack_of_a_failed_call_names_only_the_program() -> None:
    program = 'const f = () => tools.call("x");\nreturn await f().catch((e) => e.stack)'
    assert run(program, {"x": refuse}).value == "    at program (program:1:23)\n"


def test_naming_every_tool_is_one_look_up() -> None:
    ids = {f"tool_{at}": f"openclaw:core:tool_{at}" for at in range(500)}
    offer = Offer({(Lookup.TOOL_NAMES, ""): ids})
    program = """const names = Object.keys(tools), again = Object.entries(tools).length;
      return [names.length, again, tools.tool_7.name, tools.tool_7 === tools.tool_7]"""
    assert run(program, descriptor=offer).value == [503, 503, "tool_7", True]
    assert offer.asked == [(Lookup.TOOL_NAMES, "")] * 2
