"""The doctor's look at a running `codemode serve --http`: whether it answers, is ready, and what it says."""

from __future__ import annotations

from typing import Any

from codemode.cli.checks.findings import Finding, FindingStatus
from codemode.cli.errors import CommandError
from codemode.cli.remote import Remote

_START = "start it with `codemode serve --http HOST:PORT`, or correct the URL"
_TOKEN = "give a token with the right read: --token, or CODEMODE_HTTP_TOKEN"  # noqa: S105 - words


def check_server(url: str, token: str | None) -> list[Finding]:
    try:
        server = Remote(url, token)
        server.get("/healthz")
    except CommandError as error:
        return [Finding("HTTP server", "unavailable", str(error), _START)]
    findings = [_ready(server)]
    try:
        health: dict[str, Any] = server.get("/v1/health")
    except CommandError as error:
        return [*findings, Finding("HTTP health", "degraded", str(error), _TOKEN)]
    told = "; ".join(health["reasons"]) or f"the engine behind it is {health['status']}"
    status: FindingStatus = "ok" if health["status"] == "healthy" else health["status"]
    fix = "" if status == "ok" else "run `codemode doctor` where it runs"
    return [*findings, Finding("HTTP health", status, told, fix)]


def _ready(server: Remote) -> Finding:
    try:
        server.get("/readyz")
    except CommandError as error:
        return Finding("HTTP server", "degraded", str(error), "it ends soon, or has no worker: see its log")
    return Finding("HTTP server", "ok", "answers, and is ready")
