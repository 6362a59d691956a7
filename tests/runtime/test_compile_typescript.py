"""TypeScript cells: what the erased and lowered form computes, against OXC and exact values; positions.

The snippets are data in typescript/*.ts (see the README there); adding one takes no Python.
"""

import importlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from codemode_runtime.compile import SourceError, oxc, prepare

quickjs: Any = importlib.import_module("quickjs")  # the native oracle ships no types

SNIPPETS = Path(__file__).parent / "typescript"
HEADER = re.compile(
    r"^//// (?P<title>[^\[=\n]*?) ?(?P<flags>(?:\[[a-z ]+\] ?)*)(?:=> (?P<value>.*))?$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Snippet:
    title: str
    text: str
    flags: str
    value: str | None


def snippets() -> Iterator[Snippet]:
    for file in sorted(SNIPPETS.glob("*.ts")):
        text = file.read_text(encoding="utf-8")
        headers = list(HEADER.finditer(text))
        ends = [header.start() for header in headers[1:]] + [len(text)]
        for header, end in zip(headers, ends, strict=True):
            yield Snippet(
                title=f"{file.stem}: {header['title']}",
                text=text[header.end() + 1 : end],
                flags=header["flags"],
                value=header["value"],
            )


ALL = list(snippets())


def over(chosen: list[Snippet]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("snippet", chosen, ids=[snippet.title for snippet in chosen])


def without(*flags: str) -> list[Snippet]:
    return [snippet for snippet in ALL if not any(f"[{flag}]" in snippet.flags for flag in flags)]


def run(code: str) -> list[object]:
    """What a function body records with `out`, with its uncaught error as the last item."""
    context = quickjs.Context()
    context.eval("var seen = []; var out = (value) => void seen.push(JSON.parse(JSON.stringify(value)));")
    context.eval(f"""(async () => {{ "use strict";
{code}
    }})().catch((error) => out(`threw ${{error}} ${{error.stack}}`)); undefined""")
    while context.execute_pending_job():
        pass
    return json.loads(context.eval("JSON.stringify(seen)"))


def position(recorded: list[object]) -> tuple[int, int] | None:
    """Where the uncaught error was thrown, in the code's own lines: the wrapper takes the first one."""
    found = re.search(r"<input>:(\d+):(\d+)\)", str(recorded[-1]))
    return (int(found[1]) - 1, int(found[2])) if found else None


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ALL) >= 200
    assert len({snippet.title for snippet in ALL}) == len(ALL)


@over(ALL)
def test_a_snippet_computes_its_value(snippet: Snippet) -> None:
    prepared = prepare(snippet.text, "typescript")
    recorded = run(prepared.code)
    if snippet.value is not None:
        assert recorded == json.loads(snippet.value)
    assert prepared.exact_positions == ("[reprinted]" not in snippet.flags)


@over(without("no oracle"))
def test_a_snippet_computes_what_oxc_makes_of_it(snippet: Snippet) -> None:
    assert run(prepare(snippet.text, "typescript").code) == run(oxc.transform(snippet.text))


@over(ALL)
def test_a_snippet_with_windows_line_ends_computes_the_same(snippet: Snippet) -> None:
    prepared = prepare(snippet.text.replace("\n", "\r\n"), "typescript")
    assert run(prepared.code) == run(prepare(snippet.text, "typescript").code)


@over(without("lowered", "reprinted"))
def test_what_is_left_of_an_erased_snippet_has_not_moved(snippet: Snippet) -> None:
    source = snippet.text.encode()
    code = prepare(snippet.text, "typescript").code.encode()
    assert len(code) == len(source)
    moved = [
        (index, bytes((before,)), bytes((after,)))
        for index, (before, after) in enumerate(zip(source, code, strict=True))
        if after != before and after not in b" ;()"
    ]
    assert moved == []
    assert code.count(b"\n") == source.count(b"\n")


@over(without("reprinted"))
def test_erasing_and_lowering_keep_every_line_number(snippet: Snippet) -> None:
    marked = f"{snippet.text}\nthrow new Error('here');"
    recorded = run(prepare(marked, "typescript").code)
    assert position(recorded) == (len(re.findall(r"[\n\u2028]", marked)) + 1, 11)


POSITIONS = [
    ("const a: number = 1; throw new Error('x');", 1, 32),
    ("type A = {\n  a: number;\n};\n  throw new Error('x');", 4, 13),
    ("function f<T>(x: T): never { throw new Error('x'); }\nf<string>('a');", 1, 40),
    ("class C { private readonly x: number = (() => { throw new Error('x') })(); }\nnew C();", 1, 59),
    ("const é: 'ü' | '😀' = 'ü'; throw new Error('x');", 1, 43),
    ("enum E { A }\nthrow new Error('x');", 2, 11),
    ("namespace N {\n  export const a = (() => { throw new Error('x') })();\n}", 2, 39),
    ("class P {\n  constructor(private a: number) {\n    throw new Error('x');\n  }\n}\nnew P(1);", 3, 15),
]


@pytest.mark.parametrize(("text", "line", "column"), POSITIONS)
def test_an_error_is_reported_where_the_text_as_sent_has_it(text: str, line: int, column: int) -> None:
    assert position(run(prepare(text, "typescript").code)) == (line, column)


REFUSED = [
    ("let x: = 1;", 1, 8),
    ("let x: = 1", 1, 8),
    ("let x: number = 1 + * 2", 1, 21),
    ("const f = (a: ) => 1", 1, 15),
    ("const a = 1;\nconst b: number = ;\n", 2, 19),
    ("let x: number =\n\n\n;", 4, 1),
    ("let x: number = 1;\nconst y = /abc", 2, 11),
    ("function f( {", 1, 14),
    ("interface {\n}", 1, 1),
    ("return 1 +;", 1, 11),
    ("class A { constructor(private) } }", 1, 34),
    ("type A = ;", 1, 10),
    ("if (true { }", 1, 10),
]


@pytest.mark.parametrize(("text", "line", "column"), REFUSED)
def test_typescript_that_does_not_parse_is_refused_with_its_position(
    text: str, line: int, column: int
) -> None:
    with pytest.raises(SourceError) as refused:
        prepare(text, "typescript")
    assert refused.value.code == "typescript_transform_failed"
    assert refused.value.line == line
    assert refused.value.source_line == text.split("\n")[line - 1]
    assert refused.value.message.startswith("The TypeScript does not parse: ")
    assert refused.value.column == column


def test_a_decorator_is_refused_because_the_engine_has_none() -> None:
    with pytest.raises(SourceError) as refused:
        prepare("class A {\n  @log m() {}\n}", "typescript")
    assert (refused.value.code, refused.value.line, refused.value.column) == (
        "typescript_transform_failed",
        2,
        3,
    )


@pytest.mark.parametrize(
    ("text", "column"),
    [("class A { accessor x = 1 }", 11), ("class A { static accessor x: number = 1 }", 18)],
)
def test_an_auto_accessor_is_refused_with_what_to_write_instead(text: str, column: int) -> None:
    with pytest.raises(SourceError, match="write a field, or a getter and a setter") as refused:
        prepare(text, "typescript")
    assert (refused.value.code, refused.value.column) == ("typescript_transform_failed", column)


def test_a_member_that_is_called_accessor_is_none() -> None:
    for member in ("accessor = 4", "accessor: number = 4", "static accessor = 4", "accessor() { return 4 }"):
        prepare(f"class A {{ {member} }}", "typescript")


def test_a_return_survives_the_reprinting() -> None:
    prepared = prepare("class A { abstract: number = 4 }\nreturn new A().abstract;", "typescript")
    assert not prepared.exact_positions
    assert run(f"out(await (async () => {{{prepared.code}}})())") == [4]


def test_a_namespace_with_its_brace_on_the_next_line_leaves_room_for_a_return() -> None:
    prepared = prepare("namespace N\n{ export const a = 1 }\nreturn N.a;", "typescript")
    assert prepared.exact_positions
    assert run(f"out(await (async () => {{{prepared.code}}})())") == [1]


def test_the_head_of_a_namespace_in_a_template_survives_the_reprinting() -> None:
    text = "class A { abstract: number = 4 }\nconst t = `\nnamespace N {\n`;\nreturn t;"
    prepared = prepare(text, "typescript")
    assert not prepared.exact_positions
    assert run(f"out(await (async () => {{{prepared.code}}})())") == ["\nnamespace N {\n"]


def test_a_namespace_that_oxc_prints_as_it_is_is_refused() -> None:
    text = "class A { abstract: number = 4 }\nnamespace N { export const a = 1 }\nreturn N.a;"
    with pytest.raises(SourceError) as refused:
        prepare(text, "typescript")
    assert refused.value.code == "typescript_transform_failed"


def test_typescript_cells_report_their_language() -> None:
    assert prepare("return 1 as number", "typescript").language == "typescript"
