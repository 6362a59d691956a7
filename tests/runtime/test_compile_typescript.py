"""TypeScript cells: what the erased and lowered form computes, against exact values; positions.

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
from codemode_runtime.compile import SourceError, prepare
from codemode_runtime.wire import Threw

from tests.harness.guests import run as run_in_guest

quickjs: Any = importlib.import_module("quickjs")  # the native oracle ships no types

SNIPPETS = Path(__file__).parent / "typescript"
HEADER = re.compile(r"^//// (?P<title>.*?)(?: => (?P<value>.*))?$", re.MULTILINE)
ADDED = re.compile(rb"/\*\x01(\d+)\*/")  # behind each text that the compiler adds: how many bytes it has


@dataclass(frozen=True, slots=True)
class Snippet:
    title: str
    text: str
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
                value=header["value"],
            )


ALL = list(snippets())


def over(chosen: list[Snippet]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("snippet", chosen, ids=[snippet.title for snippet in chosen])


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


def position(text: str) -> tuple[int, int] | None:
    """Where the guest says that the program threw what it did not catch."""
    outcome = run_in_guest(prepare(text, "typescript").code).outcome
    assert isinstance(outcome, Threw)
    found = re.search(rb"program:(\d+):(\d+)", outcome.failure)
    return (int(found[1]), int(found[2])) if found else None


def without_additions(code: bytes) -> bytes:
    kept = bytearray()
    end = 0
    for mark in ADDED.finditer(code):
        kept += code[end : mark.start() - int(mark[1])]
        end = mark.end()
    return bytes(kept + code[end:])


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(ALL) >= 300
    assert len({snippet.title for snippet in ALL}) == len(ALL)


@over(ALL)
def test_a_snippet_computes_its_value(snippet: Snippet) -> None:
    prepared = prepare(snippet.text, "typescript")
    recorded = run(prepared.code)
    if snippet.value is not None:
        assert recorded == json.loads(snippet.value)


@over(ALL)
def test_a_snippet_with_windows_line_ends_computes_the_same(snippet: Snippet) -> None:
    prepared = prepare(snippet.text.replace("\n", "\r\n"), "typescript")
    assert run(prepared.code) == run(prepare(snippet.text, "typescript").code)


@over(ALL)
def test_what_is_left_of_a_snippet_has_not_moved(snippet: Snippet) -> None:
    source = snippet.text.encode()
    code = without_additions(prepare(snippet.text, "typescript").code.encode())
    assert len(code) == len(source)
    words = re.finditer(rb"\bimport\b", source)
    aliases = {word.start() + index for word in words for index in range(len("var"))}
    moved = [
        (index, bytes((before,)), bytes((after,)))
        for index, (before, after) in enumerate(zip(source, code, strict=True))
        if after != before and after not in b" ;()" and index not in aliases
    ]
    assert moved == []
    assert code.count(b"\n") == source.count(b"\n")


@over(ALL)
def test_erasing_and_lowering_keep_every_position_behind(snippet: Snippet) -> None:
    text = snippet.text.rstrip()
    gap = "\n" if "//" in text.rpartition("\n")[2] else ""
    marked = f"const out = () => 0; {text}{gap}; throw new Error('here');"
    lines = re.split(r"[\n\u2028]", marked)
    assert position(marked) == (len(lines), len(lines[-1].rpartition("Error(")[0].encode()) + 1)


POSITIONS = [
    ("const a: number = 1; throw new Error('x');", 1, 32),
    ("type A = {\n  a: number;\n};\n  throw new Error('x');", 4, 13),
    ("function f<T>(x: T): never { throw new Error('x'); }\nf<string>('a');", 1, 40),
    ("class C { private readonly x: number = (() => { throw new Error('x') })(); }\nnew C();", 1, 59),
    ("const é: 'ü' | '😀' = 'ü'; throw new Error('x');", 1, 43),
    ("enum E { A }\nthrow new Error('x');", 2, 11),
    ("enum E { A } throw new Error('x');", 1, 24),
    ("enum E { A = (() => { throw new Error('x') })() }", 1, 33),
    ("namespace N { export let v = 1; v; throw new Error('x') }", 1, 46),
    ("namespace N.M { export let v = 1 } const é = 'é'; throw new Error('x');", 1, 63),
    ("class P { constructor(private a = 1) { throw new Error('x') } } new P();", 1, 50),
    ("const f = (a: any) => <any>{ a }; throw new Error('x');", 1, 45),
    ("namespace N {\n  export const a = (() => { throw new Error('x') })();\n}", 2, 39),
    ("class P {\n  constructor(private a: number) {\n    throw new Error('x');\n  }\n}\nnew P(1);", 3, 15),
]


@pytest.mark.parametrize(("text", "line", "column"), POSITIONS)
def test_an_error_is_reported_where_the_text_as_sent_has_it(text: str, line: int, column: int) -> None:
    assert position(text) == (line, column)


REFUSED = [
    ("let x: = 1;", 1, 8),
    ("let x: = 1", 1, 8),
    ("let x: number = 1 + * 2", 1, 21),
    ("const f = (a: ) => 1", 1, 15),
    ("const a = 1;\nconst b: number = ;\n", 2, 19),
    ("let x: number =\n\n\n;", 4, 1),
    ("let x: number = 1;\nconst y = /abc", 2, 12),
    ("function f( {", 1, 14),
    ("interface {\n}", 1, 11),
    ("const f = <T extends>(x: T) => x", 1, 21),
    ("const y: number[] = [1, 2]\n  .map(n => { return n * 2 );\nreturn y;", 2, 27),
    ("é; 'ü'; let x: = 1;", 1, 18),
    ("return 1 +;", 1, 11),
    ("class A { constructor(private) } }", 1, 23),
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


def test_a_namespace_leaves_room_for_a_return() -> None:
    for text in (
        "namespace N\n{ export const a = 1 }\nreturn N.a;",
        "class A { abstract: number = 4 }\nnamespace N { export const a = 1 }\nreturn N.a;",
        "const t = `\nnamespace N {\n`;\nreturn t.length - 14;",
    ):
        assert run(f"out(await (async () => {{{prepare(text, 'typescript').code}}})())") == [1]


def test_a_program_cannot_close_the_function_around_it() -> None:
    with pytest.raises(SourceError) as refused:
        prepare("} async function f(): Promise<void> {", "typescript")
    assert (refused.value.code, refused.value.line, refused.value.column) == (
        "typescript_transform_failed",
        1,
        1,
    )


def test_typescript_cells_report_their_language() -> None:
    assert prepare("return 1 as number", "typescript").language == "typescript"
