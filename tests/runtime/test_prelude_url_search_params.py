"""URLSearchParams, alone and as the query of a URL, against outcomes taken from Node."""

from tests.runtime.prelude.context import load_cases, prelude_context, run_cases, unexpected


def test_query_parameters_behave_as_in_node_or_as_the_case_says() -> None:
    cases = load_cases("search-params.json")
    assert len(cases) >= 90
    assert unexpected(cases, run_cases(cases)) == []


def test_converting_an_argument_may_change_the_list_that_is_being_changed() -> None:
    outcome = prelude_context().eval("""(() => {
      const params = new URLSearchParams("a=1&b=2");
      params.append("c", { toString() { params.delete("a"); return "3"; } });
      return String(params);
    })()""")
    assert outcome == "b=2&c=3"


def test_null_is_text_as_the_standard_has_it_and_node_does_not() -> None:
    assert prelude_context().eval("String(new URLSearchParams(null))") == "null="
