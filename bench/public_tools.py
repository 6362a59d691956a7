"""Tools and questions of the Berkeley Function Calling Leaderboard (package bfcl-eval), for searching.

The package is fetched into .cache by pip at the first use; nothing of it is in this repository.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemode.tools import CallContext, Tool

_VERSION = "2026.3.23"
_CACHE = Path(__file__).parent.parent / ".cache" / "bfcl"
_SINGLE = [
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
]
_TURNS = "multi_turn_base"


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    answers: frozenset[str]  # ids
    is_tuned_on: bool


def load_public() -> tuple[list[Tool], list[Asked]]:
    """The tools sorted by id, and what people asked of them."""
    with zipfile.ZipFile(_fetched()) as package:
        functions: dict[str, dict[str, Any]] = {}
        asked: list[tuple[str, str, set[str]]] = []
        for category in _SINGLE:
            truth = {
                row["id"]: row["ground_truth"]
                for row in _rows(package, f"possible_answer/BFCL_v4_{category}")
            }
            for row in _rows(package, f"BFCL_v4_{category}"):
                for function in row["function"]:
                    functions.setdefault(function["name"], function)
                text = " ".join(_said(turn) for turn in row["question"])
                asked.append((row["id"], text, {name for call in truth[row["id"]] for name in call}))
        for name in package.namelist():
            if "/multi_turn_func_doc/" in name:
                for function in _rows(package, name.partition("/data/")[2].removesuffix(".json")):
                    functions.setdefault(function["name"], function)
        truth = {
            row["id"]: row["ground_truth"] for row in _rows(package, f"possible_answer/BFCL_v4_{_TURNS}")
        }
        for row in _rows(package, f"BFCL_v4_{_TURNS}"):
            for turn, calls in zip(row["question"], truth[row["id"]], strict=True):
                asked.append((row["id"], _said(turn), {call.partition("(")[0] for call in calls}))
    tools = {name: _tool(function) for name, function in functions.items()}
    questions = [
        Asked(text, frozenset(tools[name].id for name in names if name in tools), _is_tuned_on(row_id))
        for row_id, text, names in asked
    ]
    return sorted(tools.values(), key=lambda tool: tool.id), [one for one in questions if one.answers]


def _fetched() -> Path:
    found = list(_CACHE.glob(f"bfcl_eval-{_VERSION}-*.whl"))
    if not found:
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(_CACHE)]
        subprocess.run([*command, f"bfcl-eval=={_VERSION}"], check=True)
        found = list(_CACHE.glob(f"bfcl_eval-{_VERSION}-*.whl"))
    return found[0]


def _rows(package: zipfile.ZipFile, name: str) -> Iterator[dict[str, Any]]:
    for line in package.read(f"bfcl_eval/data/{name}.json").decode().splitlines():
        yield json.loads(line)


def _said(turn: list[dict[str, str]]) -> str:
    return " ".join(message["content"] for message in turn if message["role"] == "user")


def _is_tuned_on(row_id: str) -> bool:
    return hashlib.sha256(row_id.encode()).digest()[-1] % 2 == 0


def _tool(function: dict[str, Any]) -> Tool:
    owner, _, name = function["name"].rpartition(".")
    properties: dict[str, Any] = function.get("parameters", {}).get("properties") or {}
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return Tool(
        name.replace(" ", "_"),
        function.get("description", ""),
        schema,
        _nothing,
        source="plugin",
        owner=owner or "lib",
    )


async def _nothing(_arguments: dict[str, Any], _context: CallContext) -> None:
    return None
