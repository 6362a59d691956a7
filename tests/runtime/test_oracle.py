"""The guest against native QuickJS-NG: the same programs, the same values, the same error names and messages.

Expressions and programs are data in oracle/: adding one takes no Python.
"""

# ruff: noqa: E501 - programs are data and read best unwrapped

import json
import re
from pathlib import Path
from typing import Protocol, cast

import pytest

from tests.harness.guests import run
from tests.runtime.prelude.context import plain_context

FOLDER = Path(__file__).parent / "oracle"
SHOW = (FOLDER / "show.js").read_text("utf-8")
MARKER = "//--- "
_TOLD = re.compile(
    r"(not a function|of undefined|value is not iterable): (?:it (?:is|was)|`[^`]*` (?:is|was)|element \d+ was) .*"
)

# Each operator on each pair: coercions are where engines differ.
OPERAND_LIST = """0 -0 1 -1 1.5 NaN Infinity 2147483648 1e21 0n -5n 12345678901234567890n "" "a" "1" "1.5" " 7 " "0x10"
  true false null undefined [] [5] [1,2] ({}) ({valueOf(){return(3)}}) (()=>1) (Symbol.iterator)"""
OPERATOR_LIST = "+ - * / % ** << >> >>> & | ^ < > <= >= == != === !== && || ?? in instanceof"
OPERANDS, OPERATORS = OPERAND_LIST.split(), OPERATOR_LIST.split()


class Native(Protocol):
    def eval(self, code: str) -> object: ...
    def execute_pending_job(self) -> bool: ...


def expressions() -> list[str]:
    lines = (FOLDER / "expressions.js").read_text("utf-8").split("\n")
    joined = "\n".join(line for line in lines if not line.startswith("// "))
    return [line.replace("\0", "\\\n") for line in joined.replace("\\\n", "\0").split("\n") if line]


def programs() -> dict[str, str]:
    sections = (FOLDER / "programs.js").read_text("utf-8").split(MARKER)[1:]
    return dict(section.split("\n", 1) for section in sections)


def report(body: str) -> str:
    """An async function's body that answers how another one ended, as text."""
    return f"""{SHOW}
return await (async () => {{ "use strict"; {body}
}})().then((v) => "value " + show(v), (e) => "error " + show(e));"""


def run_natively(body: str) -> object:
    context = cast("Native", plain_context())
    context.eval(
        f'globalThis.answer = "pending"; (async () => {{ {report(body)} }})().then((v) => (answer = v));'
    )
    while context.execute_pending_job():
        pass
    return json.loads(str(context.eval("JSON.stringify(answer)")))


def in_guest(body: str) -> object:
    """What our engine adds to the messages of three errors (build/misuse.py) is left out."""
    found = run(report(body)).value
    return _TOLD.sub(r"\1", found) if isinstance(found, str) else found


def test_there_are_a_few_hundred_expressions_and_programs() -> None:
    assert len(expressions()) >= 330
    assert len(programs()) >= 25


@pytest.mark.guarantee("guest-is-quickjs")
def test_expressions_evaluate_as_in_native_quickjs() -> None:
    different: list[tuple[str, object, object]] = []
    for expression in expressions():
        body = f"return (\n{expression}\n);"
        native, ours = run_natively(body), in_guest(body)
        if native != ours:
            different.append((expression, native, ours))
    assert different == []


@pytest.mark.parametrize("name", programs())
def test_programs_end_as_in_native_quickjs(name: str) -> None:
    body = programs()[name]
    native = run_natively(body)
    assert isinstance(native, str)
    assert native.startswith(("value ", "error "))
    assert in_guest(body) == native


def test_every_operator_gives_the_same_on_every_pair_of_operands() -> None:
    body = f"""
      const operands = {json.dumps(OPERANDS)}, operators = {json.dumps(OPERATORS)}, out = [];
      for (const l of operands) for (const op of operators) for (const r of operands) {{
        if (op === "**" && l.startsWith("-")) continue;
        try {{ out.push(show((0, eval)(`(${{l}}) ${{op}} (${{r}})`))); }} catch (e) {{ out.push(show(e)); }}
      }}
      let hash = 0n; for (const c of out.join("\\n")) hash = (hash * 31n + BigInt(c.codePointAt(0))) % (1n << 61n);
      return [out.length, hash, out.filter((_, i) => i % 97 === 0)];"""
    native = run_natively(body)
    assert isinstance(native, str)
    assert native.startswith("value [")
    assert in_guest(body) == native
