"""Adapters stay apart: who uses one framework loads no other."""

from __future__ import annotations

import pytest

from tests.harness.processes import modules_after


@pytest.mark.parametrize(
    ("module", "framework"),
    [
        ("", ""),
        (".raw", ""),
        (".pydantic_ai", "pydantic_ai"),
        (".langchain", "langchain_core"),
        (".openai_agents", "agents"),
    ],
)
def test_each_adapter_loads_its_own_framework_and_no_other(module: str, framework: str) -> None:
    loaded = modules_after(f"import codemode.adapters{module}")
    assert loaded & {"pydantic_ai", "langchain_core", "langgraph", "agents"} == (
        {framework} if framework else set()
    )
