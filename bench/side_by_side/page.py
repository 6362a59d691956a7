"""docs/benchmarks.md and its plots, from one run's results: every number and verdict in it is computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.side_by_side import plots, prose, rows, tables
from bench.side_by_side.results import Results
from bench.side_by_side.rows import Row
from bench.side_by_side.verdicts import OURS, goals


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a table of these rows, and a plot if it was drawn."""

    text: str
    rows: Sequence[Row]
    plot: str = ""
    against: str = OURS


SECTIONS: dict[str, tuple[Block, ...]] = {
    "Running programs": (
        Block("Milliseconds, p50 / p99, and how many times codemode's p50 it is.", rows.STARTS, "warm"),
    ),
    "Suspending and resuming": (
        Block(
            "Resume: from bytes in the host to the value of the finished program, in a fresh VM. `rows` are "
            "small objects, `text` is strings of digits; the size is that of the data as text.",
            rows.RESUMES,
            "resume",
        ),
        Block(
            "Suspend: from the idle VM to bytes in the host. For the thread per leg it is the whole first "
            "leg, which cannot be told apart from outside.",
            rows.SUSPENDS,
        ),
        Block("Bytes of the snapshot, as the engine stores it or hands it out.", rows.SIZES, "bytes"),
        Block(
            "The same after zlib at level 1, for hosts that compress what they store. codemode seals what it "
            "stores and hands out no bytes; its guest alone shows what there is to gain.",
            rows.PACKED,
            against="guest",
        ),
    ),
    "Computing": (
        Block(
            "Each kernel once in a fresh VM, as a program runs; making the VM is not counted where it can be "
            "told apart. The factor is against native QuickJS-NG, the same engine without a sandbox.",
            rows.KERNEL_ROWS,
            against="native",
        ),
    ),
    "Limits and TypeScript": (
        Block("An endless loop under a limit of 100 ms, and programs in TypeScript.", rows.OTHERS),
    ),
    "Throughput": (
        Block(
            "Programs with one call, runs per second; a caller starts its next run when its last has ended.",
            rows.THROUGHPUT,
        ),
    ),
}


def write(results: Results, file: Path) -> None:
    """The page, and a folder of its name beside it with the plots."""
    folder = file.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = plots.draw(results)
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg)
    file.write_text(render(results, {name: f"{folder.name}/{name}.svg" for name in drawn}))


def render(results: Results, pictures: dict[str, str]) -> str:
    """`pictures` are the plots there are, and where they lie."""
    lines = [*prose.opening(results), "## Outside the host's process", "", *prose.outside(results)]
    lines += [*tables.outside(results), "## Goals", "", *tables.goals(goals(results))]
    for title, blocks in SECTIONS.items():
        lines += [f"## {title}", ""]
        for block in blocks:
            lines += [block.text, "", *tables.comparison(results, block.rows, block.against)]
            lines += _picture(block.plot, pictures)
    lines += ["## Memory of a suspended program", ""]
    lines += [
        "A tiny program: its snapshot in the host, or the live VM where there is no snapshot.",
        "",
        *tables.memory(results),
    ]
    if results.costs:
        lines += ["## What a run costs", "", *prose.costs(), *tables.costs(results)]
    lines += ["## Growth", "", "codemode through its confined worker; milliseconds, or as said.", ""]
    for name in results.growth:
        lines += [*tables.growth(results, name), *_picture(f"growth-{name}", pictures)]
    lines += ["## Won and lost", "", *prose.won_and_lost(results)]
    lines += ["## Noise", "", *tables.noise(results)]
    return "\n".join(lines).rstrip() + "\n"


def _picture(name: str, pictures: dict[str, str]) -> list[str]:
    return [f"![{name}]({pictures[name]})", ""] if name in pictures else []
