"""structuredClone, against outcomes taken from Node, and where Node's own limits end."""

from tests.runtime.prelude.context import load_cases, prelude_context, run_cases, unexpected


def test_values_are_cloned_as_in_node_or_as_the_case_says() -> None:
    cases = load_cases("structured-clone.json")
    assert len(cases) >= 100
    assert unexpected(cases, run_cases(cases)) == []


def test_a_value_nested_eighty_thousand_deep_is_cloned() -> None:
    depth = prelude_context().eval("""(() => {
      let value = { cause: null };
      for (let i = 0; i < 20_000; i++) value = new Error("", { cause: [new Map([[new Set([value]), i]])] });
      let copy = structuredClone(value), depth = 0;
      for (; copy.cause !== null; depth += 4) copy = [...[...copy.cause[0].keys()][0]][0];
      return depth;
    })()""")
    assert depth == 80_000


def test_urls_and_query_parameters_are_not_cloned() -> None:
    names = prelude_context().eval("""
      [new URL("http://h"), new URLSearchParams(), Object.create(new URL("http://h"))].map((value) => {
        try { return structuredClone(value); } catch (error) { return error.name + ": " + error.message; }
      }).join("; ")""")
    assert names == (
        "DataCloneError: A URL cannot be cloned; DataCloneError: A URLSearchParams cannot be cloned; "
        "DataCloneError: A URL cannot be cloned"
    )


def test_an_exception_of_the_platform_keeps_its_name_and_message() -> None:
    outcome = prelude_context().eval("""(() => {
      const copy = structuredClone(new DOMException("gone", "AbortError"));
      return [copy instanceof DOMException, copy.name, copy.message, copy.code].join();
    })()""")
    assert outcome == "true,AbortError,gone,20"


def test_a_value_that_cannot_be_cloned_leaves_the_transferred_buffers_alone() -> None:
    outcome = prelude_context().eval("""(() => {
      const buffers = [new ArrayBuffer(3), new ArrayBuffer(4)];
      buffers[1].transfer();
      try { structuredClone(1, { transfer: buffers }); } catch (error) {
        return error.name + buffers[0].byteLength;
      }
    })()""")
    assert outcome == "DataCloneError3"
