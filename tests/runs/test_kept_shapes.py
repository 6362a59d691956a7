"""What was learned of results outlives its engine in a durable store: sealed, and without any value."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import MemoryStore, StoreUnavailable
from codemode_snapshots.sqlite import SqliteStore

from codemode import Engine, tool
from tests.harness.engine import engine, value_of

SECRET = "sk-4f9a1c77d2e84b1c"
LINE = (
    'list_customers({ region?: string = "eu" }) -> ~{ customers: Array<{ id: string }>, total: number }'
    " // Lists customers"
)


@tool
async def list_customers(region: str = "eu") -> Any:
    """Lists customers."""
    return {"customers": [{"id": f"{SECRET}-{region}"}], "total": 1}


async def lines(made: Engine, session: str) -> list[str]:
    return (await made.prepare(session=session)).exec_description.splitlines()


@pytest.mark.guarantee("shapes-outlive-engines")
async def test_the_next_engine_on_a_file_knows_what_the_last_one_learned(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine([list_customers], store=path) as made:
        assert LINE not in await lines(made, "first")
        await made.exec("return await tools.list_customers()", session="first")
    async with engine([list_customers], store=path) as made:
        described = value_of(await made.exec("return (await tools.describe('list_customers')).returnsSource"))
        assert LINE in await lines(made, "second")

    assert described == "observed"


async def test_two_engines_on_one_store_learn_from_each_other(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine([list_customers], store=path) as one:
        await one.exec("return await tools.list_customers()")
        await one._services.work.kept_shapes.close()  # pyright: ignore[reportPrivateUsage] - not in a second
        async with engine([list_customers], store=path) as two:
            assert LINE in await lines(two, "any")


async def test_the_file_holds_no_value_and_no_name_of_a_tool(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine([list_customers], store=path) as made:
        await made.exec("return (await tools.list_customers()).total")
    store = SqliteStore(path)
    kept = store.facts.get("main")
    store.close()

    assert len(kept) == 1
    (name, data), *_ = kept.items()
    assert "list_customers" not in name
    assert SECRET.encode() not in data


async def test_what_another_key_sealed_or_somebody_wrote_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    async with engine([list_customers], store=path) as made:
        await made.exec("return (await tools.list_customers()).total")
    store = SqliteStore(path)
    store.facts.put("main", {name: data[:-1] + b"x" for name, data in store.facts.get("main").items()})
    store.close()

    async with engine([list_customers], store=path) as made:
        assert LINE not in await lines(made, "next")


async def test_a_description_stays_the_same_within_a_session_whatever_is_learned(tmp_path: Path) -> None:
    async with engine([list_customers], store=tmp_path / "runs.sqlite") as made:
        before = await lines(made, "one")
        await made.exec("return await tools.list_customers()", session="one")
        assert await lines(made, "one") == before
        assert LINE in await lines(made, "two")


class WithoutFacts:
    """A store of a host's own that was written before there were facts."""

    is_durable = False

    def __init__(self) -> None:
        self._store = MemoryStore()

    def __getattr__(self, name: str) -> Any:
        if name == "facts":
            raise AttributeError(name)
        return getattr(self._store, name)


class BrokenFacts:
    def put(self, *_: object) -> None:
        raise StoreUnavailable("no disk")

    def get(self, *_: object) -> dict[str, bytes]:
        raise OSError("no disk")


@pytest.mark.parametrize("broken", [False, True])
async def test_a_store_without_facts_or_with_broken_ones_costs_no_run(broken: bool) -> None:
    store: Any = MemoryStore() if broken else WithoutFacts()
    if broken:
        store.facts = BrokenFacts()
    async with engine([list_customers], store=store) as made:
        results = await asyncio.gather(
            *(made.exec("return (await tools.list_customers()).total", session=name) for name in "abc")
        )

    assert [value_of(result) for result in results] == [1, 1, 1]
