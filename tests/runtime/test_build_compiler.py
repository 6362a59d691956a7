"""The compiler of TypeScript: its parser is fetched by name and pinned by hash; a manifest vouches for it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import compiler
import make_image
import pytest
from codemode_runtime import image as images
from compiler import BABEL, Package
from source import BuildError, write_whole

NOWHERE = "http://127.0.0.1:9/"
OURS = Path(make_image.COMPILER)


def tarball(script: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, text in {
            "package/package.json": json.dumps({"name": BABEL.name, "version": BABEL.version}),
            BABEL.script: script,
            BABEL.licence: "A licence",
        }.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[bytes]]:
    """A registry of npm that hands out the last tarball of the list, under the name of the parser."""
    offered: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.endswith(".tgz"):
                body = offered[-1]
            else:
                where = {"tarball": f"http://{self.headers['Host']}/p.tgz"}
                version = {"name": BABEL.name, "version": BABEL.version, "dist": where}
                about: dict[str, Any] = {"name": BABEL.name, "versions": {BABEL.version: version}}
                body = json.dumps({**about, "dist-tags": {"latest": BABEL.version}}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("npm_config_registry", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    yield offered
    server.shutdown()
    server.server_close()


def pinned(data: bytes) -> Package:
    return Package(BABEL.name, BABEL.version, hashlib.sha256(data).hexdigest(), BABEL.script)


@pytest.mark.guarantee("source-is-pinned")
def test_a_parser_is_fetched_by_name_once_and_verified(
    tmp_path: Path, registry: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.append(tarball("the parser"))
    monkeypatch.setattr(compiler, "BABEL", pinned(registry[0]))
    monkeypatch.setattr(compiler, "ENUM_NAMES", ())
    monkeypatch.setattr(compiler, "COMPARISONS", ())
    first = compiler.make_compiler(OURS, tmp_path / "cache")
    assert "the parser" in first
    assert "A licence" in first
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    assert compiler.make_compiler(OURS, tmp_path / "cache") == first


@pytest.mark.guarantee("source-is-pinned")
def test_a_parser_with_another_hash_is_refused(tmp_path: Path, registry: list[bytes]) -> None:
    registry.append(tarball("another parser"))
    with pytest.raises(BuildError, match="whose hash is not the pinned one: nothing is built from it"):
        compiler.make_compiler(OURS, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.guarantee("build-explains-itself")
def test_without_a_registry_and_with_a_damaged_cache_the_build_says_what_it_could_not_fetch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("npm_config_registry", NOWHERE)
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "npm"))
    write_whole(tmp_path / "cache" / BABEL.archive, b"not the package")
    with pytest.raises(BuildError) as refused:
        compiler.make_compiler(OURS, tmp_path / "cache")
    assert f"npm could not fetch {BABEL.name}@{BABEL.version}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_parser_that_a_change_does_not_fit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tarball("a later version")
    write_whole(tmp_path / BABEL.archive, data)
    monkeypatch.setattr(compiler, "BABEL", pinned(data))
    with pytest.raises(BuildError, match="is not the one that its changes were written for"):
        compiler.make_compiler(OURS, tmp_path)


@pytest.mark.guarantee("image-is-vouched-for")
def test_the_compiler_in_the_image_is_named_by_its_hash_and_by_what_it_was_made_of() -> None:
    script = (make_image.IMAGE / "typescript.js").read_bytes()
    manifest = json.loads((make_image.IMAGE / "typescript.json").read_bytes())
    assert manifest["sha256"] == hashlib.sha256(script).hexdigest()
    assert manifest["inputs"]["source"] == {
        "package": BABEL.name,
        "version": BABEL.version,
        "sha256": BABEL.sha256,
    }
    files = [*OURS.glob("*.js"), Path(compiler.__file__)]
    assert manifest["inputs"]["files"] == {
        file.relative_to(make_image.RUNTIME).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in files
    }
    assert b"Permission is hereby granted" in script  # the licence of the parser goes where the parser goes


@pytest.mark.guarantee("image-is-vouched-for")
def test_a_compiler_that_is_missing_or_damaged_is_not_loaded(tmp_path: Path) -> None:
    with pytest.raises(images.ImageUnavailable, match="not built"):
        images.load_compiler(tmp_path)
    for name in ("typescript.js", "typescript.json"):
        (tmp_path / name).write_bytes((make_image.IMAGE / name).read_bytes())
    assert images.load_compiler(tmp_path) == images.load_compiler()
    (tmp_path / "typescript.js").write_bytes(b"return 1")
    with pytest.raises(images.ImageUnavailable, match="damaged"):
        images.load_compiler(tmp_path)
