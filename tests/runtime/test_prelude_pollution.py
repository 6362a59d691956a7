"""What a hostile program cannot do to the prelude: break it, change it, or reach inside it."""

import json

import pytest

from tests.runtime.prelude.context import (
    Case,
    load_cases,
    plain_context,
    prelude_context,
    run_cases,
    run_polluted,
    unexpected,
)


def self_contained(name: str) -> list[Case]:
    """The cases that act without intrinsics of their own."""
    return [case for case in load_cases(name) if "code" not in case]


@pytest.mark.parametrize("mode", ["throw", "lie", "delete"])
@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("urls.json", 500),
        ("url-setters.json", 400),
        ("search-params.json", 25),
        ("structured-clone.json", 60),
        ("locales.json", 1000),
    ],
)
def test_outcomes_are_the_same_after_every_intrinsic_was_broken(mode: str, name: str, least: int) -> None:
    cases = self_contained(name)
    assert len(cases) >= least
    assert unexpected(cases, run_polluted(cases, mode)) == []


def test_the_hostile_program_does_break_code_that_trusts_intrinsics() -> None:
    case = {"code": "[...new URLSearchParams('a=1')].join()", "expected": '"a,1"'}
    assert run_cases([case]) == ['"a,1"']
    for mode in ("throw", "lie", "delete"):
        assert run_polluted([case], mode) != ['"a,1"']


METHODS_OF_A_LIVE_LINK = """(() => {
  const { apply } = Reflect;
  const { append, delete: remove, get, getAll, has, set } = URLSearchParams.prototype;
  const { sort, forEach, keys, toString } = URLSearchParams.prototype;
  const next = Object.getPrototypeOf(new URLSearchParams().keys()).next;
  const href = Object.getOwnPropertyDescriptor(URL.prototype, "href").get;
  const searchParams = Object.getOwnPropertyDescriptor(URL.prototype, "searchParams").get;
  const url = new URL("http://h/?z=1&a=2&a=3#f");
  const seen = [null, null, null, null, null, null, null, null];
  const { restore } = pollute(MODE);
  const params = apply(searchParams, url, []);
  apply(append, params, ["é", "x y"]);
  apply(set, params, ["z", "9"]);
  seen[0] = apply(href, url, []);
  apply(sort, params, []);
  seen[1] = apply(toString, params, []);
  seen[2] = apply(get, params, ["a"]);
  seen[3] = apply(getAll, params, ["a"]);
  seen[4] = apply(has, params, ["a", "3"]);
  apply(remove, params, ["a", "2"]);
  seen[5] = apply(href, url, []);
  const walk = apply(keys, params, []);
  seen[6] = apply(next, walk, []);
  let text = "";
  apply(forEach, params, [(value, name) => { text += name + value; }]);
  seen[7] = text;
  restore();
  return JSON.stringify(seen);
})()"""


@pytest.mark.parametrize("mode", ["throw", "lie", "delete"])
def test_the_query_of_a_url_stays_live_after_every_intrinsic_was_broken(mode: str) -> None:
    case = {"code": METHODS_OF_A_LIVE_LINK.replace("MODE", json.dumps(mode))}
    [outcome] = run_cases([case])
    assert json.loads(json.loads(outcome)) == [
        "http://h/?z=9&a=2&a=3&%C3%A9=x+y#f",
        "a=2&a=3&z=9&%C3%A9=x+y",
        "2",
        ["2", "3"],
        True,
        "http://h/?a=3&z=9&%C3%A9=x+y#f",
        {"value": "a", "done": False},
        "a3z9éx y",
    ]


def test_the_prelude_adds_exactly_its_globals() -> None:
    names = "JSON.stringify(Object.getOwnPropertyNames(globalThis))"
    before, after = (set(json.loads(make().eval(names))) for make in (plain_context, prelude_context))
    assert after - before == {"URL", "URLSearchParams", "structuredClone"}
    assert before - after == set()


def test_no_internal_function_is_handed_to_a_stack_trace_hook() -> None:
    seen = prelude_context().eval("""(() => {
      let seen = 0;
      Error.prepareStackTrace = () => { seen++; };
      try { structuredClone({ get x() { throw new Error("from inside"); } }); } catch {}
      try { new URL("//"); } catch {}
      return seen;
    })()""")
    assert seen == 0


def test_no_constructor_leads_from_an_iterator_to_the_lists() -> None:
    outcome = prelude_context().eval("""(() => {
      const prototype = Object.getPrototypeOf(new URLSearchParams("a=1").keys());
      return JSON.stringify([Reflect.ownKeys(prototype).map(String), prototype.constructor === Iterator]);
    })()""")
    assert json.loads(outcome) == [["next", "Symbol(Symbol.toStringTag)"], True]
