"""What an engine cannot be made of is refused at once, with the argument's name and what is allowed."""

# ruff: noqa: E501 - the table reads best unwrapped

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codemode import ConfigError
from codemode.config.engine_arguments import check_engine_arguments
from tests.harness.engine import echo


class Hook:
    def before_tool_call(self, event: object) -> None: ...


class Onlooker:
    async def after_tool_call(self, event: object) -> None: ...


class NoHook:
    before_tool_call = "yes"


def ask(_: object) -> bool:
    return True


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tools": [echo], "store": "runs.sqlite", "store_key": b"k" * 32},
        {"tools": iter([echo]), "store": Path("runs.sqlite"), "redact": False},
        {"hooks": Hook(), "approve": ask, "audit": print, "redact": ask},
        {"hooks": [Hook(), Onlooker(), None], "namespaces": {"shops": []}},
        {"hooks": (), "namespaces": {"shops": iter([{"id": "shop"}])}},
    ],
)
def test_what_an_engine_can_be_made_of_is_let_through(given: dict[str, Any]) -> None:
    check_engine_arguments(**given)


@pytest.mark.parametrize(
    ("argument", "value", "told"),
    [
        ("tools", 5, "tools: must be a list of tools, not 5."),
        ("tools", ask, "tools: must be a list of tools, not a function."),
        ("tools", "echo", 'tools: must be a list of tools, not "echo".'),
        ("store", 5, "store: must be the path of a file, a sqlite:/// or postgresql:// URL, a RunStore, or None to keep runs in memory, not 5."),
        ("store", b"f", "store: must be the path of a file, a sqlite:/// or postgresql:// URL, a RunStore, or None to keep runs in memory, not a bytes."),
        ("store", " ", 'store: must be the path of a file, a sqlite:/// or postgresql:// URL, a RunStore, or None to keep runs in memory, not " ".'),
        ("approve", 5, "approve: must be a function that takes an approval request, or None, not 5."),
        ("audit", 4, "audit: must be a function that takes an audit event, or None, not 4."),
        ("redact", "x", 'redact: must be True (shapes), False (values) or a function that decides for each value, not "x".'),
        ("redact", None, "redact: must be True (shapes), False (values) or a function that decides for each value, not null."),
        ("namespaces", 4, "namespaces: must be an object from plugin ids to lists of namespaces, not 4."),
        ("namespaces", {5: []}, "namespaces: must be under plugin ids, which are strings, not 5."),
        ("namespaces", {"shops": {"id": "shop"}}, "namespaces.shops: must be a list of namespaces, not an object."),
    ],
)  # fmt: skip
def test_an_argument_of_another_type_is_refused_by_its_name_and_with_what_is_allowed(
    argument: str, value: object, told: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        check_engine_arguments(**{argument: value})
    assert str(refused.value) == told
    assert refused.value.code == "invalid_config"


@pytest.mark.parametrize("hooks", [5, "x", [5], [Hook(), ask], NoHook()])
def test_a_hook_without_a_method_that_can_be_called_is_refused(hooks: object) -> None:
    with pytest.raises(
        ConfigError, match=r"^hooks: must be an object with some of the methods before_tool_call,"
    ):
        check_engine_arguments(hooks=hooks)


@pytest.mark.parametrize("key", ["k" * 32, b"", b"k" * 31])
def test_a_store_key_of_another_length_is_refused_and_not_shown(key: object) -> None:
    with pytest.raises(ConfigError) as refused:
        check_engine_arguments(store_key=key)
    assert str(refused.value) == "store_key: must be 32 bytes, a list of such keys, or None for a key file."
