"""Prompt tokens of tools: every schema shown to the model, against code mode. python bench/bench_tokens.py

Tokens are characters / 4 of the JSON that goes to a provider: name, description and parameters of each
visible tool. The tools are those of the labelled search set, with typed and described parameters as real
tools have them. A table, then the same as JSON lines.
"""

import dataclasses
import json
from typing import Any

from codemode.config import load_config
from codemode.surface import prepare_run
from codemode.tools import Tool
from tests.catalog.search_set.labelled import load_tools

_COUNTS = (10, 100, 1000)


def main() -> None:
    rows = [measure(count) for count in _COUNTS]
    print(f"{'tools':>6} {'direct':>10} {'code mode':>10} {'saved':>7}")
    for row in rows:
        print(
            f"{row['tools']:>6} {row['direct_tokens']:>10} {row['code_mode_tokens']:>10} {row['saved']:>7.1%}"
        )
    for row in rows:
        print(json.dumps({"bench": "tokens"} | row))


def measure(count: int) -> dict[str, Any]:
    tools = [typed(tool, number) for number, tool in enumerate(repeated(count))]
    direct = sum(tokens(tool) for tool in tools)
    prepared = prepare_run(tools, load_config(True))
    code_mode = sum(tokens(tool) for tool in prepared.visible)
    return {
        "tools": count,
        "direct_tokens": direct,
        "code_mode_tokens": code_mode,
        "saved": round(1 - code_mode / direct, 4),
    }


def tokens(tool: Tool) -> int:
    shown = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return len(json.dumps(shown)) // 4


def repeated(count: int) -> list[Tool]:
    base = load_tools()
    return [
        dataclasses.replace(
            base[number % len(base)], owner=f"{base[number % len(base)].owner}{number // len(base)}"
        )
        for number in range(count)
    ]


def typed(tool: Tool, number: int) -> Tool:
    """A string or a number and a sentence for each parameter."""
    properties = {
        name: {
            "type": "string" if (number + at) % 3 else "integer",
            "description": f"The {name.replace('_', ' ')} to use.",
        }
        for at, name in enumerate(tool.parameters["properties"])
    }
    return dataclasses.replace(tool, parameters=tool.parameters | {"properties": properties})


if __name__ == "__main__":
    main()
