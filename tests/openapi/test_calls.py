"""Tools of an OpenAPI document, against a live server: what is sent, what comes back, what cannot happen."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from codemode import ConfigError, Engine, tool
from codemode.openapi.source import OpenApiSource
from codemode.tools import Image
from tests.harness.engine import value_of, waiting
from tests.openapi.api_server import DOCUMENT, PetServer, pet_server

pytestmark = pytest.mark.usefixtures("leaves_nothing")


@asynccontextmanager
async def pets(tools: Any = (), **options: Any) -> AsyncGenerator[tuple[Engine, PetServer]]:
    entry = options.pop("entry", {})
    async with pet_server() as server:
        given = {"pets": {"document": DOCUMENT, "server": server.url, **entry}}
        async with Engine(tools, openapi=given, **options) as engine:
            yield engine, server


async def test_parameters_of_every_place_reach_the_server_as_the_document_says() -> None:
    program = """
    const tags = ["a b", "c"];
    return await tools.listPets({ limit: 3, tags, ids: [1, 2], filter: { age: 4 }, "X-Trace": "t1" })
    """
    async with pets(entry={"auth": {"bearer": "s3cret-token", "query": {"key": "k"}}}) as (engine, server):
        assert value_of(await engine.exec(program)) == [{"name": "Rex"}]
        method, path, headers = server.asked[0]
    assert (method, path) == (
        "GET",
        "/v1/pets?limit=3&tags=a+b&tags=c&ids=1%2C2&filter%5Bage%5D=4&key=k",
    )
    assert (headers["x-trace"], headers["authorization"]) == ("t1", "Bearer s3cret-token")


async def test_a_body_is_sent_as_json_with_a_key_and_is_checked_before() -> None:
    program = """
    const made = await tools.createPet({ body: { name: "Rex", age: 2, friend: null } });
    const wrong = await tools.createPet({ body: { name: 7 } }).catch((e) => e.code);
    const zero = await tools.createPet({ body: { name: "Rex", age: 0 } }).catch((e) => e.code);
    return [made, wrong, zero];
    """
    async with pets() as (engine, server):
        value = value_of(await engine.exec(program))
        headers = [asked[2] for asked in server.asked]
    assert value == [{"name": "Rex", "age": 2, "friend": None}, "invalid_arguments", "invalid_arguments"]
    assert [one["content-type"] for one in headers] == ["application/json"]
    assert len(headers[0]["idempotency-key"]) > 16


async def test_failures_are_errors_with_their_status_and_nothing_is_followed_elsewhere() -> None:
    program = """
    const seen = [];
    for (const call of [() => tools.getPet({ petId: "9" }), () => tools.beBusy(), () => tools.goAway()])
        await call().catch((e) => seen.push([e.code, e.message, e.retryable]));
    return [seen, await tools.deletePet({ petId: "9" })];
    """
    async with pets() as (engine, _):
        seen, gone = value_of(await engine.exec(program))
    assert seen == [
        ["http_404", 'getPet failed with 404 Not Found: {"problem": "no such pet"}', False],
        ["http_503", "beBusy failed with 503 Service Unavailable: later", True],
        [
            "http_307",
            "goAway failed with 307 Temporary Redirect: it redirects, and redirects are not followed",
            False,
        ],
    ]
    assert gone is None


async def test_no_argument_can_leave_its_place_in_the_path() -> None:
    program = """
    const hostile = ["../admin", "..", "a/b?c=d#e", "%2e%2e"];
    for (const petId of hostile) await tools.getPet({ petId }).catch(() => 0);
    return await tools.getPet({ petId: "" }).catch((e) => e.message);
    """
    async with pets() as (engine, server):
        empty = value_of(await engine.exec(program))
        paths = [asked[1] for asked in server.asked]
    assert paths == [
        "/v1/pets/..%2Fadmin",
        "/v1/pets/%2E%2E",
        "/v1/pets/a%2Fb%3Fc%3Dd%23e",
        "/v1/pets/%252e%252e",
    ]
    assert empty == "petId must not be empty: it is part of the path"


async def test_pictures_come_as_handles_and_go_out_as_files() -> None:
    @tool
    async def sketch() -> Image:
        """A picture."""
        return Image(b"12345", "image/png")

    program = """
    const photo = await tools.getPhoto();
    const sent = await tools.putPhoto({ body: { title: "mine", file: await tools.sketch() } });
    const form = await tools.login({ body: { user: "ada", age: 3 } });
    return [photo.mimeType, photo.bytes, sent, form];
    """
    async with pets([sketch]) as (engine, _):
        value = value_of(await engine.exec(program))
    assert value == ["image/png", 4, "mine image/png 5", {"user": "ada", "age": "3"}]


async def test_policy_approvals_and_hints_hold_for_operations_as_for_any_tool() -> None:
    policy = {"requireApproval": ["deletePet"], "deny": ["createPet"]}
    async with pets(policy=policy, entry={"exclude": ["*photo*"]}) as (engine, server):
        names = value_of(await engine.exec("return ALL_TOOLS.map((t) => t.id).sort()"))
        asked = waiting(await engine.exec('return await tools.deletePet({ petId: "1" })'), "approval")
        assert asked.pending_tool_calls[0].tool == "plugin:pets:deletePet"
        assert server.asked == []
    assert names == [
        "plugin:pets:beBusy",
        "plugin:pets:deletePet",
        "plugin:pets:getPet",
        "plugin:pets:goAway",
        "plugin:pets:listPets",
        "plugin:pets:login",
    ]


async def test_only_reading_is_idempotent_and_the_result_has_the_declared_type() -> None:
    async with pets() as (engine, _):
        described = value_of(await engine.exec('return await tools.describe("listPets")'))
    tools = OpenApiSource({"pets": {"document": DOCUMENT, "server": "https://example.com"}}).tools
    by_name = {one.name: one.hints for one in tools}
    assert described["returnsSource"] == "declared"
    assert described["returns"]["items"] == {"$ref": "#/$defs/Pet"}
    idempotent = sorted(name for name, hints in by_name.items() if hints.idempotent)
    assert idempotent == ["beBusy", "getPet", "getPhoto", "goAway", "listPets"]
    assert by_name["deletePet"].destructive is True


async def test_a_server_that_is_gone_fails_the_call_without_its_address() -> None:
    given = {"pets": {"document": DOCUMENT, "server": "http://127.0.0.1:1"}}
    program = "return await tools.listPets({}).catch((e) => [e.code, e.message, e.retryable])"
    async with Engine(openapi=given) as engine:
        value = value_of(await engine.exec(program))
    assert value == ["unreachable", "pets cannot be reached: ConnectError", True]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({}, "openapi.pets: needs a document"),
        ({"document": {"openapi": "3.0.0", "paths": {}}}, "openapi.pets.server: must be the URL of the API"),
        ({"document": {}, "server": "https://x"}, "is no OpenAPI document"),
        ({"document": "gone.json"}, "gone.json cannot be read"),
        ({"document": "https://x/openapi.json"}, "is a URL: download it"),
        ({"document": DOCUMENT, "server": "/v1"}, "must be a whole URL"),
        ({"document": DOCUMENT, "server": "https://u:p@x"}, "secrets belong into auth"),
        ({"document": DOCUMENT, "sever": "https://x"}, 'unknown key. Did you mean "server"?'),
        ({"document": DOCUMENT, "server": "https://x", "auth": {"token": "t"}}, "unknown key"),
        (
            {"document": DOCUMENT, "server": "https://x", "auth": {"bearer": 7}},
            "auth.bearer: must be a string",
        ),
        ({"document": DOCUMENT, "server": "https://x", "allow": ["nope"]}, "offers no operation"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_key(entry: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Engine(openapi={"pets": entry})
    assert problem in str(refused.value)
