"""`codemode doctor`: what it finds wrong, what it says to do, and that it changes nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from codemode_runtime import image

from codemode.cli.checks import files as checks
from codemode.cli.checks.engine import _layers  # pyright: ignore[reportPrivateUsage] - no kernel here lacks one
from codemode.cli.checks.files import check_cache, check_image, check_store
from codemode.contract.report import EngineStats
from tests.harness.cli import TOOLS, Cli
from tests.harness.mcp_servers import fast, servers


def by_name(told: Any) -> dict[str, Any]:
    return {finding["name"]: finding for finding in told["findings"]}


@pytest.mark.usefixtures("leaves_nothing")
def test_each_part_is_looked_at_and_a_server_that_is_gone_degrades(cli: Cli, tmp_path: Path) -> None:
    given = servers(fast=fast(), gone={"command": "no-such-command-here"})
    (tmp_path / "servers.json").write_text(json.dumps(given))
    done = cli("doctor", "--json", "--mcp", "servers.json", "--store", "runs.sqlite", "--tools", TOOLS)
    found = by_name(done.json)
    assert done.json["status"] == "degraded"
    assert done.code == 1
    assert found["MCP server gone"]["status"] == "degraded"
    assert "mcpServers.gone" in found["MCP server gone"]["fix"]
    assert found["MCP server fast"]["detail"].startswith("connected, ")
    assert "is not there yet" in found["store file"]["detail"]
    assert not (tmp_path / "runs.sqlite").exists()
    parts = {"python", "packages", "mcp sdk", "guest image", "compiled cache", "workers", "store"}
    assert parts <= set(found)
    assert sum(name.startswith("confinement: ") for name in found) == 11
    assert [name for name, finding in found.items() if finding["status"] != "ok" and not finding["fix"]] == []
    assert done.json["reasons"][0].startswith("MCP server gone: ")


@pytest.mark.usefixtures("leaves_nothing")
def test_confinement_that_is_switched_off_degrades(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "off.json").write_text('{"settings": {"confinement": "off"}}')
    done = cli("doctor", "--json", "--config", "off.json")
    found = by_name(done.json)["confinement"]
    assert (done.code, done.json["status"]) == (1, "degraded")
    assert (found["status"], found["detail"]) == ("degraded", "switched off")


@pytest.mark.usefixtures("leaves_nothing")
def test_options_that_cannot_be_used_are_a_finding_and_nothing_is_started(cli: Cli) -> None:
    done = cli("doctor", "--tools", "gone.py")
    assert done.code == 4
    assert "unavailable  options" in done.out
    assert "there is no file gone.py" in done.out
    assert done.out.endswith("\nunavailable\n")


def test_a_damaged_or_missing_image_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = image.FOLDER
    monkeypatch.setattr(checks, "load", lambda: image.load(tmp_path))
    finding, found = check_image()
    assert (finding.status, found) == ("unavailable", None)
    assert "make image" in finding.fix
    (tmp_path / "manifest.json").write_bytes((folder / "manifest.json").read_bytes())
    (tmp_path / "guest.wasm").write_bytes((folder / "guest.wasm").read_bytes()[:-1])
    assert "damaged" in check_image()[0].detail


def test_a_cache_that_others_can_write_or_that_is_damaged_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loaded = image.load()
    assert check_cache(loaded).status == "ok"
    folder = image.default_cache()
    assert folder is not None
    folder.mkdir(parents=True, mode=0o700)
    compiled = folder / f"{loaded.build_id}-x.cwasm"
    compiled.write_bytes(b"code")
    assert "damaged" in check_cache(loaded).detail
    compiled.with_suffix(".hash").write_text(image.compiled_digest(b"code"))
    assert "private and intact" in check_cache(loaded).detail
    folder.chmod(0o777)
    assert (check_cache(loaded).status, f"chmod 700 {folder}" in check_cache(loaded).fix) == (
        "degraded",
        True,
    )


@pytest.mark.usefixtures("leaves_nothing")
def test_a_store_without_its_key_or_with_a_readable_one_is_found(cli: Cli, tmp_path: Path) -> None:
    cli("run", "-e", "await yield_control()", "--store", "runs.sqlite", "--no-wait")
    path, key = tmp_path / "runs.sqlite", tmp_path / "runs.sqlite.key"
    assert check_store(path, "")[0].detail == f"{path}: schema 2, 1 runs, {path_bytes(path)} bytes"
    key.chmod(0o644)
    finding, can_open = check_store(path, "")
    assert (finding.status, can_open) == ("unavailable", False)
    assert "chmod 600" in finding.fix
    key.unlink()
    assert "no key to open them" in check_store(path, "")[0].detail
    assert not key.exists()
    path.write_text("no database" * 100)
    assert check_store(path, "")[0].fix == "name another file"


def path_bytes(path: Path) -> int:
    from codemode_snapshots.sqlite import SqliteStore

    store = SqliteStore(path)
    try:
        return store.totals().bytes
    finally:
        store.close()


class EngineWithout:
    """What the doctor asks of an engine, on a system that lacks a layer."""

    class settings:
        confinement = "auto"

    def __init__(self, *layers: tuple[str, str]) -> None:
        self._layers = [{"name": name, "status": status, "detail": "so"} for name, status in layers]

    def stats(self) -> EngineStats:
        counts = ("warm", "busy", "starting", "queued", "spawned", "killed", "crashed", "restarts")
        workers = {**dict.fromkeys(counts, 0), "zygotes": [], "build_id": "", "confinement": self._layers}
        return EngineStats(workers=workers)


def test_a_missing_layer_says_what_is_lost_with_it() -> None:
    engine: Any = EngineWithout(("namespaces", "missing"), ("seccomp", "active"), ("landlock", "failed"))
    namespaces, seccomp, landlock = _layers(engine)
    assert (namespaces.status, seccomp.status, landlock.status) == ("degraded", "ok", "degraded")
    assert namespaces.detail == "missing: so; another layer gives the same"
    assert landlock.detail == "failed: so; lost: no file by path"
    assert "user namespaces" in namespaces.fix
