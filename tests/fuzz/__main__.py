"""Runs fuzzers and prints what came of them; see docs/fuzzing.md.

python -m tests.fuzz [NAME …] --seconds N --seed S
python -m tests.fuzz --replay FILE
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

from tests.fuzz.runner import FOUND, fuzz, fuzzer_of, replay, save
from tests.fuzz.subjects import FUZZERS


def main() -> int:
    given = _options()
    if given.replay is not None:
        return _replay(given.replay)
    unknown = [name for name in given.names if name not in FUZZERS]
    if unknown:
        print(f"no fuzzer named {', '.join(unknown)}; there are: {', '.join(FUZZERS)}", file=sys.stderr)
        return 2
    print(f"seed {given.seed}", flush=True)
    failures = 0
    for name in given.names or FUZZERS:
        report = fuzz(
            name,
            FUZZERS[name],
            seed=given.seed,
            seconds=given.seconds,
            folder=FOUND,
            on_failure=partial(_tell, name),
        )
        failures += len(report.failures)
        print(report, flush=True)
    return 1 if failures else 0


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="which fuzzers; all without")
    options.add_argument("--seconds", type=float, default=30.0, help="for each of them (30)")
    options.add_argument(
        "--seed", type=int, default=time.time_ns() % 1_000_000, help="another each time without"
    )
    options.add_argument("--replay", type=Path, metavar="FILE", help="try one saved input again")
    return options.parse_args()


def _tell(name: str, data: bytes, complaint: str) -> None:
    path = save(FOUND, name, data, complaint)
    last = complaint.strip().splitlines()[-1]
    print(f"{name}: {last[:300]}\n  again: python -m tests.fuzz --replay {path}", flush=True)


def _replay(path: Path) -> int:
    name = fuzzer_of(path)
    if name not in FUZZERS:
        print(f"{path}: the name of a saved input begins with its fuzzer's", file=sys.stderr)
        return 2
    replay(FUZZERS[name], path.read_bytes())
    print(f"{path.name}: nothing wrong")
    return 0


if __name__ == "__main__":
    sys.exit(main())
