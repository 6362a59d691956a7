"""Snapshots of the past: each file in snapshots/golden loads, or is refused, as it always was."""

import json
from pathlib import Path
from typing import Any

import pytest
from codemode_snapshots import EnvelopeRefused, RunScope, unseal

from tests.snapshots.make_golden import DELTA, GOLDEN, KEY, LABEL, STATE, files, verdicts

BOOK: dict[str, Any] = json.loads((GOLDEN / "verdicts.json").read_text())


def verdict(file: Path) -> str:
    terms = BOOK["openWith"]
    try:
        unseal(
            bytes.fromhex(terms["key"]),
            file.read_bytes(),
            build_id=terms["buildId"],
            run_id=terms["runId"],
            scope=RunScope(*terms["scope"]),
            now_ms=terms["nowMs"],
            max_bytes=terms["maxBytes"],
        )
    except EnvelopeRefused as refused:
        return f"refused:{refused.reason}"
    return "loads"


def test_every_golden_file_has_a_verdict_and_every_verdict_a_file() -> None:
    assert sorted(BOOK["verdicts"]) == sorted(file.name for file in GOLDEN.glob("*.snap"))


@pytest.mark.parametrize("name", sorted(BOOK["verdicts"]))
def test_a_golden_file_meets_its_verdict(name: str) -> None:
    assert verdict(GOLDEN / name) == BOOK["verdicts"][name]


def test_the_good_golden_file_gives_back_what_was_sealed() -> None:
    terms = BOOK["openWith"]
    opened = unseal(
        KEY,
        (GOLDEN / "v1-good.snap").read_bytes(),
        build_id=terms["buildId"],
        run_id=terms["runId"],
        scope=LABEL.scope,
        now_ms=terms["nowMs"],
        max_bytes=terms["maxBytes"],
    )
    assert (opened.created_at_ms, opened.expires_at_ms) == (LABEL.created_at_ms, LABEL.expires_at_ms)
    assert (opened.state, opened.delta) == (STATE, DELTA)


def test_format_1_is_still_written_byte_for_byte() -> None:
    for name, (data, _) in files().items():
        assert (GOLDEN / f"{name}.snap").read_bytes() == data
    assert verdicts() == BOOK
