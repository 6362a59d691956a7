"""What exec takes: its input rules, kind words for common habits, no modules, positions as the model sent."""

# ruff: noqa: E501 - programs are data and read best unwrapped

from __future__ import annotations

from typing import Any

import pytest

from codemode.contract.error_codes import ErrorCode
from tests.harness.engine import Desk, engine, failure_of, texts, value_of

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@pytest.mark.parametrize(
    ("given", "language", "value"),
    [
        ("return 1", None, 1),
        ({"code": "return 1"}, None, 1),
        ({"command": "return 1"}, None, 1),
        ({"code": "return 1", "command": "return 1"}, None, 1),
        ({"code": "", "command": "return 1"}, None, 1),
        ({"code": "return 1", "command": " \n"}, None, 1),
        ({"code": None, "command": "return 1"}, None, 1),
        ({"code": "return 1 as number", "language": "typescript"}, None, 1),
        ({"code": "return 1 as number", "language": None}, "typescript", 1),
        ({"code": "return 1", "language": None}, None, 1),
    ],
)
async def test_a_program_comes_as_text_or_as_the_input_object(
    given: Any, language: str | None, value: Any
) -> None:
    async with engine() as made:
        result = await made.exec(given, language)
        if value == "refused":
            failure_of(result, "invalid_input")
        else:
            assert value_of(result) == value


@pytest.mark.parametrize(
    "given",
    [
        "", " \n\t", None, 7, [], ["return 1"], b"return 1", {}, {"code": ""}, {"code": "  ", "command": "\n"}, {"code": 7}, {"command": ["x"]},
        {"code": "return 1", "command": "return 2"}, {"code": "return 1", "extra": True}, {"program": "return 1"}, {"code": "return 1", "timeoutMs": 5},
        {7: "return 1"}, "return 1;" + " " * (1 << 20), {"code": "return '\ud800'"},
    ],
)  # fmt: skip
async def test_any_other_input_is_refused_before_anything_runs(given: Any) -> None:
    async with engine() as made:
        result = failure_of(await made.exec(given), "invalid_input")
        assert result.phase == "input"
        assert made.stats()["totals"].get("counts", {}).get("exec") is None


@pytest.mark.parametrize("language", ["", "JavaScript", "js", "python", "typescript ", 7, ["javascript"], {}])
async def test_an_unknown_language_is_unsupported(language: Any) -> None:
    async with engine() as made:
        failure_of(await made.exec("return 1", language), "unsupported_language")
        failure_of(await made.exec({"code": "return 1", "language": language}), "unsupported_language")


async def test_a_fence_that_says_typescript_decides_where_nobody_else_has_said_it() -> None:
    fenced = "```ts\nconst n: number = 41; return n + 1\n```"
    async with engine() as made:
        assert value_of(await made.exec(fenced)) == 42
        assert value_of(await made.exec({"code": fenced})) == 42
        failure_of(await made.exec(fenced, "javascript"), "invalid_input")


async def test_a_program_in_one_code_fence_is_unwrapped_and_keeps_its_positions() -> None:
    async with engine() as made:
        assert value_of(await made.exec("```js\nreturn 1\n```")) == 1
        assert value_of(await made.exec("```typescript\nreturn 1 as number\n```", "typescript")) == 1
        failed = failure_of(await made.exec("```javascript\nconst a = 1;\n  nope()\n```"), "guest_error")
        assert "(3:3)" in failed.error


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ls -la /tmp", "shell"),
        ("cd /tmp && cat file.txt | grep x", "shell"),
        ("#!/bin/bash\necho hello", "shell"),
        ("curl https://example.org", "shell"),
        ("import os\nprint(os.getcwd())", "Python"),
        ("def f(x):\n    return x\n\nprint(f(1))", "Python"),
        ("for x in range(3):\n    print(x)", "Python"),
    ],
)
@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_shell_and_python_are_told_apart_and_named(text: str, word: str, language: str) -> None:
    async with engine() as made:
        failed = failure_of(await made.exec(text, language), "invalid_input")
        assert word in failed.error


@pytest.mark.guarantee("no-modules")
@pytest.mark.parametrize(
    "program",
    [
        "import fs from 'fs'",
        "import 'x'",
        "const fs = await import('fs')",
        "return import.meta.url",
        "export const a = 1",
        "export default 1",
        "const fs = require('fs')",
        "return require(`child_process`).execSync('id')",
    ],
)
async def test_modules_are_refused_before_anything_runs(program: str) -> None:
    desk = Desk()
    async with engine(desk.tools) as made:
        result = failure_of(
            await made.exec("text('ran'); tools.hold({ name: 'a' });\n" + program), "module_access_denied"
        )
        assert "2:" in result.error
        assert texts(result) == []
        assert desk.started == []


@pytest.mark.parametrize(
    "program",
    [
        "return 'import fs from \"fs\"'",
        "return `require('fs')`",
        "/* import x from 'y' */ return 1 // require('fs')",
        "return /import('x')/.source",
        "const o = { require: (x) => x, import: (x) => x }; return [o.require(1), o.import(2)]",
        "function require(x) { return x } return require('fs')",
    ],
)
async def test_the_words_alone_are_fine(program: str) -> None:
    async with engine() as made:
        value_of(await made.exec(program))


@pytest.mark.guarantee("no-host-access")
@pytest.mark.parametrize(
    "name",
    ["process", "Deno", "Bun", "fetch", "XMLHttpRequest", "WebSocket", "fs", "os", "std", "scriptArgs", "__dirname", "Buffer", "global", "window", "self", "WebAssembly", "Worker", "SharedArrayBuffer_host", "__openclaw"],
)  # fmt: skip
async def test_filesystem_network_process_and_environment_do_not_exist(name: str) -> None:
    async with engine() as made:
        assert value_of(await made.exec(f"return typeof {name}")) == "undefined"


async def test_a_missing_global_is_named_with_what_there_is() -> None:
    async with engine() as made:
        failed = failure_of(await made.exec("const page = await fetch('https://x')"), "guest_error")
        assert "fetch" in failed.error
        assert "tools" in failed.error


@pytest.mark.parametrize(
    ("program", "language", "code", "position", "line"),
    [
        ("let a = 1;\nlet b = ;", "javascript", "invalid_input", "(2:9)", "let b = ;"),
        ("\n\n  throw new Error('x')", "javascript", "guest_error", "(3:13)", "  throw new Error('x')"),
        ("const a: number = 1;\n  nope(a as any)", "typescript", "guest_error", "(2:3)", "  nope(a as any)"),
        ("const a: = 1", "typescript", "typescript_transform_failed", "(1:10)", "const a: = 1"),
        (
            "return 1\nawait await import('x')",
            "javascript",
            "module_access_denied",
            "(2:13)",
            "await await import('x')",
        ),
    ],
)
async def test_positions_are_those_of_the_text_as_sent(
    program: str, language: str, code: Any, position: str, line: str
) -> None:
    async with engine() as made:
        failed = failure_of(await made.exec(program, language), code)
        assert position in failed.error
        assert line in failed.error


@pytest.mark.parametrize(
    "program",
    [
        "}); globalThis.escaped = 1; (async function () {",
        "} return 1; {",
        "return 1 })(); (async () => {",
        "*/ return 1 /*",
        "return 1\n}\nasync function again() {",
    ],
)
async def test_a_program_cannot_close_its_wrapper(program: str) -> None:
    async with engine() as made:
        failure_of(await made.exec(program), "invalid_input")


@pytest.mark.guarantee("typescript-works")
async def test_typescript_is_loaded_for_typescript_alone() -> None:
    program = """
    interface Point { x: number; y: number }
    enum Axis { X = "x", Y = "y" }
    namespace Maths { export const twice = (n: number): number => n * 2 }
    abstract class Shape { constructor(protected readonly at: Point) {} abstract area(): number }
    class Square extends Shape { constructor(at: Point, private side: number) { super(at) } area() { return this.side ** 2 + this.at[Axis.X]! } }
    const echoed = await tools.echo<Point>({ value: { x: 1, y: 2 } satisfies Point });
    return [new Square(echoed as Point, 3).area(), Maths.twice(4)] as const;
    """
    async with engine() as made:
        await made.exec("return 1")
        assert [zygote["flavour"] for zygote in made.stats()["workers"]["zygotes"]] == ["javascript"]
        assert value_of(await made.exec(program, "typescript")) == [10, 8]


async def test_a_host_s_rule_can_see_rewrite_and_block_the_program_by_its_kind() -> None:
    from codemode.executor import BeforeToolCall, Block, Rewrite

    seen: list[Any] = []

    class Rule:
        def before_tool_call(self, call: BeforeToolCall) -> Any:
            seen.append((call.tool, call.tool_kind, call.tool_input_kind))
            if call.tool_kind != "code_mode_exec":
                return None
            code: str = call.arguments["code"]
            if "forbidden" in code:
                return Block("not that")
            return Rewrite({**call.arguments, "code": code.replace("one", "1")})

    async with engine(hooks=Rule()) as made:
        assert value_of(await made.exec("return await tools.echo({ value: one })")) == 1
        failed = failure_of(await made.exec("return 'forbidden'"), "aborted")
        assert "not that" in failed.error
        assert seen == [
            ("exec", "code_mode_exec", "javascript"),
            ("echo", "tool", None),
            ("exec", "code_mode_exec", "javascript"),
        ]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"code": "import os", "extra": 1}, "invalid_input"),  # the shape before everything
        ("```python\nimport os\n```", "invalid_input"),  # a fence with Python before modules
        ("import os\nprint(1)", "invalid_input"),  # Python before modules
        ("import fs from 'fs'; return (", "module_access_denied"),  # modules before syntax
        ("return (", "invalid_input"),
    ],
)
async def test_checks_come_in_the_order_of_the_contract(given: Any, code: ErrorCode) -> None:
    async with engine() as made:
        failure_of(await made.exec(given), code)
