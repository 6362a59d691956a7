"""Facts beside the runs of every store: kept per agent, the last one counts, bounded."""

from typing import cast

import pytest
from codemode_snapshots import Facts, RunStore, facts, postgres_facts, sqlite_facts

from tests.snapshots.places import Place


def facts_of(store: RunStore) -> Facts:
    return cast("Facts", getattr(store, "facts"))  # noqa: B009 - a store may have none, so its type says nothing


def test_facts_are_kept_per_agent_and_the_last_one_counts(store: RunStore) -> None:
    kept = facts_of(store)
    kept.put("a", {"one": b"1", "two": b"\x00\xff"})
    kept.put("b", {"one": b"other"})
    kept.put("a", {"one": b"3"})

    assert kept.get("a") == {"one": b"3", "two": b"\x00\xff"}
    assert kept.get("b") == {"one": b"other"}
    assert kept.get("nobody") == {}


def test_facts_outlive_the_store_where_its_runs_do(place: Place) -> None:
    first = place.open()
    facts_of(first).put("a", {"one": b"1"})
    is_durable = first.is_durable
    first.close()

    assert facts_of(place.open()).get("a") == ({"one": b"1"} if is_durable else {})


def test_a_fact_that_is_too_large_is_left_out_and_the_others_are_kept(store: RunStore) -> None:
    facts_of(store).put("a", {"large": b"x" * (facts.MAX_FACT_BYTES + 1), "small": b"1"})

    assert facts_of(store).get("a") == {"small": b"1"}


def test_the_facts_written_longest_ago_are_forgotten_first(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (facts, sqlite_facts, postgres_facts):
        monkeypatch.setattr(module, "MAX_FACTS", 2)
        monkeypatch.setattr(module, "MAX_FACTS_IN_ALL", 3)
    kept = facts_of(store)
    for name in ("one", "two", "three"):
        kept.put("a", {name: b"1"})
    assert len(kept.get("a")) == 2
    assert "three" in kept.get("a")
    kept.put("b", {"four": b"1"})
    kept.put("b", {"five": b"1"})

    assert kept.get("b") == {"four": b"1", "five": b"1"}
    assert len(kept.get("a")) == 1
