"""Reads the labelled search set: 500 tools over 40 domains, and questions with the tools that answer them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codemode.tools import CallContext, Tool

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Question:
    text: str
    answers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Quality:
    recall_at_1: float
    recall_at_5: float
    mean_reciprocal_rank: float


async def _nothing(arguments: dict[str, Any], context: CallContext) -> None:
    return None


def load_tools() -> list[Tool]:
    tools: list[Tool] = []
    owner = ""
    for line in _lines("tools.txt"):
        if line.startswith("["):
            owner = line.strip("[]")
            continue
        name, description, parameters = (part.strip() for part in line.split("|"))
        tools.append(Tool(name, description, _schema(parameters), _nothing, source="plugin", owner=owner))
    return tools


def load_questions() -> list[Question]:
    pairs = (line.split(" | ") for line in _lines("queries.txt"))
    return [Question(text, frozenset(answers.split(", "))) for text, answers in pairs]


def quality(ranked: list[tuple[Question, list[str]]]) -> Quality:
    """`ranked` has the names found for each question, best first."""
    ranks = [
        next((at for at, name in enumerate(names, 1) if name in question.answers), 0)
        for question, names in ranked
    ]
    count = len(ranks)
    return Quality(
        sum(rank == 1 for rank in ranks) / count,
        sum(1 <= rank <= 5 for rank in ranks) / count,
        sum(1 / rank for rank in ranks if rank) / count,
    )


def by_substring(tools: list[Tool], query: str, limit: int) -> list[str]:
    """The baseline: how many of the query's words occur somewhere in the tool's name or description."""
    words = query.lower().split()
    scored = [
        (-sum(word in f"{tool.name} {tool.description}".lower() for word in words), tool.id, tool.name)
        for tool in tools
    ]
    return [name for score, _, name in sorted(scored)[:limit] if score]


def _schema(parameters: str) -> dict[str, Any]:
    names = [name.strip() for name in parameters.split(",") if name.strip()]
    properties: dict[str, Any] = {name.rstrip("?"): {} for name in names}
    required = [name for name in names if not name.endswith("?")]
    return {"type": "object", "properties": properties, "required": required}


def _lines(name: str) -> Iterator[str]:
    for line in (_HERE / name).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line
