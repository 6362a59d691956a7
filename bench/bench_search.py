"""Cost of catalog and search, as JSON lines: python bench/bench_search.py [number of tools] [--public].

`build_ms` is the catalog of one run, `index_ms` its search index (built at the first search, kept for
catalogs of the same tools). `p50_ms`, `p99_ms` and `worst_ms` are queries of the labelled set over a catalog
made of its tools under other owners and with other words. Each time is the best of three. `quality` compares
the ranking with a substring baseline on the labelled set itself.

With `--public` also on what people asked 1,582 tools (public_tools.py). Half of the questions were looked at
when the ranking was made ("tuned on"); the other half was not ("held out"). `per_step` is the share of the
tools needed that are among the first five, `per_task` of the questions whose tools are all among the first
eight. "after use": an agent whose searches for the first half led to the right tools.
"""

import dataclasses
import json
import random
import sys
import time
from collections.abc import Callable
from statistics import quantiles
from typing import TypeVar

from bench.public_tools import load_public
from codemode.catalog import Catalog
from codemode.catalog.search import SearchIndex
from codemode.catalog.search_memory import SearchMemory
from codemode.tools import Tool
from tests.catalog.search_set.labelled import (
    Quality,
    by_substring,
    load_questions,
    load_tools,
    quality,
)

T = TypeVar("T")
_LIMIT = 8


def main() -> None:
    report_quality()
    if "--public" in sys.argv:
        report_public()
    count = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), 10_000)
    tools = many_tools(count)
    build_ms, catalog = best_time(lambda: Catalog(tools))
    index_ms, index = best_time(lambda: SearchIndex(catalog.tools))
    times = [
        best_time(lambda text=question.text: index.search(text, _LIMIT))[0] for question in load_questions()
    ]
    cuts = quantiles(times, n=100)
    print(
        json.dumps(
            {
                "bench": "search",
                "tools": count,
                "build_ms": round(build_ms, 1),
                "index_ms": round(index_ms, 1),
                "p50_ms": round(cuts[49], 3),
                "p99_ms": round(cuts[98], 3),
                "worst_ms": round(max(times), 3),
            }
        )
    )


def report_quality() -> None:
    tools, questions = load_tools(), load_questions()
    catalog = Catalog(tools)
    found = [(asked, [hit["name"] for hit in catalog.search(asked.text, 50)]) for asked in questions]
    baseline = [(asked, by_substring(tools, asked.text, 50)) for asked in questions]
    for name, ranked in (("bm25", found), ("substring", baseline)):
        measured: Quality = quality(ranked)
        rounded = {key: round(value, 3) for key, value in dataclasses.asdict(measured).items()}
        line = {"bench": "quality", "ranking": name, "tools": len(tools), "queries": len(questions)}
        print(json.dumps(line | rounded))


def report_public() -> None:
    tools, questions = load_public()
    index = SearchIndex(tools)
    memory = SearchMemory()
    for at, asked in enumerate(questions):
        if asked.is_tuned_on:
            memory.searched("agent", str(at), asked.text)
            for answer in sorted(asked.answers):
                memory.called(str(at), answer)
    for part in ("tuned on", "held out", "after use"):
        found: list[tuple[bool, float, bool]] = []
        for asked in questions:
            if asked.is_tuned_on == (part == "tuned on"):
                learned = memory.learned("agent", asked.text) if part == "after use" else None
                ids = [tool.id for tool in index.search(asked.text, _LIMIT, learned)]
                step = len(asked.answers.intersection(ids[:5])) / len(asked.answers)
                found.append((ids[:1] != [] and ids[0] in asked.answers, step, asked.answers <= set(ids)))
        first, step, task = (round(sum(column) / len(found), 3) for column in zip(*found, strict=True))
        line = {"bench": "public", "part": part, "tools": len(tools), "queries": len(found)}
        print(json.dumps(line | {"recall_at_1": first, "per_step": step, "per_task": task}))


def many_tools(count: int) -> list[Tool]:
    """The labelled tools again and again, each copy with words of its own, so that no two are alike."""
    base = load_tools()
    words = sorted({word for tool in base for word in tool.description.lower().split()})
    choose = random.Random(5)
    made: list[Tool] = []
    for number in range(count):
        tool = base[number % len(base)]
        extra = " ".join(choose.choices(words, k=12))
        made.append(
            dataclasses.replace(
                tool,
                name=f"{tool.name}_{number // len(base)}",
                description=f"{tool.description}. {extra}",
                owner=f"{tool.owner}{number // len(base)}",
            )
        )
    return made


def best_time(work: Callable[[], T]) -> tuple[float, T]:
    times: list[float] = []
    for _ in range(2):
        begun = time.perf_counter()
        work()
        times.append((time.perf_counter() - begun) * 1000)
    begun = time.perf_counter()
    result = work()
    return min(*times, (time.perf_counter() - begun) * 1000), result


if __name__ == "__main__":
    main()
