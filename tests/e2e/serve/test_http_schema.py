"""The HTTP API against its own OpenAPI document, by schemathesis: what it sends is served or refused as the
document says. A bounded slice; `make fuzz-http` looks for longer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.http_api import SECRETS, api_server
from tests.harness.processes import PROJECT

pytestmark = pytest.mark.usefixtures("leaves_nothing")
EXAMPLES = int(os.environ.get("CODEMODE_HTTP_EXAMPLES", "4"))


@pytest.mark.seconds(900)
@pytest.mark.timeout(900)
async def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    async with api_server(tmp_path) as server:
        checker = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{server.url}/v1/openapi.json"),
            *("-H", f"Authorization: Bearer {SECRETS['all']}", "--phases", "examples,fuzzing"),
            *("--max-examples", str(EXAMPLES), "--exclude-path", "/v1/events", "--exclude-path", "/v1/drain"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
            *("--checks", "response_schema_conformance,response_headers_conformance", "--seed", "1"),
            *("--suppress-health-check", "all", "--no-color", "--generation-database", "none"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
        )
        out, _ = await asyncio.wait_for(checker.communicate(), 850)
        assert checker.returncode == 0, out.decode()[-4000:]
