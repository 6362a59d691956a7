"""`make conformance`: the official suite against this engine, and whether docs/mcp-conformance.md is true.

python -m tests.conformance            compares; 1 if something differs, or fails without a reason
python -m tests.conformance --write    writes what was found into the page
"""

from __future__ import annotations

import sys

from tests.conformance.page import read_before, read_rows, write_tables
from tests.conformance.reasons import reason_of
from tests.conformance.suite import REVISIONS, Outcome, run_client_leg, run_server_leg
from tests.harness.npm import RegistryUnreachable

LEGS = {"server": run_server_leg, "client": run_client_leg}


def main(arguments: list[str]) -> int:
    found: dict[str, list[dict[str, Outcome]]] = {}
    try:
        for leg, run in LEGS.items():
            found[leg] = [run(revision) for revision in REVISIONS]
    except RegistryUnreachable as problem:
        print(f"conformance: not run, npm cannot install the suite: {problem}")
        return 0
    wrong = [line for leg in LEGS for line in _unexplained(leg, found[leg])]
    tables = {leg: _rows(leg, found[leg]) for leg in LEGS}
    if "--write" in arguments:
        write_tables(tables)
    else:
        for leg, rows in tables.items():
            told = read_rows(leg)
            wrong += [f"{leg}: the page does not say: {row}" for row in rows if row not in told]
            wrong += [f"{leg}: the page says what is not so: {row}" for row in told if row not in rows]
    for line in wrong:
        print(line)
    counted = sum(len(outcomes) for runs in found.values() for outcomes in runs)
    passed = sum(o.has_passed for runs in found.values() for outcomes in runs for o in outcomes.values())
    print(f"conformance: {passed} of {counted} scenarios pass, {len(wrong)} problems")
    return 1 if wrong else 0


def _unexplained(leg: str, runs: list[dict[str, Outcome]]) -> list[str]:
    return [
        f"{leg} {revision}: {name} fails without a reason: {outcome} {' | '.join(outcome.problems)}"
        for revision, outcomes in zip(REVISIONS, runs, strict=True)
        for name, outcome in outcomes.items()
        if not outcome.has_passed and reason_of(leg, name) is None
    ]


def _rows(leg: str, runs: list[dict[str, Outcome]]) -> list[str]:
    before = read_before(leg)
    names = dict.fromkeys(name for outcomes in runs for name in outcomes)
    rows: list[str] = []
    for name in names:
        told = [str(outcomes[name]) if name in outcomes else "" for outcomes in runs]
        has_failed = any(name in outcomes and not outcomes[name].has_passed for outcomes in runs)
        reason = reason_of(leg, name) or "" if has_failed else ""
        rows.append(f"| `{name}` | {before.get(name, '')} | {' | '.join(told)} | {reason} |")
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
