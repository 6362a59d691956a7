"""The prelude in a native QuickJS-NG context, loaded as the build of the guest loads it.

Also runs the case files of this folder: each case holds its expected outcome, taken from Node 20 by
regenerate.mjs, or written by hand where the case says how Node differs from the standard.
"""

import importlib
import json
from pathlib import Path
from typing import Any, Protocol, cast

FOLDER = Path(__file__).parent
PRELUDE = FOLDER.parents[2] / "runtime" / "prelude"

# viewState is the shim's in the guest, and tells there too which views follow the length of their buffer
EXPOSE = """globalThis.internal = { expose(name, value) {
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });
}, viewState: ((call, views) => (view) => {
  for (let i = 0; i < 2; i++) try { return call(views[i], view) < 0 ? true : false } catch {}
})(Function.prototype.call.bind(Function.prototype.call), [Object.getPrototypeOf(Uint8Array), DataView].map(
  (type) => Object.getOwnPropertyDescriptor(type.prototype, "byteOffset").get)) };"""

Case = dict[str, Any]


class Context(Protocol):
    """What the tests use of quickjs.Context."""

    def eval(self, code: str) -> Any: ...
    def set(self, name: str, item: object) -> None: ...


def plain_context() -> Context:
    """A context without the prelude."""
    # By name, because the package has neither types nor stubs for the checker to find.
    return cast("Context", importlib.import_module("quickjs").Context())


def prelude_context() -> Context:
    """A context in which every file of the prelude has run."""
    context = plain_context()
    context.eval(EXPOSE)
    for path in prelude_files():
        context.eval('(function (internal) { "use strict"; ' + path.read_text("utf-8") + "\n})(internal);")
    context.eval("delete globalThis.internal;")
    return context


def prelude_files() -> list[Path]:
    return sorted(PRELUDE.glob("*.js"))


def load_cases(name: str) -> list[Case]:
    return cast("list[Case]", json.loads((FOLDER / name).read_text("utf-8")))


def unexpected(cases: list[Case], outcomes: list[Any]) -> list[dict[str, Any]]:
    """The cases whose outcome is not the expected one."""
    assert len(cases) == len(outcomes)
    return [
        {**case, "outcome": outcome}
        for case, outcome in zip(cases, outcomes, strict=True)
        if outcome != case["expected"]
    ]


def run_cases(cases: list[Case]) -> list[Any]:
    """Each case's outcome, all in one context."""
    return _evaluate(cases, "items.map((item) => cases.report(item, cases.act(cases.prepare(item))))")


def run_polluted(cases: list[Case], mode: str) -> list[Any]:
    """The same, with a hostile program in effect while the cases act."""
    return _evaluate(
        cases,
        f"""(() => {{
          const prepared = items.map(cases.prepare);
          const outcomes = items.map(() => null);
          const {{ act, report }} = cases;
          const {{ restore }} = pollute({json.dumps(mode)});
          for (let i = 0; i < outcomes.length; i++) outcomes[i] = act(prepared[i]);
          restore();
          return outcomes.map((outcome, i) => report(items[i], outcome));
        }})()""",
    )


def _evaluate(cases: list[Case], expression: str) -> list[Any]:
    context = prelude_context()
    context.eval("globalThis.cases = " + (FOLDER / "cases.js").read_text("utf-8"))
    context.eval("globalThis.pollute = " + (FOLDER / "pollute.js").read_text("utf-8"))
    context.set("data", json.dumps(cases))
    return json.loads(context.eval(f"const items = JSON.parse(data); JSON.stringify({expression})"))
