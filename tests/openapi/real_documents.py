"""OpenAPI documents that others wrote, out of their own packages: fetched once, into a cache."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.harness.npm import installed_or_skip

_SECONDS = 100
# package of PyPI, path in its wheel
WHEELS = {
    "kubernetes": ("prance==26.7.19.0", "tests/specs/kubernetes_api_docs.json"),
    "petstore 2 in YAML": ("prance==26.7.19.0", "tests/examples/v2.0/yaml/petstore.yaml"),
    "petstore 2 in JSON": ("prance==26.7.19.0", "tests/examples/v2.0/json/petstore.json"),
    "petstore 3": ("prance==26.7.19.0", "tests/specs/petstore.yaml"),
    "recursive types": ("prance==26.7.19.0", "tests/specs/recursive_objs.yaml"),
    "airflow 2": ("apache-airflow==2.10.5", "airflow/api_connexion/openapi/v1.yaml"),
    "airflow 3": (
        "apache-airflow-core==3.3.2",
        "airflow/api_fastapi/core_api/openapi/v2-rest-api-generated.yaml",
    ),
    "jupyter": ("jupyter_server==2.21.1", "jupyter_server/services/api/api.yaml"),
    "jupyter terminals": ("jupyter_server_terminals==0.5.4", "jupyter_server_terminals/rest-api.yml"),
    "jupyter kernel gateway": (
        "jupyter_kernel_gateway==3.0.1",
        "kernel_gateway/jupyter_websocket/swagger.json",
    ),
}
OCTOKIT = "@octokit/openapi@23.0.2"
MODULES = {"github": "generated/api.github.com.json", "github enterprise": "generated/ghec.json"}


def document(name: str) -> dict[str, Any]:
    """Skips where the registry is out of reach."""
    if name in MODULES:
        data = (installed_or_skip(OCTOKIT) / "@octokit" / "openapi" / MODULES[name]).read_bytes()
        return json.loads(data)
    package, path = WHEELS[name]
    with zipfile.ZipFile(_wheel(package)) as wheel:
        data = wheel.read(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return json.loads(data) if path.endswith(".json") else yaml.load(data, Loader=loader)


def _wheel(package: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "codemode" / "wheels" / package
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # tests may run in parallel
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(folder.glob("*.whl")):
            command = [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--quiet",
                "-d",
                str(folder),
                package,
            ]
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
            if done.returncode:
                assert not os.environ.get("CI"), f"pip must work in CI: {done.stderr[-300:]}"
                pytest.skip(f"pip cannot download {package}: {done.stderr[-300:]}")
    return next(folder.glob("*.whl"))
