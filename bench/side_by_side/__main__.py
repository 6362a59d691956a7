"""Command line of the comparison.

python -m bench.side_by_side [--quick] [--page FILE]   measure, write JSON and page
python -m bench.side_by_side page FILE.json            the page again, from a result file
python -m bench.side_by_side compare A.json B.json     what changed from A to B
python -m bench.side_by_side install                   only install the peers
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from bench.side_by_side import compare, page, peers, prose, results
from bench.side_by_side.lineup import LINEUP, PROJECT
from bench.side_by_side.measure import measure
from bench.side_by_side.works import FULL, QUICK

RESULTS = PROJECT / "bench" / "results"
PAGE = PROJECT / "docs" / "benchmarks.md"


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    try:
        match options.command:
            case "compare":
                print(compare.compare(results.read(options.before), results.read(options.after)))
            case "page":
                page.write(results.read(options.file), options.page)
            case "install":
                return _install()
            case _:
                return _measure(options.quick, options.page)
    except results.NotResults as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.side_by_side", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="under two minutes; only good for a first look")
    parser.add_argument(
        "--page", type=Path, default=PAGE, help="where the page goes, with its plots beside it"
    )
    commands = parser.add_subparsers(dest="command")
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    commands.add_parser("page").add_argument("file", type=Path)
    commands.add_parser("install")
    return parser


def _measure(quick: bool, target: Path) -> int:
    found = measure(QUICK if quick else FULL)
    kind = "quick" if quick else "full"
    file = RESULTS / f"side-by-side-{kind}-{time.strftime('%Y%m%d-%H%M%S')}.json"
    results.write(found, file)
    page.write(found, target)
    print(prose.summary(found))
    print(f"\n{file.relative_to(PROJECT)} and {target} written in {found.machine['seconds']} s of measuring")
    for failure in found.failures():
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if found.failures() else 0


def _install() -> int:
    missing = {subject.title: reason for subject in LINEUP if (reason := peers.install(subject))}
    for title, reason in missing.items():
        print(f"{title}: {reason}", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
