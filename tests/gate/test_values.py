"""Large values, outputs and failures cross in chunks, and what has too many parts is told in words."""

from __future__ import annotations

from tests.harness.engine import engine, failure_of, texts, value_of

LARGE = {"maxOutputBytes": 10 << 20}


async def test_a_value_and_outputs_of_a_megabyte_arrive_as_they_were() -> None:
    program = """for (let at = 0; at < 5; at++) json({ at, text: 'x'.repeat(200e3) });
        for (let at = 0; at < 1000; at++) text(`line ${at}`);
        return { list: Array.from({ length: 50e3 }, (_, at) => at), text: 'é'.repeat(300e3) }"""
    async with engine(config=LARGE) as made:
        result = await made.exec(program)
    value = value_of(result)
    assert value == {"list": list(range(50_000)), "text": "é" * 300_000}
    shown = texts(result)
    assert [item["at"] for item in shown[:5]] == [0, 1, 2, 3, 4]
    assert shown[5:] == [f"line {at}" for at in range(1000)]


async def test_a_value_with_too_many_parts_is_refused_in_words_for_the_model() -> None:
    async with engine(config=LARGE) as made:
        result = await made.exec("text('kept'); return new Array(300e3).fill(7)")
        found = failure_of(result, "output_limit_exceeded")
        assert texts(result) == ["kept"]
        assert found.error.startswith("The returned value has 300,00")
        assert "a result may have 250,000" in found.error
        assert value_of(await made.exec("return 1")) == 1


async def test_arguments_with_too_many_parts_fail_the_call_and_not_the_run() -> None:
    program = """return await tools.echo({ value: new Array(300e3).fill(7) })
        .catch((e) => [e.code, e.message])"""
    async with engine() as made:
        code, message = value_of(await made.exec(program))
    assert code == "invalid_arguments"
    assert message == (
        "the input is JSON made of more than 250,000 parts: lists, objects, keys, strings and numbers"
    )


async def test_large_arguments_reach_the_tool_as_they_were() -> None:
    program = """const value = { rows: Array.from({ length: 20e3 }, (_, at) => ({ at, name: 'n' + at })) };
        const back = await tools.echo({ value });
        return [back.rows.length, back.rows[19999].name]"""
    async with engine() as made:
        assert value_of(await made.exec(program)) == [20_000, "n19999"]
