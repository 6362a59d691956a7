"""A dozen documents of others: every operation becomes a tool whose types parse, and none is lost."""

from __future__ import annotations

import pytest

from codemode.declarations.declarations import declare_tool
from codemode.executor.schema_check import SchemaCheck
from codemode.openapi.source import OpenApiSource
from tests.harness.grammar import problems
from tests.openapi.real_documents import document

OPERATIONS = {
    "kubernetes": 1077,
    "petstore 2 in YAML": 20,
    "petstore 2 in JSON": 20,
    "petstore 3": 3,
    "recursive types": 3,
    "airflow 2": 89,
    "airflow 3": 128,
    "jupyter": 32,
    "jupyter terminals": 4,
    "jupyter kernel gateway": 16,
    "github": 1223,
    "github enterprise": 1471,
}
_LOOKED_AT = 60  # declarations of a document; of a larger one every so-and-so-many-th


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_of_a_real_document_is_a_tool_with_types_that_parse(name: str) -> None:
    found = document(name)
    listed = [
        method
        for item in found["paths"].values()
        for method in item
        if method in ("get", "put", "post", "delete", "options", "head", "patch")
    ]
    tools = OpenApiSource({"api": {"document": found, "server": "https://api.example.com"}}).tools
    assert len(tools) == len(listed) == OPERATIONS[name]
    for tool in tools[:: max(1, len(tools) // _LOOKED_AT)]:
        declared = f"declare namespace tools {{\n{declare_tool(tool.name, tool)}}}\n"
        assert problems(declared) == [], declared
        SchemaCheck(tool.parameters, trusted=False)
        if tool.returns is not None:
            SchemaCheck(tool.returns, trusted=False)
