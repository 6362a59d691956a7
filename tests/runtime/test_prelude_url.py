"""URL, against outcomes taken from Node and a few properties of the standard."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.runtime.prelude.context import load_cases, prelude_context, run_cases, unexpected

CONTEXT = prelude_context()

# One piece per space; "_" stands for a space, "T" for a tab, "L" for a lone surrogate.
PIECES = """http https: file: foo: // / \\ .. . %2e C: C| ? # @ : [::1] 1.2 0x7f xn--n3h é ☃ % %41 %ff
  _ T a B 8080 localhost L 😀 ^ '"""
STANDS_FOR = {"_": " ", "T": "\t", "L": "\ud800"}
TEXTS = st.lists(st.sampled_from([STANDS_FOR.get(piece, piece) for piece in PIECES.split()]), max_size=9).map(
    "".join
)


def test_urls_parse_as_in_node_or_as_the_case_says() -> None:
    cases = load_cases("urls.json")
    assert len(cases) >= 500
    assert unexpected(cases, run_cases(cases)) == []


def test_setters_change_urls_as_in_node_or_as_the_case_says() -> None:
    cases = load_cases("url-setters.json")
    assert len(cases) >= 400
    assert unexpected(cases, run_cases(cases)) == []


@settings(max_examples=300, database=None)
@given(TEXTS, st.none() | TEXTS)
def test_any_text_is_refused_or_gives_a_url_that_parses_to_itself(text: str, base: str | None) -> None:
    arguments = json.dumps(text) + ("" if base is None else ", " + json.dumps(base))
    outcome = CONTEXT.eval(f"""(() => {{
      const url = URL.parse({arguments});
      if (url === null) return "refused";
      return JSON.stringify([url.href, new URL(url.href).href, url.searchParams.size]);
    }})()""")
    if outcome != "refused":
        first, second, _ = json.loads(outcome)
        assert first == second


def test_the_message_of_an_invalid_url_shows_the_text_and_the_base() -> None:
    message = "(() => { try { new URL('//', 'x'); } catch (error) { return error.message; } })()"
    assert CONTEXT.eval(message) == 'Invalid URL: "//" with base "x"'


def test_converting_a_value_may_replace_the_url_that_is_being_set() -> None:
    outcome = CONTEXT.eval("""(() => {
      const url = new URL("http://before/");
      url.hash = { toString() { url.href = "http://after/"; return "end"; } };
      return url.href;
    })()""")
    assert outcome == "http://after/#end"
