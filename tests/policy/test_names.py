"""Names that look the same are the same to a policy, whatever invisible or wide characters they have."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemode.policy.names import plain_name
from tests.harness.policy_samples import allowed
from tests.harness.tool_samples import make

DISGUISES = {
    "case": "BROWSER",
    "trailing space": "browser ",
    "leading tab": "\tbrowser",
    "no-break space": "browser\u00a0",
    "line separator": "browser\u2028",
    "zero-width space": "bro\u200bwser",
    "byte order mark": "\ufeffbrowser",
    "soft hyphen": "brow\u00adser",
    "right-to-left mark": "browser\u200f",
    "word joiner": "browser\u2060",
    "variation selector": "browser\ufe0f",
    "tag": "browser\U000e0041",
    "Hangul filler": "browser\u3164",
    "grapheme joiner": "b\u034frowser",
    "null": "browser\x00",
    "full width": "ｂｒｏｗｓｅｒ",
    "mathematical": "𝐛𝐫𝐨𝐰𝐬𝐞𝐫",
    "long s": "brow\u017fer",
}


@pytest.mark.parametrize("name", DISGUISES.values(), ids=DISGUISES)
@pytest.mark.guarantee("deny-sees-through-disguises")
def test_a_tool_under_a_disguised_name_is_denied_by_the_plain_one(name: str) -> None:
    tool = make(name, source="mcp", owner="acme")

    for entry in ("browser", "brow*", "mcp:acme:browser", "*:browser", "group:ui", "mcp:*:bro*ser"):
        assert allowed({"deny": [entry]}, [tool, make("read")]) == {"read"}, entry


@pytest.mark.parametrize("name", DISGUISES.values(), ids=DISGUISES)
def test_a_disguised_entry_denies_the_plain_tool(name: str) -> None:
    assert allowed({"deny": [name]}, [make("browser"), make("read")]) == {"read"}
    assert allowed({"groups": {name: ["read"]}, "deny": ["group:browser"]}, [make("read")]) == set()


@pytest.mark.parametrize("name", DISGUISES.values(), ids=DISGUISES)
@pytest.mark.parametrize("who", ["agent", "provider", "channel", "sender"])
def test_a_disguised_caller_is_narrowed_as_the_plain_one(who: str, name: str) -> None:
    section = {"agent": "agents", "provider": "byProvider", "channel": "byChannel", "sender": "bySender"}[who]

    assert allowed({section: {"browser": {"deny": ["read"]}}}, [make("read")], **{who: name}) == set()


def test_an_owner_with_blanks_around_it_is_the_owner() -> None:
    assert allowed({"deny": ["mcp:acme:*"]}, [make("x", source="mcp", owner=" acme\u200b")]) == set()


def test_an_accent_is_one_name_however_it_is_written() -> None:
    name = unicodedata.normalize("NFD", "café")

    assert allowed({"deny": ["café"]}, [make(name)]) == set()
    assert allowed({"deny": ["café"]}, [make(name[:-1] + "\u200b" + name[-1])]) == set()


def test_another_letter_that_looks_alike_is_another_name() -> None:
    name = "br\u043ewser"  # a Cyrillic o

    assert allowed({"deny": ["browser"]}, [make(name)]) == {name}
    assert allowed({"deny": ["mcp:*"]}, [make(name, source="mcp")]) == set()


@given(st.text())
def test_the_plain_form_of_a_plain_form_is_itself(text: str) -> None:
    assert plain_name(plain_name(text)) == plain_name(text)


@given(st.text(), st.text(alphabet="\u200b\u200d\u2060\ufeff\u00ad\ufe0f\x00", max_size=5), st.integers(0, 9))
def test_invisible_characters_anywhere_change_nothing(text: str, noise: str, at: int) -> None:
    assert plain_name(text[:at] + noise + text[at:]) == plain_name(text)
