"""A program without `return` says so, with the line to write; and what console shows of tables and errors."""

import pytest

from tests.harness.engine import engine, texts, value_of

ONLY = "Nothing was returned: only `return` gives a value."


@pytest.mark.parametrize(
    ("program", "note"),
    [
        ("1 + 1", "Write `return 1 + 1`."),
        ("async function main() { return 7 }\nmain()", "Write `return await main()`."),
        ("(async () => 7)()", "Write `return await (async () => 7)()`."),
        ("await tools.echo()", "Write `return await tools.echo()`."),
        ("await tools.echo();\n\n;", "Write `return await tools.echo()`."),
        ("const rows = await tools.echo()", "End with `return rows`."),
        ("async function main() { return 7 }", "`main` was declared last: end with `return await main()`."),
        ("for (const n of [1]) { n }", "End with `return …`."),
        ("await tools.echo({\n  value: 1,\n})", "Put `return` before `await tools.echo({…`."),
    ],
)
@pytest.mark.guarantee("nothing-returned-is-told")
@pytest.mark.parametrize("language", ["javascript", "typescript"])
async def test_a_program_that_returns_nothing_is_told_the_line_to_write(
    program: str, note: str, language: str
) -> None:
    async with engine() as made:
        result = await made.exec(program, language)

    assert value_of(result) is None
    assert result.for_model()["notes"] == [f"{ONLY} {note}"]


@pytest.mark.parametrize(
    "program", ["return undefined", "return", "text('done')", "return null", "return void 0"]
)
async def test_a_program_that_wrote_output_or_returned_is_told_nothing(program: str) -> None:
    async with engine() as made:
        assert (await made.exec(program)).notes == ()


async def test_a_logged_error_of_a_call_shows_its_code_and_console_has_table() -> None:
    async with engine() as made:
        result = await made.exec("""
            try { await tools.fail({ message: 'no such order' }) }
            catch (e) { console.log('failed:', e); text(e) }
            console.table([{ id: 1 }])""")

    assert texts(result) == [
        'failed: {"name":"ToolError","message":"no such order","code":"tool_error"}',
        '{"name":"ToolError","message":"no such order","code":"tool_error"}',
        '[{"id":1}]',
    ]
