"""Names as programs write them."""

from __future__ import annotations

import pytest

from codemode.declarations.identifiers import SERVER_MEMBERS, assign, camel_case


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("create_issue", "createIssue"),
        ("chrome-devtools", "chromeDevtools"),
        ("get.user/by id", "getUserById"),
        ("echo", "echo"),
        ("getIssue", "getIssue"),
        ("GetIssue", "getIssue"),
        ("API-post-page", "apiPostPage"),
        ("2fa_code", "_2faCode"),
        ("_private__x_", "privateX"),
        ("über_größe", "überGröße"),
        ("検索_tool", "検索Tool"),
        ("***", "tool"),
        ("", "tool"),
    ],
)
def test_a_name_becomes_camel_case(name: str, identifier: str) -> None:
    assert camel_case(name, "tool") == identifier


def test_collisions_are_numbered_the_same_in_any_order() -> None:
    names = ["create_issue", "create-issue", "createIssue", "create issue"]
    found = {
        "createIssue": "createIssue",
        "create issue": "createIssue2",
        "create-issue": "createIssue3",
        "create_issue": "createIssue4",
    }
    assert assign(names) == found
    assert assign(reversed(names)) == found


def test_a_number_that_is_somebodys_own_name_is_not_given_away() -> None:
    assert assign(["a_b", "a-b", "aB2"]) == {"aB2": "aB2", "a-b": "aB", "a_b": "aB3"}


def test_keywords_and_what_the_language_asks_for_get_a_number() -> None:
    names = [
        "delete",
        "class",
        "await",
        "then",
        "constructor",
        "toString",
        "valueOf",
        "prototype",
        "undefined",
    ]
    assert assign(names) == {name: f"{name}2" for name in names}


def test_members_of_a_server_are_not_covered_by_its_tools() -> None:
    assert assign(["resources", "prompts", "$api"], taken=SERVER_MEMBERS) == {
        "resources": "resources2",
        "prompts": "prompts2",
        "$api": "api",
    }
