"""Hostile text, and what a cell may load: `prepare` returns or refuses, and does nothing else."""

import pytest
from codemode_runtime.compile import Language, Prepared, SourceError, prepare
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.harness.processes import modules_after

BOTH: list[Language] = ["javascript", "typescript"]

WORDS = """
import export require module exports process ( ) [ ] { } < > => ` ${ ' " / * + - ! ? : ; , . = as satisfies
type interface enum namespace class abstract private readonly declare function async await return const let
var x y T 1 extends implements constructor super this static get set // /* */ ```ts ``` ~~~ # $ @ \\ 😀 é
keyof typeof is asserts infer in of new <T> (x:T)
"""
TOKENS = st.sampled_from([*WORDS.split(), "\n", "\t", "\r\n", "\u2028"])

HOSTILE = {
    "nested parentheses": "(" * 100_000 + ")" * 100_000,
    "open parentheses": "(" * 1_000_000,
    "nested templates": "`${" * 100_000,
    "nested arrays around a word": "[" * 100_000 + "require" + "]" * 100_000,
    "nested patterns": "const " + "[" * 100_000 + "require" + "]" * 100_000 + " = 1",
    "nested blocks with variables": "{" * 100_000 + "var require;" * 30_000,
    "nested functions": "function require(){" * 30_000,
    "many words": "require;" * 125_000,
    "chained calls": "globalThis" + ".require()" * 50_000,
    "chained casts": "x" + " as x" * 100_000,
    "non-null marks": "x" + "!" * 200_000,
    "nested generics": "let x: " + "A<" * 50_000 + "B" + ">" * 50_000,
    "nested classes": "class A{x=" * 50_000,
    "nested namespaces": "namespace A{" * 20_000 + "const x=1" + "}" * 20_000,
    "nested namespaces over lines": "namespace A\n{" * 20_000 + "const x=1" + "}" * 20_000,
    "many comparisons": "x=" + "a<" * 100_000 + "b",
    "comparisons and signs": "f(" + "a<b,c>-" * 20_000 + "1)",
    "comparisons with templates": "x=" + "a<`${" * 20_000,
    "merged namespaces in depth": "namespace A{export const a=1}namespace A{" * 5_000,
    "many enums in depth": "{" * 50_000 + "enum E{A}" * 10_000 + "}" * 50_000,
    "many aliases": "import A = B.C;" * 20_000,
    "arrow heads": "(a," * 30_000,
    "backticks": "`" * 500_000,
    "tildes": "~" * 500_000 + "`",
    "fence lines": "```\n" * 200_000,
    "fence and spaces": "```" + " " * 500_000 + "`",
    "line starts": "def \n" * 100_000,
    "commands": "ls " * 200_000,
    "command with many options": "ls " + "-a " * 600 + "(",
    "one line of lambdas": "x = " + "lambda " * 100_000,
    "one line of closed parentheses": "x\ndef f(" + ")" * 300_000,
    "one line of colons": "x\ndef f(" + ": " * 200_000 + "x",
    "empty lines": "\n" * 500_000,
    "hash lines": "#\n" * 300_000,
    "spaces": " " * 1_000_000,
    "zero bytes": "\0" * 500_000 + "require",
    "one long string": "'" + "a" * 1_000_000 + "'",
    "comments": "/*" * 300_000,
    "words in a comment": "// " + "import " * 100_000,
}


def outcome(text: str, language: Language) -> str:
    try:
        prepared = prepare(text, language)
    except SourceError as refused:
        return refused.code
    assert isinstance(prepared, Prepared)
    prepared.code.encode()
    return "prepared"


@given(text=st.text(st.characters(codec=None)), language=st.sampled_from(BOTH))
def test_any_text_is_prepared_or_refused(text: str, language: Language) -> None:
    outcome(text, language)


@settings(max_examples=400)
@given(tokens=st.lists(TOKENS, max_size=40), language=st.sampled_from(BOTH), spaced=st.booleans())
def test_any_sequence_of_tokens_is_prepared_or_refused(
    tokens: list[str], language: Language, spaced: bool
) -> None:
    outcome((" " if spaced else "").join(tokens), language)


@settings(max_examples=200)
@given(tokens=st.lists(TOKENS, max_size=40))
def test_javascript_that_passes_is_never_changed_but_for_fences(tokens: list[str]) -> None:
    text = " ".join(tokens)
    if "```" in text or "~~~" in text or outcome(text, "javascript") != "prepared":
        return
    assert prepare(text, "javascript").code == text


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_prepared_or_refused(name: str, language: Language) -> None:
    outcome(HOSTILE[name], language)


@pytest.mark.parametrize("language", BOTH)
def test_lone_surrogates_become_replacement_characters(language: Language) -> None:
    assert prepare("return '\ud800'", language).code == "return '\ufffd'"
    assert prepare("return '\ud83d\ude00'", language).code == "return '😀'"


@pytest.mark.parametrize("text", ["\ufeffreturn 1", "return 1\r\n", "return 1\u2028", "return '\x7f'"])
@pytest.mark.parametrize("language", BOTH)
def test_unusual_characters_stay_where_they_are(text: str, language: Language) -> None:
    assert prepare(text, language).code == text


def loaded_by(text: str, language: Language) -> set[str]:
    return modules_after(f"from codemode_runtime.compile import prepare; prepare({text!r}, {language!r})")


PARSERS = {"tree_sitter", "tree_sitter_javascript", "wasmtime"}


def test_an_ordinary_javascript_cell_loads_no_parser() -> None:
    loaded = loaded_by("return 1 + 1", "javascript")
    assert loaded.isdisjoint(PARSERS)


def test_a_javascript_cell_with_a_suspicious_word_never_loads_typescript() -> None:
    loaded = loaded_by("return tools.import({})", "javascript")
    assert "tree_sitter_javascript" in loaded
    assert loaded & PARSERS == {"tree_sitter", "tree_sitter_javascript"}
    assert "codemode_runtime.compile.typescript" not in loaded


def test_a_typescript_cell_without_a_suspicious_word_loads_no_second_parser() -> None:
    loaded = loaded_by("enum E { A }\nreturn E.A as number", "typescript")
    assert loaded & PARSERS == {"wasmtime"}
