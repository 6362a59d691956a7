"""Bundles as files: any bytes are a bundle or refused, and nothing is run of what is refused."""

from __future__ import annotations

import random
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from codemode import Bundle, BundleRefused, Engine, Replay, load_bundle, read_bundle, replay_bundle, tool
from codemode.replay import bundle as bundles


@tool
async def price(city: str) -> int:
    """A price."""
    return len(city)


async def recorded() -> Bundle:
    async with Engine([price], redact=False) as engine:
        program = "text(`${Date.now()}`); await yield_control(); return await tools.price({ city: 'Oslo' })"
        result = await engine.exec(program)
        result = await engine.wait(result.to_dict()["runId"])
        assert result.unwrap() == 4
        page = await engine.list_runs(limit=1)
        return await engine.export(page.runs[0].run_id)


async def test_a_bundle_is_the_same_after_a_file_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    bundle, path = await recorded(), tmp_path / "bundle.json"
    bundle.save(path)
    assert load_bundle(path).to_json() == bundle.to_json()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (await replay_bundle(load_bundle(path))).calls == 1


def edited(data: dict[str, Any], **changes: Any) -> bytes:
    return msgspec.json.encode(data | {"recorded": data["recorded"] | changes})


async def test_bundles_that_cannot_be_are_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (await recorded()).to_dict()
    turns = data["recorded"]["turns"]
    heavy = {**turns[0], "limits": turns[0]["limits"] | {"memory_bytes": 1 << 40}}
    wrong = {
        "its turns do not begin with the start": edited(data, turns=turns[1:]),
        "a program goes on that was not suspended": edited(data, turns=[turns[0], turns[2]]),
        "a leg without limits": edited(data, turns=[{**turns[0], "limits": None}]),
        "a program with 1099511627776 bytes of memory": edited(data, turns=[heavy]),
        "a turn without an outcome": edited(data, turns=[{**turns[0], "outcome": None}]),
        "the program goes on after its end": edited(data, turns=[*turns, turns[-1]]),
        "it is of version 2": msgspec.json.encode(data | {"version": 2}),
        "Object contains unknown field `more`": msgspec.json.encode(data | {"more": 1}),
        "JSON ": b"[" * 5000,
        "this is no bundle": b"{}",
    }
    for why, given in wrong.items():
        with pytest.raises(BundleRefused) as refused:
            read_bundle(given)
        assert why in str(refused.value)
    monkeypatch.setattr(bundles, "MAX_BUNDLE_BYTES", 10)
    with pytest.raises(BundleRefused, match="it is larger than"):
        read_bundle(b"{}" * 10)


async def test_damaged_bundles_are_refused_or_replay_and_nothing_else_happens() -> None:
    data, dice = (await recorded()).to_json().encode(), random.Random(7)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(dice.randint(1, 3)):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        try:
            found = read_bundle(bytes(damaged))
        except BundleRefused:
            continue
        assert isinstance(found, Bundle)


async def test_answers_for_calls_that_are_not_there_are_a_difference_and_no_crash() -> None:
    data = (await recorded()).to_dict()
    turns = data["recorded"]["turns"]
    for turn in turns:
        for answer in turn.get("settled", ()):
            answer["id"] += 1000
    found = await replay_bundle(read_bundle(edited(data, turns=turns)))
    assert isinstance(found, Replay)
    assert not found.is_same
