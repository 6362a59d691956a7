"""What a namespace may be called, what its values become, and that only its calls can be named."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codemode import ConfigError
from codemode.executor import CallFailed
from codemode.namespaces import (
    NamespaceContext,
    NamespaceRegistry,
    NamespaceScopes,
    Registered,
    namespace_tool,
)
from codemode.namespaces.registry import Namespace

REACHABLE = Path(__file__).parents[1] / "runtime" / "oracle" / "reachable.txt"
FLEET: dict[str, Any] = {
    "id": "f", "globalName": "fleet", "requiredToolNames": ["find"], "createScope": dict,
}  # fmt: skip


def register(plugin: str = "p", **changed: Any) -> NamespaceRegistry:
    registry = NamespaceRegistry()
    registry.register(plugin, FLEET | changed)
    return registry


def scopes(made: Any) -> NamespaceScopes:
    namespace = Namespace(
        id="f", global_name="fleet", required_tool_names=("find",), create_scope=lambda _: made
    )
    context = NamespaceContext("a", "s", "k", "r", {}, lambda: False)
    return NamespaceScopes([Registered("p", namespace)], context)


@pytest.mark.parametrize(
    ("changed", "key"),
    [
        ({"globalName": "a-b"}, "namespace.f.globalName"),
        ({"globalName": ""}, "namespace.f.globalName"),
        ({"globalName": "1a"}, "namespace.f.globalName"),
        ({"globalName": "delete"}, "namespace.f.globalName"),
        ({"globalName": "tools"}, "namespace.f.globalName"),
        ({"globalName": "console"}, "namespace.f.globalName"),
        ({"globalName": "Promise"}, "namespace.f.globalName"),
        ({"globalName": "__openclaw_x"}, "namespace.f.globalName"),
        ({"globalName": 7}, "namespace.f"),
        ({"id": ""}, "namespace."),
        ({"requiredToolNames": "find"}, "namespace.f.requiredToolNames"),
        ({"requiredToolNames": [1]}, "namespace.f.requiredToolNames"),
        ({"createScope": {}}, "namespace.f.createScope"),
        ({"requiredTools": []}, "namespace.requiredTools"),
    ],
)
def test_a_registration_that_cannot_be_used_is_refused_by_its_key(changed: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as refused:
        register(**changed)
    assert refused.value.key == key


def test_every_global_that_programs_have_is_refused() -> None:
    names = {line.split()[0].removeprefix("globalThis.") for line in REACHABLE.read_text().splitlines()
             if line.startswith("globalThis.")}  # fmt: skip
    own = {name for name in names if name.isidentifier()} - {
        "fleet"
    }  # the list was made with one of that name
    assert {"JSON", "setTimeout", "API", "URL"} < own
    for name in sorted(own):
        with pytest.raises(ConfigError):
            register(globalName=name)


def test_a_name_belongs_to_who_registered_it_first() -> None:
    registry = register("p")
    registry.register("p", FLEET | {"description": "again"})
    with pytest.raises(ConfigError, match="another plugin"):
        registry.register("q", FLEET)
    with pytest.raises(ConfigError, match="taken"):
        registry.register("q", FLEET | {"id": "g"})
    assert registry.clear("p") == 1
    registry.register("q", FLEET)


def test_values_that_are_not_json_become_the_nearest_thing() -> None:
    made = {
        "date": datetime(2026, 1, 2, tzinfo=UTC),
        "decimal": Decimal("1.50"),
        "bytes": b"abc",
        "set": {2, 1},
        "nan": float("nan"),
        "big": 2**60,
        "object": object(),
        "tuple": (1, "x"),
    }
    assert msgspec.json.decode(scopes(made).json) == {
        "fleet": {
            "o": {
                "date": {"v": "2026-01-02T00:00:00Z"},
                "decimal": {"v": "1.50"},
                "bytes": {"v": "[binary, 3 bytes]"},
                "set": {"v": [1, 2]},
                "nan": {"v": None},
                "big": {"v": "1152921504606846976"},
                "object": {"v": "[object]"},
                "tuple": {"a": [{"v": 1}, {"v": "x"}]},
            }
        }
    }


@pytest.mark.parametrize(
    "target",
    ["", "fleet", "find", "fleet.", "fleet.nope", "fleet.find.x", "other.find", "plugin:p:find", "f.find"],
)  # fmt: skip
def test_a_forged_name_is_refused(target: str) -> None:
    own = scopes({"find": namespace_tool("find"), "value": 1})
    assert own.tool_id(target) is None
    refused = own.resolve(target, [])
    assert isinstance(refused, CallFailed)
    assert refused.code == "unknown_tool"


def test_the_input_is_the_first_argument_or_what_the_mapper_makes() -> None:
    own = scopes(
        {"find": namespace_tool("find"), "map": namespace_tool("find", lambda args: {"n": len(args)})}
    )
    assert own.resolve("fleet.find", [{"a": 1}, 2]) == ("plugin:p:find", {"a": 1})
    assert own.resolve("fleet.find", []) == ("plugin:p:find", {})
    assert own.resolve("fleet.map", [1, 2]) == ("plugin:p:find", {"n": 2})
