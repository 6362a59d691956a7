"""Cost of catalog and search, as JSON lines: python bench/bench_search.py [number of tools].

`build_ms` is the catalog of one run, `index_ms` its search index (built at the first search, kept for
catalogs of the same tools). `p50_ms`, `p99_ms` and `worst_ms` are queries of the labelled set over a catalog
made of its tools under other owners and with other words. Each time is the best of three. `quality` compares
the ranking with a substring baseline on the labelled set itself.
"""

import dataclasses
import json
import random
import sys
import time
from collections.abc import Callable
from statistics import quantiles
from typing import TypeVar

from codemode.catalog import Catalog
from codemode.catalog.search import SearchIndex
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
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
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
